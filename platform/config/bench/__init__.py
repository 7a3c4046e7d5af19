"""Measuring the platform as it really runs: its own supervisor, its own services, HTTP from outside."""
