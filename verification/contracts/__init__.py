"""Verifiers, Contracts, fixtures, Implementations and their conformance."""
