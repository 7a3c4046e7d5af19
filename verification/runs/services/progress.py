"""What happens to a run between its claim and its end: a stage begins, waits, is woken, or the machinery fails."""

from datetime import datetime, timedelta

from django.db import transaction

from verification.engine.reasons import ReasonCode
from verification.runs import dispatch
from verification.runs.models import RunEvent, RunExecution, RunStatus, VerificationRun
from verification.runs.services.claims import MAX_FAULTS, Claim, held_run
from verification.runs.services.events import add_event
from verification.runs.services.outcomes import check_move, end_locked_run, finish_expired_wait


@transaction.atomic
def begin_stage(*, claim: Claim, stage_key: str, at: datetime) -> None:
    """Note that a stage starts now; the first one moves the run to `running`.

    Raises:
        ClaimLost: another executor holds the run.
    """
    run = held_run(claim)
    if run.status == RunStatus.QUEUED:
        check_move(RunStatus.QUEUED, RunStatus.RUNNING)
        VerificationRun.objects.filter(pk=run.pk).move(status=RunStatus.RUNNING.value, started_at=at)
    RunExecution.objects.filter(pk=run.pk).move(stage_started_at=at)
    add_event(run_id=run.pk, kind="stage_started", at=at, stage_key=stage_key)


@transaction.atomic
def park_run(*, claim: Claim, stage_key: str, waiting_for: str, subject: str, bound: timedelta, at: datetime) -> None:
    """Let go of a run that waits; it keeps its status and says for what, since when and until when.

    The bound counts from the first time that the run waited at this stage. Past it the run finishes inconclusive.

    Raises:
        ClaimLost: another executor holds the run.
    """
    run = held_run(claim)
    first = RunEvent.objects.filter(run=run, kind="waiting", stage_key=stage_key).first()
    since = at if first is None else first.at
    RunExecution.objects.filter(pk=run.pk).move(
        holder="",
        lease_until=None,
        stage_started_at=None,
        waiting_for=waiting_for,
        waiting_subject=subject,
        waiting_since=since,
        waiting_until=since + bound,
    )
    if first is None:
        add_event(run_id=run.pk, kind="waiting", at=at, stage_key=stage_key)
    elif since + bound <= at:
        finish_expired_wait(run=run, execution=RunExecution.objects.get(pk=run.pk), at=at)


def wake_runs(*, waiting_for: str, subject: str) -> int:
    """Tell the workers about every run that waits for this; the number of runs told."""
    run_ids = list(
        RunExecution.objects.filter(waiting_for=waiting_for, waiting_subject=subject)
        .order_by("waiting_since")
        .values_list("pk", flat=True)
    )
    for run_id in run_ids:
        dispatch.execute_run(run_id)
    return len(run_ids)


@transaction.atomic
def record_fault(*, claim: Claim, reason_code: ReasonCode, at: datetime) -> None:
    """Note that the machinery failed: try again a little later, and at the third fault finish `error`.

    Raises:
        ClaimLost: another executor holds the run.
    """
    run = held_run(claim)
    execution = RunExecution.objects.get(pk=run.pk)
    faults = execution.faults + 1
    retry_s = 2.0**faults
    RunExecution.objects.filter(pk=run.pk).move(
        faults=faults,
        holder="",
        lease_until=None,
        stage_started_at=None,
        dispatched_at=at + timedelta(seconds=retry_s),
    )
    if faults >= MAX_FAULTS:
        end_locked_run(run, at=at, reason_code=reason_code)
        return
    add_event(run_id=run.pk, kind="fault", at=at)
    dispatch.execute_run(run.pk, countdown=retry_s)
