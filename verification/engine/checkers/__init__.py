"""The checkers that ship with the platform."""
