"""What conformance found: one record per Implementation and fixture set, one run per fixture, never rewritten."""

import pgtrigger
from django.db import models

from accounts.fields import HashField, IdField, hash_check
from accounts.records import Record, kept, only_moves, refuse, trigger, write_once
from verification.contracts.models.contract import ContractStage
from verification.contracts.models.fixture import ConformanceFixture
from verification.contracts.models.implementation import VerifierImplementation


class FixtureSet(Record):
    """The live fixtures of a stage at one time, named by their hash."""

    stage = models.ForeignKey(ContractStage, on_delete=models.PROTECT, related_name="fixture_sets")
    content_hash = HashField()
    fixtures = models.ManyToManyField(ConformanceFixture, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["stage", "content_hash"], name="fixtureset_once"),
            hash_check("content_hash", name="fixtureset_hash"),
        ]
        triggers = [write_once()]

    def __str__(self) -> str:
        return self.content_hash


class ConformanceStatus(models.TextChoices):
    """Where a conformance record stands."""

    PENDING = "pending", "Pending"
    RUNNING = "running", "Running"
    PASSED = "passed", "Passed"
    FAILED = "failed", "Failed"
    ERROR = "error", "Machinery failed"


CONFORMANCE_MOVING = (
    "status", "fixtures_passed", "started_at", "finished_at", "claim_number", "holder", "lease_until",
    "retry_at", "error_code",
    )  # fmt: skip


class ConformanceRecord(Record):
    """Whether one Implementation reproduces one fixture set. `passed` and `failed` are final."""

    implementation = models.ForeignKey(VerifierImplementation, on_delete=models.PROTECT, related_name="conformance")
    fixture_set = models.ForeignKey(FixtureSet, on_delete=models.PROTECT, related_name="records")
    status = models.CharField(max_length=16, choices=ConformanceStatus.choices, default="pending")
    fixtures_total = models.PositiveIntegerField()
    fixtures_passed = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    claim_number = models.PositiveIntegerField(default=0)
    holder = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["implementation", "fixture_set"], name="conformance_once"),
            models.CheckConstraint(
                name="conformance_passed_all",
                condition=~models.Q(status="passed") | models.Q(fixtures_passed=models.F("fixtures_total")),
            ),
            models.CheckConstraint(
                name="conformance_status", condition=models.Q(status__in=[s.value for s in ConformanceStatus])
            ),
        ]
        indexes = [
            models.Index(
                fields=["status"],
                condition=models.Q(status__in=["pending", "running", "error"]),
                name="conformance_open",
            )
        ]
        triggers = [
            kept(),
            only_moves(*CONFORMANCE_MOVING),
            trigger(
                "final",
                pgtrigger.Update,
                f"IF OLD.status IN ('passed', 'failed') THEN {refuse('a conformance record is final')} END IF; "
                "IF NEW.status = 'passed' AND (NEW.fixtures_total = 0 OR NEW.fixtures_total <> (SELECT count(*) "
                "FROM contracts_fixtureset_fixtures m WHERE m.fixtureset_id = NEW.fixture_set_id) OR EXISTS ("
                "SELECT 1 FROM contracts_fixtureset_fixtures m "
                "CROSS JOIN (VALUES (true), (false)) AS told(in_disguise) "
                "WHERE m.fixtureset_id = NEW.fixture_set_id AND NOT EXISTS (SELECT 1 FROM contracts_conformancerun r "
                "WHERE r.record_id = NEW.id AND r.claim_number = NEW.claim_number AND r.matches "
                "AND r.fixture_id = m.conformancefixture_id AND r.is_disguised = told.in_disguise))) THEN "
                + refuse("conformance passes only when every fixture was reproduced twice, once in disguise")
                + " END IF; RETURN NEW;",
            ),
            trigger(
                "born_pending",
                pgtrigger.Insert,
                f"IF NEW.status <> 'pending' THEN {refuse('conformance begins pending')} END IF; "
                "IF NOT EXISTS (SELECT 1 FROM contracts_verifierimplementation i JOIN contracts_fixtureset s "
                "ON s.stage_id = i.stage_id WHERE i.id = NEW.implementation_id AND s.id = NEW.fixture_set_id) THEN "
                + refuse("an implementation is held against the fixtures of its own stage")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.implementation_id}: {self.status}"


class ConformanceRun(Record):
    """One execution of one fixture, plainly named (`cfx_`) or in disguise."""

    id = IdField("cfx")
    record = models.ForeignKey(ConformanceRecord, on_delete=models.PROTECT, related_name="runs")
    fixture = models.ForeignKey(ConformanceFixture, on_delete=models.PROTECT, related_name="runs")
    claim_number = models.PositiveIntegerField()
    is_disguised = models.BooleanField()
    matches = models.BooleanField()
    actual_result = models.CharField(max_length=16)
    actual_score = models.FloatField(null=True, blank=True)
    reason_code = models.CharField(max_length=40, blank=True)
    backend = models.CharField(max_length=32)
    wall_s = models.FloatField()
    log = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    log_truncated = models.BooleanField(default=False)
    evidence_digest = HashField(blank=True)
    executed_at = models.DateTimeField()

    class Meta:
        ordering = ["executed_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["record", "claim_number", "fixture", "is_disguised"], name="conformancerun_once"
            )
        ]
        triggers = [
            write_once(),
            trigger(
                "under_its_claim",
                pgtrigger.Insert,
                "PERFORM 1 FROM contracts_conformancerecord c WHERE c.id = NEW.record_id AND c.status = 'running' "
                "AND c.claim_number = NEW.claim_number FOR SHARE; IF NOT FOUND THEN "
                + refuse("this claim no longer holds the conformance record")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class ReferenceAcceptance(Record):
    """What a reference validator said of some bytes, recorded once per (bytes, validator)."""

    validator_key = models.CharField(max_length=120)
    blob = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, related_name="+")
    is_accepted = models.BooleanField()
    reason = models.TextField(blank=True)
    image_digest = HashField()
    backend = models.CharField(max_length=32)
    checked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["validator_key", "blob"], name="acceptance_once")]
        triggers = [write_once()]

    def __str__(self) -> str:
        return f"{self.validator_key}: {'accepted' if self.is_accepted else 'refused'}"
