"""Checking: the engine, and the records of contracts and runs."""
