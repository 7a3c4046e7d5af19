"""ReviewProtocol: a frozen plan by which people decide, stored as its canonical text."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField, IdField, hash_check
from accounts.records import Record, kept, only_moves, refuse, settled_with, trigger


class ReviewProtocol(Record):
    """A published plan; the canonical text is the column of record and the hash names it."""

    id = IdField("rvp")
    canonical = models.TextField()
    protocol_hash = HashField(unique=True)
    title = models.CharField(max_length=120)
    purpose = models.CharField(max_length=32)
    subject_kind = models.CharField(max_length=32)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    published_at = models.DateTimeField()
    yanked_at = models.DateTimeField(null=True, blank=True)
    yanked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    yank_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            hash_check("protocol_hash", name="protocol_hash_form"),
            models.CheckConstraint(
                name="protocol_yank",
                condition=models.Q(yanked_at=None, yanked_by=None, yank_reason="")
                | models.Q(yanked_at__isnull=False, yanked_by__isnull=False) & ~models.Q(yank_reason=""),
            ),
        ]
        triggers = [
            kept(),
            only_moves("yanked_at", "yanked_by_id", "yank_reason"),
            settled_with("yanked_at", "yanked_by_id", "yank_reason"),
            trigger(
                "hash_of_canonical",
                pgtrigger.Insert,
                "IF NEW.protocol_hash <> 'sha256:' || encode(sha256(convert_to(NEW.canonical, 'UTF8')), 'hex') THEN "
                + refuse("a protocol is named by the hash of its canonical text")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.title
