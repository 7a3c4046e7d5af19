"""What to tell whom: a kind and an id; the text is composed when it is read, through the projection."""

from django.conf import settings
from django.db import models

from accounts.records import Record, kept, only_moves, set_once


class NoticeKind(models.TextChoices):
    """What happened."""

    RUN_FINISHED = "run_finished", "A run finished"


class Notice(Record):
    """One thing to tell one person."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="notices")
    kind = models.CharField(max_length=32, choices=NoticeKind.choices)
    subject_id = models.CharField(max_length=96)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "kind", "subject_id"], name="notice_once")]
        indexes = [models.Index(fields=["user", "-created_at"], name="notice_newest")]
        triggers = [kept(), only_moves("read_at"), set_once("read_at")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"
