"""StageResult: one entry per executed stage, appended in plan order by the one who holds the run."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField
from accounts.records import Record, refuse, trigger, write_once
from verification.engine.reasons import Result
from verification.runs.models.run import VerificationRun

SANDBOX_EMPTY = models.Q(
    implementation=None, implementation_content_hash="", fixture_set=None, image_digest="", backend=""
)
REVIEW_EMPTY = models.Q(
    review_process_id="", review_protocol=None, protocol_hash="", casefile_hash="", review_evidence_hash=""
)
EXTERNAL_EMPTY = models.Q(
    external_system="",
    durable_reference="",
    rule_owner="",
    external_evidence_hash="",
    attested_by=None,
    attested_at=None,
)

# Compare-and-set: only the holder of the present claim appends, in plan order, and nothing follows a non-pass.
APPEND = """
    PERFORM 1 FROM runs_verificationrun r WHERE r.id = NEW.run_id AND r.status = 'running' FOR SHARE;
    IF NOT FOUND THEN {not_running} END IF;
    PERFORM 1 FROM runs_runexecution e WHERE e.run_id = NEW.run_id AND e.claim_number = NEW.claim_number FOR SHARE;
    IF NOT FOUND THEN {stale} END IF;
    IF (SELECT count(*) FROM runs_stageresult p WHERE p.run_id = NEW.run_id) <> NEW.position
       OR EXISTS (SELECT 1 FROM runs_stageresult p WHERE p.run_id = NEW.run_id AND p.result <> 'verified')
       OR NOT EXISTS (SELECT 1 FROM contracts_contractstage s JOIN runs_verificationrun r
            ON r.contract_id = s.contract_id WHERE r.id = NEW.run_id AND s.id = NEW.stage_id
            AND s.kind = NEW.kind AND NEW.position = (SELECT count(*) FROM contracts_contractstage q
                WHERE q.contract_id = s.contract_id AND q.position < s.position))
    THEN {order} END IF;
    IF NEW.kind = 'sandbox' AND NOT EXISTS (SELECT 1 FROM contracts_conformancerecord c
        JOIN contracts_verifierimplementation i ON i.id = c.implementation_id
        WHERE c.implementation_id = NEW.implementation_id AND c.fixture_set_id = NEW.fixture_set_id
        AND c.status = 'passed' AND i.stage_id = NEW.stage_id)
    THEN {unconformed} END IF;
    RETURN NEW;
""".format(
    not_running=refuse("stage results are appended to running runs"),
    stale=refuse("this claim no longer holds the run"),
    order=refuse("stage results are in plan order without gaps and nothing follows a non-pass"),
    unconformed=refuse("only an implementation whose conformance passed executes a run"),
)


class StageResult(Record):
    """What one stage found and who ran the check; its outputs lie beside it, protected or not."""

    run = models.ForeignKey(VerificationRun, on_delete=models.PROTECT, related_name="stage_results")
    position = models.PositiveSmallIntegerField()
    stage = models.ForeignKey("contracts.ContractStage", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=16)
    result = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Result])
    claim_number = models.PositiveIntegerField()
    is_protected = models.BooleanField(default=False)
    # mechanism: exactly one of the three groups is filled, the one of the stage's kind (invariant 3)
    implementation = models.ForeignKey(
        "contracts.VerifierImplementation",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="stage_results",
    )
    implementation_content_hash = HashField(blank=True)
    fixture_set = models.ForeignKey(
        "contracts.FixtureSet", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    image_digest = HashField(blank=True)
    backend = models.CharField(max_length=32, blank=True)
    review_process_id = models.CharField(max_length=30, blank=True)
    review_protocol = models.ForeignKey(
        "reviews.ReviewProtocol", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    protocol_hash = HashField(blank=True)
    casefile_hash = HashField(blank=True)
    review_evidence_hash = HashField(blank=True)
    external_system = models.CharField(max_length=120, blank=True)
    durable_reference = models.CharField(max_length=500, blank=True)
    rule_owner = models.CharField(max_length=16, blank=True)
    external_evidence_hash = HashField(blank=True)
    attested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    attested_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="stageresult_position"),
            models.CheckConstraint(
                name="stageresult_result", condition=models.Q(result__in=[r.value for r in Result])
            ),
            models.CheckConstraint(
                name="stageresult_one_mechanism",
                condition=(
                    models.Q(kind="sandbox", implementation__isnull=False, fixture_set__isnull=False)
                    & ~models.Q(implementation_content_hash="")
                    & ~models.Q(image_digest="")
                    & ~models.Q(backend="")
                    & REVIEW_EMPTY
                    & EXTERNAL_EMPTY
                )
                | (models.Q(kind="review", review_protocol__isnull=False) & ~models.Q(review_process_id="")
                   & ~models.Q(protocol_hash="") & SANDBOX_EMPTY & EXTERNAL_EMPTY)
                | (models.Q(kind="external") & ~models.Q(external_system="") & ~models.Q(rule_owner="")
                   & SANDBOX_EMPTY & REVIEW_EMPTY),
            ),
        ]  # fmt: skip
        triggers = [write_once(), trigger("append", pgtrigger.Insert, APPEND)]

    def __str__(self) -> str:
        return f"{self.run_id} stage {self.position}: {self.result}"
