"""Reads over one person's notices."""

from django.db.models import QuerySet

from accounts.models import User
from notices.models import Notice


def notices_of(user: User) -> QuerySet[Notice]:
    """The person's notices, newest first."""
    return Notice.objects.filter(user=user).order_by("-created_at", "-pk")


def unread_count(user: User) -> int:
    """How many of them were not read."""
    return Notice.objects.filter(user=user, read_at=None).count()
