"""What a run comes to: stage results appended compare-and-set, the outcome written once, one revocation at most."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.models import User
from blobs.services import Kept, keep_all
from submissions.services import refund_quota
from verification.contracts.models import StageSlot
from verification.engine.reasons import ATTRIBUTION, RESULT_OF, Attribution, ReasonCode, Result
from verification.runs.models import (
    EvidenceFile,
    ProtectedOutput,
    Revocation,
    RunEvent,
    RunExecution,
    RunStatus,
    RunTrigger,
    StageOutput,
    StageResult,
    VerificationRun,
)
from verification.runs.models.output import Output
from verification.runs.services.claims import Claim, held_run
from verification.runs.services.events import add_event
from verification.runs.services.telling import evidence_text
from verification.runs.stages.base import StageDone

MOVES = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.FINISHED}),
    RunStatus.RUNNING: frozenset({RunStatus.FINISHED}),
    RunStatus.FINISHED: frozenset(),
}


class IllegalMove(Exception):
    """A run was to go where its status does not lead."""


@dataclass(frozen=True)
class FinishedRun:
    """What listeners are told; everything else they read themselves, through the projection."""

    run_id: str
    submission_id: str
    at: datetime


_listeners: list[Callable[[FinishedRun], None]] = []


def on_run_finished(listener: Callable[[FinishedRun], None]) -> None:
    """Register a listener at start-up; it is called in the transaction in which the run finishes."""
    if listener not in _listeners:
        _listeners.append(listener)


def check_move(old: RunStatus, new: RunStatus) -> None:
    """Return if the status may go there.

    Raises:
        IllegalMove: it may not.
    """
    if new not in MOVES[old]:
        raise IllegalMove(f"a run does not go from {old.value} to {new.value}")


@transaction.atomic
def append_stage_result(
    *, claim: Claim, done: StageDone, at: datetime, then: Callable[[StageResult], object] | None = None
) -> StageResult:
    """Write down what a stage found, if this claim still holds the run.

    Args:
        then: called in the same transaction with the result, whose `run` is locked; what ends the run goes here, so
            that a run is never seen with its last stage done and no end.

    Raises:
        ClaimLost: another executor holds it; nothing is written.
    """
    run = held_run(claim)
    result = StageResult.objects.create(
        run=run,
        position=done.position,
        stage_id=done.stage_id,
        kind=done.kind,
        result=done.result.value,
        claim_number=claim.number,
        is_protected=done.is_protected,
        **done.mechanism.columns(),
    )
    _write_output(result, done, at)
    add_event(run_id=run.pk, kind=f"stage_{done.result.value}", at=at, stage_key=done.stage_key)
    RunExecution.objects.filter(pk=run.pk).move(stage_started_at=None)
    if then is not None:
        then(result)
    return result


@transaction.atomic
def finish_run(
    *,
    claim: Claim,
    at: datetime,
    reason_code: ReasonCode | None = None,
    reason_detail: str = "",
    score: float | None = None,
) -> VerificationRun:
    """End the run, writing result, reason, score and evidence_md together, once.

    Args:
        reason_code: None exactly when every stage of the plan passed.
        reason_detail: names what was unmet or missing, in our own words; never text of a checker or participant.

    Raises:
        ClaimLost: another executor holds the run.
    """
    return end_locked_run(held_run(claim), at=at, reason_code=reason_code, reason_detail=reason_detail, score=score)


def finish_exhausted(*, claim: Claim, at: datetime) -> VerificationRun:
    """End a run whose execution faulted too often."""
    return end_locked_run(held_run(claim), at=at, reason_code=ReasonCode.RETRIES_EXHAUSTED)


def finish_expired_wait(*, run: VerificationRun, execution: RunExecution, at: datetime) -> VerificationRun:
    """End a run that waited up to its bound; the caller holds the row lock."""
    detail = f"Waited for {execution.waiting_for} since {execution.waiting_since:%Y-%m-%d %H:%M} UTC."
    return end_locked_run(run, at=at, reason_code=ReasonCode.STAGE_UNAVAILABLE, reason_detail=detail)


@transaction.atomic
def revoke_run(*, run_id: str, revoked_by: User, reason_md: str, at: datetime) -> Revocation:
    """Write the one revocation of a finished run; its result and evidence stay.

    Raises:
        IllegalMove: the run is not finished, or was revoked already.
    """
    run = VerificationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.status != RunStatus.FINISHED:
        raise IllegalMove("only a finished run can be revoked")
    if Revocation.objects.filter(run=run).exists():
        raise IllegalMove("this run was revoked already")
    revocation = Revocation.objects.create(run=run, revoked_at=at, revoked_by=revoked_by, reason_md=reason_md)
    add_event(run_id=run.pk, kind="revoked", at=at)
    return revocation


def end_locked_run(
    run: VerificationRun,
    *,
    at: datetime,
    reason_code: ReasonCode | None = None,
    reason_detail: str = "",
    score: float | None = None,
) -> VerificationRun:
    """Write the outcome; the caller holds the run's row lock and the right to end it."""
    check_move(RunStatus(run.status), RunStatus.FINISHED)
    result = Result.VERIFIED if reason_code is None else RESULT_OF[reason_code]
    run.result, run.reason_code, run.reason_detail = result.value, reason_code or "", reason_detail[:300]
    run.score, run.finished_at = score, at
    run.evidence_md = evidence_text(run)
    run.status = RunStatus.FINISHED.value
    VerificationRun.objects.filter(pk=run.pk).move(
        status=run.status,
        result=run.result,
        reason_code=run.reason_code,
        reason_detail=run.reason_detail,
        score=score,
        evidence_md=run.evidence_md,
        finished_at=at,
    )
    RunExecution.objects.filter(pk=run.pk).move(
        holder="", lease_until=None, waiting_for="", waiting_subject="", waiting_since=None, waiting_until=None
    )
    add_event(run_id=run.pk, kind="finished", at=at)
    if reason_code is not None and ATTRIBUTION[reason_code] is Attribution.PLATFORM and _cost_quota(run):
        refund_quota(submission_id=run.submission_id, at=at)
    for listener in _listeners:
        listener(FinishedRun(run_id=run.pk, submission_id=run.submission_id, at=at))
    return run


def stage_reason(result: StageResult) -> ReasonCode:
    """The reason code of a stage that did not pass."""
    return ReasonCode(_output_of(result).reason_code)


def final_score(run: VerificationRun, results: Sequence[StageResult]) -> float | None:
    """The score of a run whose stages all passed: the last scored stage supplies it; None where none is scored."""
    if run.contract.result_kind != "score":
        return None
    scores = [_output_of(result).score for result in results if result.kind == "sandbox"]
    return next((score for score in reversed(scores) if score is not None), None)


def _output_of(result: StageResult) -> Output:
    if result.is_protected:
        return ProtectedOutput.objects.get(pk=result.pk)
    return StageOutput.objects.get(pk=result.pk)


def _cost_quota(run: VerificationRun) -> bool:
    """True if an end of the platform's making gives the Submission's cost back.

    A rerun cost nothing. Once a protected stage has begun, its end may tell something about sealed bytes.
    """
    if run.trigger == RunTrigger.RERUN:
        return False
    begun = RunEvent.objects.filter(run=run, kind="stage_started").values("stage_key")
    return not StageSlot.objects.filter(
        stage__contract=run.contract_id, stage__key__in=begun, slot__sealed=True
    ).exists()


def _write_output(result: StageResult, done: StageDone, at: datetime) -> None:
    output = done.output
    table = ProtectedOutput if done.is_protected else StageOutput
    holder = f"{result.run_id}/{done.stage_key}"
    log = [Kept(output.log_content, "log", holder)] if output.log_content else []
    files = [Kept(content, "evidence", f"{holder}/{place}") for place, (_, content) in enumerate(output.evidence)]
    blobs = keep_all([*log, *files], at=at) if log or files else []
    table.objects.create(
        stage_result=result,
        reason_code=output.reason_code or "",
        findings=list(output.findings),
        started_at=output.started_at,
        finished_at=at,
        exit_code=output.exit_code,
        wall_s=output.wall_s,
        cpu_s=output.cpu_s,
        peak_memory_bytes=output.peak_memory_bytes,
        score=output.score,
        summary=output.summary,
        enforced=sorted(output.enforced),
        log_hash=blobs[0].content_hash if log else "",
        log_size_bytes=output.log_size_bytes,
        log_kept_bytes=len(output.log_content),
        log_truncated=output.log_truncated,
        evidence_digest=output.evidence_digest or "",
    )
    EvidenceFile.objects.bulk_create(
        EvidenceFile(stage_result=result, path=path, blob=blob, size_bytes=len(content))
        for (path, content), blob in zip(output.evidence, blobs[len(log) :], strict=True)
    )
