"""The rules and documents of checking, free of Django and of any database."""
