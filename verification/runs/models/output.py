"""What a stage put out: reason, findings, times, log and evidence. A protected stage's lie in a table of their own.

Only `runs.services` and `runs.projection` import `ProtectedOutput`; nothing leads to it from a run (no reverse
accessor), so a page cannot reach sealed outputs by walking relations (SPEC 6).
"""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField
from accounts.records import Record, refuse, trigger, write_once
from verification.engine.reasons import ReasonCode
from verification.runs.models.stage import StageResult

REASON_IFF_NOT_VERIFIED = (
    "IF (SELECT result = 'verified' FROM runs_stageresult s WHERE s.id = NEW.stage_result_id) "
    "<> (NEW.reason_code = '') "
    f"THEN {refuse('a reason code is null exactly when the result is verified')} END IF; "
)


WHILE_RUNNING = (
    "PERFORM 1 FROM runs_verificationrun r JOIN runs_stageresult s ON s.run_id = r.id "
    "WHERE s.id = NEW.stage_result_id AND r.status = 'running' FOR SHARE OF r; IF NOT FOUND THEN "
    + refuse("outputs are written while the run is under way")
    + " END IF; "
)


def of_protection(value: str) -> pgtrigger.Trigger:
    """Refuses outputs in the wrong table, and a reason that does not go with the result (invariants 17, 25)."""
    return trigger(
        "in_its_table",
        pgtrigger.Insert,
        WHILE_RUNNING
        + REASON_IFF_NOT_VERIFIED
        + f"IF (SELECT is_protected FROM runs_stageresult s WHERE s.id = NEW.stage_result_id) <> {value} THEN "
        + refuse("protected outputs lie in their own table")
        + " END IF; RETURN NEW;",
    )


class Output(Record):
    """The columns both tables share."""

    reason_code = models.CharField(max_length=40, choices=[(c.value, c.value) for c in ReasonCode], blank=True)
    findings = models.JSONField(default=list)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    exit_code = models.IntegerField(null=True, blank=True)
    wall_s = models.FloatField(null=True, blank=True)
    cpu_s = models.FloatField(null=True, blank=True)
    peak_memory_bytes = models.BigIntegerField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    summary = models.JSONField(null=True, blank=True)
    enforced = models.JSONField(default=list)
    log_hash = HashField(blank=True)
    log_size_bytes = models.BigIntegerField(default=0)
    log_kept_bytes = models.BigIntegerField(default=0)
    log_truncated = models.BooleanField(default=False)
    evidence_digest = HashField(blank=True)

    class Meta:
        abstract = True


class StageOutput(Output):
    """The outputs of a public stage."""

    stage_result = models.OneToOneField(StageResult, on_delete=models.PROTECT, related_name="output", primary_key=True)

    class Meta:
        triggers = [write_once(), of_protection("false")]

    def __str__(self) -> str:
        return f"output of {self.stage_result_id}"


class ProtectedOutput(Output):
    """The outputs of a protected stage, readable only through the projection."""

    stage_result = models.OneToOneField(StageResult, on_delete=models.PROTECT, related_name="+", primary_key=True)

    class Meta:
        triggers = [write_once(), of_protection("true")]

    def __str__(self) -> str:
        return f"protected output of {self.stage_result_id}"


class EvidenceFile(Record):
    """One file of a stage's evidence."""

    stage_result = models.ForeignKey(StageResult, on_delete=models.PROTECT, related_name="+")
    path = models.CharField(max_length=2048)
    blob = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, related_name="+")
    size_bytes = models.BigIntegerField()

    class Meta:
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["stage_result", "path"], name="evidencefile_path")]
        triggers = [write_once(), trigger("while_running", pgtrigger.Insert, WHILE_RUNNING + "RETURN NEW;")]

    def __str__(self) -> str:
        return self.path


class LogRedaction(Record):
    """An operator removed a log's content; its digest and size stay."""

    REASONS = [
        ("secret_material", "secret material"),
        ("personal_data", "personal data"),
        ("legal_requirement", "a legal requirement"),
    ]

    stage_result = models.OneToOneField(StageResult, on_delete=models.PROTECT, related_name="log_redaction")
    original_content_hash = HashField()
    original_size_bytes = models.BigIntegerField()
    redacted_at = models.DateTimeField()
    redacted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=24, choices=REASONS)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="redaction_reason",
                condition=models.Q(reason__in=["secret_material", "personal_data", "legal_requirement"]),
            )
        ]
        triggers = [write_once()]

    def __str__(self) -> str:
        return f"redaction at {self.stage_result_id}"
