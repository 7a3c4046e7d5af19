"""Commands over packages."""
