"""Bytes named by their SHA-256, and the holds that keep them alive."""

import pgtrigger
from django.db import models

from accounts.fields import HashField, hash_check
from accounts.records import Record, kept, only_moves, refuse, trigger


class Blob(Record):
    """Bytes that the platform stored. The row stays when the bytes are gone (`purged_at`)."""

    content_hash = HashField(primary_key=True)
    size_bytes = models.BigIntegerField()
    created_at = models.DateTimeField()
    purged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            hash_check("content_hash", name="blob_hash"),
            models.CheckConstraint(condition=models.Q(size_bytes__gte=0), name="blob_size"),
        ]
        triggers = [
            kept(),
            only_moves("purged_at"),
            trigger(
                "kept_while_held",
                pgtrigger.Update,
                "IF OLD.purged_at IS NULL AND NEW.purged_at IS NOT NULL AND EXISTS (SELECT 1 FROM blobs_blobhold h "
                "WHERE h.blob_id = NEW.content_hash AND h.ended_at IS NULL) THEN "
                + refuse("bytes that a record needs are not deleted")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.content_hash


class BlobHold(Record):
    """One record's need for the bytes; while a hold lives, the bytes do."""

    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="holds")
    holder_kind = models.CharField(max_length=32)
    holder_id = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["blob", "holder_kind", "holder_id"], name="blobhold_once"),
        ]
        indexes = [
            models.Index(fields=["holder_kind", "holder_id"], name="blobhold_holder"),
            models.Index(fields=["blob"], condition=models.Q(ended_at=None), name="blobhold_live"),
        ]
        triggers = [
            kept(),
            only_moves("ended_at"),
            pgtrigger.Trigger(
                name="ends_once",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func="IF OLD.ended_at IS NOT NULL THEN "
                "RAISE EXCEPTION 'a hold ends once' USING ERRCODE = 'check_violation'; END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.holder_kind} {self.holder_id} holds {self.blob_id}"
