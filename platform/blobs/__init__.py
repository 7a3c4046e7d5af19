"""Bytes named by their SHA-256, and who still needs them."""
