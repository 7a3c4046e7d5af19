"""VerifierImplementations: the executable for one sandbox stage, pinned by digest."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField, IdField, hash_check
from accounts.records import Record, kept, only_moves, refuse, settled_with, trigger
from verification.contracts.models.contract import ContractStage, VerifierContract


class VerifierImplementation(Record):
    """An image by digest with its limits and, for a script checker, the program by content."""

    id = IdField("vim")
    contract = models.ForeignKey(VerifierContract, on_delete=models.PROTECT, related_name="implementations")
    stage = models.ForeignKey(ContractStage, on_delete=models.PROTECT, related_name="implementations")
    number = models.PositiveIntegerField()
    image_ref = models.CharField(max_length=255)
    image_digest = HashField()
    vcpu = models.PositiveSmallIntegerField()
    memory_mb = models.PositiveIntegerField()
    disk_mb = models.PositiveIntegerField()
    timeout_seconds = models.PositiveIntegerField()
    pids = models.PositiveIntegerField()
    network = models.CharField(max_length=8, default="none")
    program_filename = models.CharField(max_length=255, blank=True)
    program = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    source_uri = models.CharField(max_length=2000)
    source_revision = models.CharField(max_length=120)
    license = models.CharField(max_length=120)
    content_hash = HashField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    yanked_at = models.DateTimeField(null=True, blank=True)
    yanked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    yank_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["stage", "number"], name="implementation_number"),
            models.UniqueConstraint(fields=["stage", "content_hash"], name="implementation_content"),
            hash_check("image_digest", name="implementation_image"),
            hash_check("content_hash", name="implementation_hash"),
            models.CheckConstraint(condition=models.Q(network="none"), name="implementation_network"),
            models.CheckConstraint(
                name="implementation_program",
                condition=models.Q(program=None, program_filename="")
                | models.Q(program__isnull=False) & ~models.Q(program_filename=""),
            ),
            models.CheckConstraint(
                name="implementation_yank",
                condition=models.Q(yanked_at=None, yanked_by=None, yank_reason="")
                | models.Q(yanked_at__isnull=False, yanked_by__isnull=False) & ~models.Q(yank_reason=""),
            ),
        ]
        triggers = [
            kept(),
            only_moves("yanked_at", "yanked_by_id", "yank_reason"),
            settled_with("yanked_at", "yanked_by_id", "yank_reason"),
            trigger(
                "of_a_sandbox_stage",
                pgtrigger.Insert,
                "IF NOT EXISTS (SELECT 1 FROM contracts_contractstage s WHERE s.id = NEW.stage_id "
                "AND s.contract_id = NEW.contract_id AND s.kind = 'sandbox') THEN "
                + refuse("an implementation names a sandbox stage of its contract")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.image_ref} ({self.id})"
