"""The rules of reviews, free of Django and of any database."""
