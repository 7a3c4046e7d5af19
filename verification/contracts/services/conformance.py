"""Conformance: every live fixture, plainly named and once more in disguise, through the machinery of a real run."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.db import transaction
from django.db.models import Q

from accounts.clock import database_now
from accounts.ids import new_id
from blobs.services import BytesDiffer, BytesGone, keep_bytes
from verification.contracts import dispatch
from verification.contracts.documents import contract_document
from verification.contracts.execution import execute, expectation_of, input_folder, limits_of, place_bytes
from verification.contracts.models import (
    ConformanceFixture,
    ConformanceRecord,
    ConformanceRun,
    ConformanceStatus,
    ContractStage,
    VerifierContract,
)
from verification.contracts.selectors import full_contracts
from verification.engine.manifest import (
    ManifestArtifact,
    ManifestReference,
    PriorStageResult,
    artifact_path,
    build_manifest,
    reference_path,
)
from verification.engine.outcome import StageOutcome, interpret
from verification.engine.plan import effective_result_kind
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import Execution, InputFile, SandboxFailure

logger = logging.getLogger(__name__)

RETRY_WITHIN = timedelta(hours=24)
RETRY_AFTER = timedelta(seconds=10)
FIXTURE_SLACK_S = 60


class ClaimLost(Exception):
    """Another worker took this conformance record over."""


@dataclass(frozen=True)
class ConformanceClaim:
    """The right to write conformance runs under one record."""

    record_id: int
    number: int
    holder: str


@transaction.atomic
def claim_conformance(*, record_id: int, holder: str, at: datetime) -> ConformanceClaim | None:
    """A claim on the record, or None where it is decided, held, or not yet due for its retry."""
    record = (
        ConformanceRecord.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        .select_related("implementation")
        .filter(Q(retry_at=None) | Q(retry_at__lte=at), pk=record_id, implementation__yanked_at=None)
        .filter(Q(lease_until=None) | Q(lease_until__lte=at))
        .exclude(status__in=[ConformanceStatus.PASSED, ConformanceStatus.FAILED])
        .first()
    )
    if record is None:
        return None
    number = record.claim_number + 1
    lease = timedelta(seconds=record.implementation.timeout_seconds + FIXTURE_SLACK_S)
    ConformanceRecord.objects.filter(pk=record_id).move(
        status=ConformanceStatus.RUNNING.value,
        claim_number=number,
        holder=holder,
        lease_until=at + lease,
        started_at=record.started_at or at,
        retry_at=None,
        fixtures_passed=0,
    )
    return ConformanceClaim(record_id, number, holder)


def execute_conformance(*, record_id: int, holder: str) -> None:
    """Run the whole fixture set of a record, if there is anything to do, and write down what came out."""
    claim = claim_conformance(record_id=record_id, holder=holder, at=database_now())
    if claim is None:
        return
    record = ConformanceRecord.objects.select_related(
        "implementation__stage", "implementation__program", "fixture_set"
    ).get(pk=record_id)
    bench = _bench(record)
    try:
        with input_folder() as folder:
            for fixture in record.fixture_set.fixtures.order_by("position").prefetch_related(
                "files__blob", "files__slot", "files__role"
            ):
                _run_fixture_twice(claim, bench, fixture, folder)
        _decide(claim, at=database_now())
    except (SandboxFailure, BytesGone, BytesDiffer) as failure:
        code = getattr(failure, "reason_code", ReasonCode.INPUT_MISMATCH)
        logger.warning("conformance machinery failed", extra={"record_id": record_id, "reason_code": code.value})
        with suppress(ClaimLost):
            _note_failure(claim, code, at=database_now())
    except ClaimLost:
        logger.info("conformance taken over", extra={"record_id": record_id})


@dataclass(frozen=True)
class _Bench:
    """What stays the same for every fixture of a record."""

    record: ConformanceRecord
    contract: VerifierContract
    stage: ContractStage
    result_kind: str
    prior_stage_results: tuple[PriorStageResult, ...]


def _bench(record: ConformanceRecord) -> _Bench:
    stage = record.implementation.stage
    contract = full_contracts().get(pk=record.implementation.contract_id)
    document = contract_document(contract)
    stages = document["stages"]
    return _Bench(
        record=record,
        contract=contract,
        stage=stage,
        result_kind=effective_result_kind(document, stages[stage.position]),
        prior_stage_results=tuple(
            PriorStageResult(prior["key"], prior["kind"], Result.VERIFIED) for prior in stages[: stage.position]
        ),
    )


@dataclass(frozen=True)
class _Told:
    """The ids a checker sees: plainly a test, or like a real run's."""

    run: str
    revision: str
    submission: str
    artifact_prefix: str
    is_disguised: bool


def _run_fixture_twice(claim: ConformanceClaim, bench: _Bench, fixture: ConformanceFixture, folder: Path) -> None:
    plain_id = new_id("cfx")
    plain = _Told(plain_id, new_id("cfx"), new_id("cfx"), "cfx", is_disguised=False)
    disguised = _Told(new_id("vrn"), new_id("prv"), new_id("sub"), "art", is_disguised=True)
    outcomes = [_run_fixture(claim, bench, fixture, told, folder) for told in (plain, disguised)]
    (first, first_execution), (second, second_execution) = outcomes
    same = _signature(first) == _signature(second)
    for told, outcome, execution in ((plain, first, first_execution), (disguised, second, second_execution)):
        matches = _matches(outcome, fixture) and same
        _write_run(claim, bench.record, fixture, told, outcome, execution, matches=matches)


def _signature(outcome: StageOutcome) -> tuple[object, ...]:
    """What must be equal under both names: a checker that behaves differently when tested fails."""
    return (outcome.result, outcome.reason_code, outcome.score, outcome.findings, outcome.evidence_digest)


def _matches(outcome: StageOutcome, fixture: ConformanceFixture) -> bool:
    if outcome.result.value != fixture.expected_result:
        return False
    return fixture.expected_score is None or outcome.score == fixture.expected_score


def _run_fixture(
    claim: ConformanceClaim, bench: _Bench, fixture: ConformanceFixture, told: _Told, folder: Path
) -> tuple[StageOutcome, Execution]:
    implementation = bench.record.implementation
    artifacts, reference, inputs = _fixture_inputs(fixture, told, folder)
    manifest = build_manifest(
        run_id=told.run,
        verifier_contract_id=bench.contract.pk,
        stage_key=bench.stage.key,
        problem_revision_id=told.revision,
        submission_id=told.submission,
        summary_md=fixture.summary_md or None,
        accepts_summary=bench.contract.summary != "refused",
        artifacts=artifacts,
        reference=reference,
        prior_stage_results=bench.prior_stage_results,
        result_kind=bench.result_kind,
        limits=limits_of(implementation),
    )
    execution = execute(implementation=implementation, manifest=manifest, inputs=inputs, folder=folder)
    expectation = expectation_of(
        bench.contract, result_kind=bench.result_kind, evidence_schema=bench.stage.evidence_schema
    )
    _renew(claim, implementation.timeout_seconds)
    return interpret(execution, expectation), execution


def _fixture_inputs(
    fixture: ConformanceFixture, told: _Told, folder: Path
) -> tuple[list[ManifestArtifact], list[ManifestReference], list[InputFile]]:
    artifacts, reference, inputs = [], [], []
    files = list(fixture.files.all())
    for file in sorted((f for f in files if f.role is not None), key=lambda f: f.role.position if f.role else 0):
        assert file.role is not None
        source = place_bytes(folder, file.blob.content_hash, size_bytes=file.blob.size_bytes)
        inputs.append(InputFile(artifact_path(file.role.key, file.filename), source))
        artifacts.append(
            ManifestArtifact(
                role=file.role.key,
                artifact_id=new_id(told.artifact_prefix),
                filename=file.filename,
                content_hash=file.blob.content_hash,
                size_bytes=file.blob.size_bytes,
                media_type=file.media_type,
            )
        )
    for file in sorted((f for f in files if f.slot is not None), key=lambda f: f.slot.position if f.slot else 0):
        assert file.slot is not None
        source = place_bytes(folder, file.blob.content_hash, size_bytes=file.blob.size_bytes)
        inputs.append(InputFile(reference_path(file.slot.key, file.filename), source))
        reference.append(
            ManifestReference(
                key=file.slot.key,
                filename=file.filename,
                content_hash=file.blob.content_hash,
                size_bytes=file.blob.size_bytes,
                media_type=file.media_type,
            )
        )
    return artifacts, reference, inputs


@transaction.atomic
def _write_run(
    claim: ConformanceClaim,
    record: ConformanceRecord,
    fixture: ConformanceFixture,
    told: _Told,
    outcome: StageOutcome,
    execution: Execution,
    *,
    matches: bool,
) -> None:
    _held(claim)
    at = database_now()
    # A disguised run keeps a record id of its own; the vrn_ id it showed to the checker belongs to no run.
    run = ConformanceRun(record=record, fixture=fixture, claim_number=claim.number, is_disguised=told.is_disguised)
    if not told.is_disguised:
        run.id = told.run
    run.matches = matches
    run.actual_result, run.actual_score = outcome.result.value, outcome.score
    run.reason_code = outcome.reason_code.value if outcome.reason_code else ""
    run.backend, run.wall_s, run.executed_at = execution.backend, execution.wall_s, at
    run.evidence_digest = outcome.evidence_digest or ""
    run.log_truncated = execution.log.truncated
    if execution.log.content:
        run.log = keep_bytes(execution.log.content, holder_kind="conformance_log", holder_id=run.id, at=at)
    run.save()


@transaction.atomic
def _decide(claim: ConformanceClaim, *, at: datetime) -> None:
    record = _held(claim)
    matching = record.runs.filter(claim_number=claim.number, matches=True, is_disguised=True).count()
    has_passed = matching == record.fixtures_total > 0
    ConformanceRecord.objects.filter(pk=record.pk).move(
        status=(ConformanceStatus.PASSED if has_passed else ConformanceStatus.FAILED).value,
        fixtures_passed=matching,
        finished_at=at,
        lease_until=None,
        holder="",
        error_code="",
    )
    # Also after a failure: runs that waited for this one learn that nothing can carry their stage out.
    dispatch.wake_stage(record.implementation.stage_id)


@transaction.atomic
def _note_failure(claim: ConformanceClaim, code: ReasonCode, *, at: datetime) -> None:
    record = _held(claim)
    goes_on = at - record.created_at < RETRY_WITHIN
    ConformanceRecord.objects.filter(pk=record.pk).move(
        status=ConformanceStatus.ERROR.value,
        error_code=code.value,
        lease_until=None,
        holder="",
        retry_at=at + RETRY_AFTER if goes_on else at + RETRY_WITHIN,
    )
    if goes_on:
        dispatch.run_conformance(record.pk, countdown=RETRY_AFTER.total_seconds())


def _renew(claim: ConformanceClaim, timeout_seconds: int) -> None:
    until = database_now() + timedelta(seconds=timeout_seconds + FIXTURE_SLACK_S)
    held = ConformanceRecord.objects.filter(pk=claim.record_id, claim_number=claim.number, holder=claim.holder)
    if not held.move(lease_until=until):
        raise ClaimLost


def _held(claim: ConformanceClaim) -> ConformanceRecord:
    record = (
        ConformanceRecord.objects.select_for_update(no_key=True, of=("self",))
        .select_related("implementation")
        .get(pk=claim.record_id)
    )
    if record.claim_number != claim.number or record.holder != claim.holder:
        raise ClaimLost
    return record
