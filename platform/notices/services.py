"""Writing notices; each is told once."""

from datetime import datetime

from accounts.models import User
from notices.models import Notice, NoticeKind


def tell(*, user: User, kind: NoticeKind, subject_id: str, at: datetime) -> None:
    """Record one notice; telling the same thing twice changes nothing."""
    Notice.objects.bulk_create(
        [Notice(user=user, kind=kind.value, subject_id=subject_id, created_at=at)], ignore_conflicts=True
    )


def mark_read(*, user: User, at: datetime) -> int:
    """Mark all of a person's notices read; the number that were unread."""
    return Notice.objects.filter(user=user, read_at=None).move(read_at=at)
