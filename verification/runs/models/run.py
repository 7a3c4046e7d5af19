"""VerificationRun: frozen inputs, a status that only moves forward, an outcome written once."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField, IdField, hash_check
from accounts.records import Record, kept, only_moves, refuse, trigger, write_once
from verification.engine.reasons import ReasonCode, Result


class RunStatus(models.TextChoices):
    """Where the work of checking stands."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    FINISHED = "finished", "Finished"


class RunTrigger(models.TextChoices):
    """Why the run was made."""

    SUBMISSION = "submission", "A Submission was created"
    RERUN = "rerun", "An operator asked"
    PROPOSAL = "proposal", "An agent proposed a Requirement as done"


class RunMode(models.TextChoices):
    """How the run is made; only `offline_snapshot` closes a Requirement (SPEC 13)."""

    STANDARD = "standard", "Standard"
    OFFLINE_SNAPSHOT = "offline_snapshot", "Offline snapshot"
    FORKED = "forked", "Forked"


OUTCOME_MOVES = """
    IF OLD.status = 'finished' THEN {finished} END IF;
    IF OLD.status = 'running' AND NEW.status = 'queued' THEN {backward} END IF;
    IF NEW.status <> 'finished' THEN RETURN NEW; END IF;
    IF NEW.result = 'verified' THEN
        IF (SELECT count(*) FROM runs_stageresult r WHERE r.run_id = NEW.id AND r.result = 'verified') <>
           (SELECT count(*) FROM contracts_contractstage s WHERE s.contract_id = NEW.contract_id)
           OR NOT EXISTS (SELECT 1 FROM runs_stageresult r WHERE r.run_id = NEW.id) THEN {unpassed} END IF;
    END IF;
    IF (NEW.score IS NOT NULL) <> (NEW.result = 'verified' AND
        (SELECT result_kind FROM contracts_verifiercontract c WHERE c.id = NEW.contract_id) = 'score')
    THEN {score} END IF;
    RETURN NEW;
""".format(
    finished=refuse("a finished run never changes"),
    backward=refuse("the status of a run only moves forward"),
    unpassed=refuse("a run is verified only when every stage of its plan passed"),
    score=refuse("a run has a score exactly when its contract is scored and it is verified"),
)


RUN_MOVING = (
    "status", "started_at", "result", "reason_code", "reason_detail", "score", "evidence_md", "finished_at",
    )  # fmt: skip


class VerificationRun(Record):
    """One examination of one Submission under one Contract."""

    id = IdField("vrn")
    submission = models.ForeignKey("submissions.Submission", on_delete=models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    revision = models.ForeignKey("problems.ProblemRevision", on_delete=models.PROTECT, related_name="runs")
    contract = models.ForeignKey("contracts.VerifierContract", on_delete=models.PROTECT, related_name="runs")
    contract_normative_hash = HashField()
    trigger = models.CharField(max_length=16, choices=RunTrigger.choices)
    mode = models.CharField(max_length=20, choices=RunMode.choices, default="standard")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    rerun_reason = models.TextField(blank=True)
    created_at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=RunStatus.choices, default="queued")
    started_at = models.DateTimeField(null=True, blank=True)
    result = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Result], blank=True)
    reason_code = models.CharField(max_length=40, choices=[(c.value, c.value) for c in ReasonCode], blank=True)
    reason_detail = models.CharField(max_length=300, blank=True)
    score = models.FloatField(null=True, blank=True)
    evidence_md = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "number"], name="run_number"),
            hash_check("contract_normative_hash", name="run_contract_hash"),
            models.CheckConstraint(
                name="run_outcome_together",
                condition=models.Q(
                    status__in=["queued", "running"],
                    result="",
                    reason_code="",
                    score=None,
                    evidence_md="",
                    finished_at=None,
                )
                | (
                    models.Q(status="finished", finished_at__isnull=False, result__in=[r.value for r in Result])
                    & ~models.Q(evidence_md="")
                ),
            ),
            models.CheckConstraint(
                name="run_reason",
                condition=models.Q(result="", reason_code="")
                | models.Q(result="verified", reason_code="")
                | (models.Q(result__in=["refuted", "inconclusive", "error"]) & ~models.Q(reason_code="")),
            ),
            models.CheckConstraint(
                name="run_started", condition=~models.Q(status="running") | models.Q(started_at__isnull=False)
            ),
            models.CheckConstraint(
                name="run_rerun_reason", condition=~models.Q(trigger="rerun") | ~models.Q(rerun_reason="")
            ),
        ]
        indexes = [
            models.Index(fields=["revision", "-created_at"], name="run_of_revision"),
            models.Index(fields=["created_at"], condition=models.Q(status="queued"), name="run_queued"),
            # Sweeps look for open runs every few seconds, however many finished ones are stored.
            models.Index(fields=["id"], condition=models.Q(status__in=["queued", "running"]), name="run_open"),
            models.Index(fields=["-finished_at"], name="run_finished"),
        ]
        triggers = [
            kept(),
            only_moves(*RUN_MOVING),
            trigger("outcome", pgtrigger.Update, OUTCOME_MOVES),
            trigger(
                "born_queued",
                pgtrigger.Insert,
                f"IF NEW.status <> 'queued' THEN {refuse('a run begins queued')} END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.id


def frozen_at_creation() -> pgtrigger.Trigger:
    """Refuses a new input once the run's story has begun: its first event is written after its inputs."""
    return trigger(
        "frozen_at_creation",
        pgtrigger.Insert,
        "IF EXISTS (SELECT 1 FROM runs_runevent e WHERE e.run_id = NEW.run_id) THEN "
        + refuse("the inputs of a run are frozen when it is created")
        + " END IF; RETURN NEW;",
    )


class RunArtifact(Record):
    """An Artifact as frozen into the run's inputs."""

    run = models.ForeignKey(VerificationRun, on_delete=models.PROTECT, related_name="artifacts")
    position = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=63, blank=True)
    artifact = models.ForeignKey("submissions.Artifact", on_delete=models.PROTECT, related_name="+")
    filename = models.CharField(max_length=255)
    content_hash = HashField()
    size_bytes = models.BigIntegerField()
    media_type = models.CharField(max_length=127)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="runartifact_position")]
        triggers = [write_once(), frozen_at_creation()]

    def __str__(self) -> str:
        return f"{self.role or self.position}: {self.content_hash}"


class RunReference(Record):
    """A binding as frozen into the run's inputs."""

    run = models.ForeignKey(VerificationRun, on_delete=models.PROTECT, related_name="references")
    key = models.CharField(max_length=63)
    kind = models.CharField(max_length=8)
    content_hash = HashField()
    size_bytes = models.BigIntegerField()
    media_type = models.CharField(max_length=127)
    filename = models.CharField(max_length=255, blank=True)
    url = models.URLField(max_length=2000, blank=True)
    is_sealed = models.BooleanField(default=False)
    commitment = HashField(blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="runreference_key")]
        triggers = [write_once(), frozen_at_creation()]

    def __str__(self) -> str:
        return self.key


EXECUTION_MOVING = (
    "claim_number", "holder", "lease_until", "faults", "stage_started_at", "dispatched_at", "waiting_for",
    "waiting_subject", "waiting_since", "waiting_until",
    )  # fmt: skip


class RunExecution(Record):
    """How the work of checking a run stands: who holds it, until when, or what it waits for.

    Its columns move; what they say ends with the run and is no part of the record.
    """

    run = models.OneToOneField(VerificationRun, on_delete=models.PROTECT, related_name="execution", primary_key=True)
    claim_number = models.PositiveIntegerField(default=0)
    holder = models.CharField(max_length=160, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    faults = models.PositiveSmallIntegerField(default=0)
    stage_started_at = models.DateTimeField(null=True, blank=True)
    dispatched_at = models.DateTimeField(null=True, blank=True)
    waiting_for = models.CharField(max_length=40, blank=True)
    waiting_subject = models.CharField(max_length=160, blank=True)
    waiting_since = models.DateTimeField(null=True, blank=True)
    waiting_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Invariant 24: a run that waits holds no lease, names what it waits for, and has a bound.
            models.CheckConstraint(
                name="execution_waits_or_holds",
                condition=models.Q(waiting_for="", waiting_since=None, waiting_until=None)
                | (
                    models.Q(lease_until=None, waiting_since__isnull=False, waiting_until__isnull=False)
                    & ~models.Q(waiting_for="")
                ),
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_until"], condition=models.Q(lease_until__isnull=False), name="execution_leases"
            ),
            models.Index(fields=["waiting_until"], condition=~models.Q(waiting_for=""), name="execution_waits"),
        ]
        triggers = [
            kept(),
            only_moves(*EXECUTION_MOVING),
            trigger(
                "claims_count_up",
                pgtrigger.Update,
                "IF NEW.claim_number < OLD.claim_number THEN "
                + refuse("claim numbers only grow")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"execution of {self.run_id}"


class RunEvent(Record):
    """One entry of the run's own story: numbered, so that a page can tell whether it has changed."""

    run = models.ForeignKey(VerificationRun, on_delete=models.PROTECT, related_name="events")
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    kind = models.CharField(max_length=32)
    stage_key = models.CharField(max_length=63, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="runevent_number")]
        triggers = [write_once()]

    def __str__(self) -> str:
        return self.kind


class SweepTally(models.Model):
    """How often a sweep had to mend something on one day (UTC); the normal path needs none."""

    kind = models.CharField(max_length=40)
    day_date = models.DateField()
    fired = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "day_date"], name="sweeptally_day")]

    def __str__(self) -> str:
        return f"{self.kind} on {self.day_date}: {self.fired}"


class Revocation(Record):
    """A finished run no longer counts: who, when, why. The run keeps its result and all evidence."""

    run = models.OneToOneField(VerificationRun, on_delete=models.PROTECT, related_name="revocation")
    revoked_at = models.DateTimeField()
    revoked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason_md = models.TextField()

    class Meta:
        constraints = [models.CheckConstraint(name="revocation_reason", condition=~models.Q(reason_md=""))]
        triggers = [
            write_once(),
            trigger(
                "of_a_finished_run",
                pgtrigger.Insert,
                "IF (SELECT status FROM runs_verificationrun WHERE id = NEW.run_id) <> 'finished' THEN "
                + refuse("only a finished run can be revoked")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"revocation of {self.run_id}"
