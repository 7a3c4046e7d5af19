"""Commands that run the house itself."""
