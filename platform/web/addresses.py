"""Addresses of pages that may not be there: empty instead of an error, so that a link is left out."""

from django.urls import NoReverseMatch, reverse


def address_of(name: str, *parts: object) -> str:
    """The address of a route by its name, or empty where the platform has no such route."""
    try:
        return reverse(name, args=parts)
    except NoReverseMatch:
        return ""
