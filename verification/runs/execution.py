"""Executing a run: claim, re-hash the inputs, go through the plan stage by stage, write down what came out."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from django.db import close_old_connections, connection
from django.db.models import Prefetch

from accounts.clock import database_now
from blobs.services import BytesDiffer, BytesGone
from verification.contracts.execution import frozen_contract, input_folder, place_bytes
from verification.contracts.models import ContractStage, ReferenceSlot
from verification.contracts.services.validation import acceptance_of, needs_acceptance
from verification.engine.plan import OfferedArtifact, unmet_requirement
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import Cancelled, SandboxFailure
from verification.runs import dispatch
from verification.runs.models import RunArtifact, StageResult, VerificationRun
from verification.runs.services import (
    LEASE,
    Claim,
    ClaimLost,
    append_stage_result,
    begin_stage,
    claim_run,
    end_locked_run,
    final_score,
    finish_run,
    park_run,
    record_fault,
    renew_lease,
    stage_reason,
)
from verification.runs.stages.base import StageContext, StageDone, StageUnavailable, StageWaits, executor_of

logger = logging.getLogger(__name__)

HEARTBEAT = LEASE / 6
# What a stage may take beyond its own limit: copying inputs in, collecting outputs, tearing down.
STAGE_SLACK_S = 60.0


class Heartbeat:
    """Renews a claim while the present stage may still legally execute; notices when the claim is lost."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._stop = threading.Event()
        self._deadline = time.monotonic() + STAGE_SLACK_S
        self._thread = threading.Thread(target=self._beat, name=f"lease {claim.run_id}", daemon=True)
        self.is_lost = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def allow(self, seconds: float) -> None:
        """A stage begins that may take this long."""
        self._deadline = time.monotonic() + seconds + STAGE_SLACK_S

    def _beat(self) -> None:
        try:
            while not self._stop.wait(HEARTBEAT.total_seconds()):
                if time.monotonic() > self._deadline:
                    logger.error("stage outlived its limit; lease left to end", extra={"run_id": self._claim.run_id})
                    return
                self._renew()
        finally:
            connection.close()

    def _renew(self) -> None:
        try:
            renew_lease(claim=self._claim, at=database_now())
        except ClaimLost:
            self.is_lost = True
            self._stop.set()
        except Exception:
            logger.warning("lease not renewed", extra={"run_id": self._claim.run_id}, exc_info=True)
            close_old_connections()


def execute_run(*, run_id: str, holder: str) -> None:
    """Do whatever there is to do for a run now; running it twice or on a finished run changes nothing."""
    claim = claim_run(run_id=run_id, holder=holder, at=database_now())
    if claim is None:
        return
    with Heartbeat(claim) as heartbeat:
        try:
            _execute_claimed(claim, heartbeat)
        except (ClaimLost, Cancelled):
            logger.info("run taken over", extra={"run_id": run_id})
        except SandboxFailure as failure:
            logger.warning("machinery failed", extra={"run_id": run_id, "reason_code": failure.reason_code.value})
            _note_fault(claim, failure.reason_code)
        except Exception:
            logger.exception("run faulted", extra={"run_id": run_id})
            _note_fault(claim, ReasonCode.RETRIES_EXHAUSTED)
            raise


def _drop_broken_connection() -> None:
    # Inside a transaction there is nothing to go on with on a new connection.
    if not connection.in_atomic_block:
        close_old_connections()


def _note_fault(claim: Claim, reason_code: ReasonCode) -> None:
    # A lost connection may be the very fault; what it can no longer write, a new one can.
    _drop_broken_connection()
    try:
        record_fault(claim=claim, reason_code=reason_code, at=database_now())
    except ClaimLost:
        # Taken over, or its end was written before the answer was lost.
        logger.info("run taken over", extra={"run_id": claim.run_id})


@dataclass(frozen=True)
class _Ending:
    """Why the run ends before its next stage, as far as its inputs tell."""

    reason_code: ReasonCode
    detail: str = ""


@dataclass(frozen=True)
class _Conclusion:
    """What the results of the stages make of the run; without a reason code it is verified."""

    reason_code: ReasonCode | None = None
    score: float | None = None


def _execute_claimed(claim: Claim, heartbeat: Heartbeat) -> None:
    run = _load(claim.run_id)
    ending = _withdrawal(run) or _missed_requirement(run)
    if ending is not None:
        finish_run(claim=claim, at=database_now(), reason_code=ending.reason_code, reason_detail=ending.detail)
        return
    with input_folder() as folder:
        placed = _place_inputs(run, folder)
        problem = placed if isinstance(placed, _Ending) else _unaccepted_reference(run)
        if problem is not None:
            finish_run(claim=claim, at=database_now(), reason_code=problem.reason_code, reason_detail=problem.detail)
            return
        assert not isinstance(placed, _Ending)
        _go_through_plan(claim, heartbeat, run, placed, folder)


def _load(run_id: str) -> VerificationRun:
    artifacts = Prefetch("artifacts", RunArtifact.objects.select_related("artifact"))
    run = VerificationRun.objects.select_related("submission").prefetch_related(artifacts, "references").get(pk=run_id)
    run.contract = frozen_contract(run.contract_id)
    return run


def _withdrawal(run: VerificationRun) -> _Ending | None:
    if run.submission.withdrawn_at is not None:
        return _Ending(ReasonCode.SUBMISSION_WITHDRAWN)
    for frozen in run.artifacts.all():
        if frozen.artifact.withdrawn_at is not None:
            return _Ending(ReasonCode.ARTIFACT_WITHDRAWN, f"Role {frozen.role or frozen.position}.")
    return None


def _missed_requirement(run: VerificationRun) -> _Ending | None:
    requirements = {
        "required_artifacts": [
            {"role": role.key, "media_types": role.media_types, "max_bytes": role.max_bytes}
            for role in run.contract.roles.all()
        ],
        "summary": run.contract.summary,
    }
    offered = [OfferedArtifact(media_type=a.media_type, size_bytes=a.size_bytes) for a in run.artifacts.all()]
    unmet = unmet_requirement(requirements, offered, bool(run.submission.summary_md))
    return None if unmet is None else _Ending(ReasonCode.REQUIREMENT_UNMET, unmet)


def _place_inputs(run: VerificationRun, folder: Path) -> dict[str, Path] | _Ending:
    """Copies of every stored input, each byte hashed again; a difference ends the run before anything executes."""
    wanted = [(a.content_hash, a.size_bytes) for a in run.artifacts.all()]
    wanted += [(r.content_hash, r.size_bytes) for r in run.references.all() if r.kind == "stored"]
    placed = {}
    for content_hash, size_bytes in wanted:
        try:
            placed[content_hash] = place_bytes(folder, content_hash, size_bytes=size_bytes)
        except (BytesGone, BytesDiffer):
            logger.error("stored input changed", extra={"run_id": run.pk, "content_hash": content_hash})  # noqa: TRY400
            return _Ending(ReasonCode.INPUT_MISMATCH)
    return placed


def _unaccepted_reference(run: VerificationRun) -> _Ending | None:
    slots: dict[str, ReferenceSlot] = {slot.key: slot for slot in run.contract.slots.all()}
    for reference in run.references.all():
        slot = slots[reference.key]
        if reference.kind != "stored" or not needs_acceptance(slot):
            continue
        acceptance = acceptance_of(slot, reference.content_hash)
        if acceptance is None or not acceptance.is_accepted:
            return _Ending(ReasonCode.REFERENCE_INVALID, f"Slot {reference.key}.")
    return None


def _go_through_plan(
    claim: Claim, heartbeat: Heartbeat, run: VerificationRun, inputs: dict[str, Path], folder: Path
) -> None:
    stages: Sequence[ContractStage] = list(run.contract.stages.all())
    # Whoever claims a run first finds no results.
    results = [] if claim.number == 1 else list(run.stage_results.select_related("stage").order_by("position"))
    conclusion = _conclusion(run, stages, results)
    if conclusion is not None:
        finish_run(claim=claim, at=database_now(), reason_code=conclusion.reason_code, score=conclusion.score)
        return
    while len(results) < len(stages):
        if results:
            # A withdrawal while a stage executed is noticed before the next one.
            run = _load(claim.run_id)
            ending = _withdrawal(run)
            if ending is not None:
                finish_run(claim=claim, at=database_now(), reason_code=ending.reason_code, reason_detail=ending.detail)
                return
        done = _carry_out(claim, heartbeat, run, stages, results, inputs, folder)
        if done is None:
            return
        # Minutes may have passed, and whatever cut our connection meanwhile shall not cost the stage's result.
        _drop_broken_connection()
        at = database_now()

        def conclude(result: StageResult, run: VerificationRun = run, at: datetime = at) -> None:
            results.append(result)
            conclusion = _conclusion(run, stages, results)
            if conclusion is not None:
                end_locked_run(result.run, at=at, reason_code=conclusion.reason_code, score=conclusion.score)

        append_stage_result(claim=claim, done=done, at=at, then=conclude)
        if results[-1].result != Result.VERIFIED:
            return


def _conclusion(
    run: VerificationRun, stages: Sequence[ContractStage], results: Sequence[StageResult]
) -> _Conclusion | None:
    """How the results so far end the run; None where its plan goes on."""
    if results and results[-1].result != Result.VERIFIED:
        return _Conclusion(reason_code=stage_reason(results[-1]))
    if len(results) == len(stages):
        return _Conclusion(score=final_score(run, results))
    return None


def _carry_out(
    claim: Claim,
    heartbeat: Heartbeat,
    run: VerificationRun,
    stages: Sequence[ContractStage],
    results: Sequence[StageResult],
    inputs: dict[str, Path],
    folder: Path,
) -> StageDone | None:
    """What the next stage came to, or None where the run waits or ended here."""
    stage = stages[len(results)]

    def begin(limit_s: int) -> datetime:
        heartbeat.allow(limit_s)
        at = database_now()
        begin_stage(claim=claim, stage_key=stage.key, at=at)
        return at

    executor = executor_of(stage.kind)
    if executor is None:
        answer: StageDone | StageWaits | StageUnavailable = StageUnavailable(
            f"No {stage.kind} stages are carried out here."
        )
    else:
        answer = executor.start(
            StageContext(
                run=run,
                stage=stage,
                stages=stages,
                position=len(results),
                inputs=inputs,
                folder=folder,
                prior_results=[(r.stage.key, r.kind, r.result) for r in results],
                begin=begin,
                is_cancelled=lambda: heartbeat.is_lost,
            )
        )
    if isinstance(answer, StageDone):
        return answer
    if isinstance(answer, StageUnavailable):
        finish_run(
            claim=claim, at=database_now(), reason_code=ReasonCode.STAGE_UNAVAILABLE, reason_detail=answer.detail
        )
        return None
    park_run(
        claim=claim,
        stage_key=stage.key,
        waiting_for=answer.waiting_for,
        subject=answer.subject,
        bound=answer.bound,
        at=database_now(),
    )
    if executor is not None and executor.is_ready(stage):
        # It became ready between the look and the parking; whoever made it so did not see this run waiting.
        dispatch.execute_run(run.pk)
    return None
