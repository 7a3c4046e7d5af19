"""The authoring convention: reading and importing packages."""
