"""Settings: everything in base, the other modules override."""
