"""Commands of the contracts app."""
