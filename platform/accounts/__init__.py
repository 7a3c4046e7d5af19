"""People: accounts, roles and how things are named."""
