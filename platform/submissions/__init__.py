"""Attempts, Artifacts and Submissions: what people offer for checking."""
