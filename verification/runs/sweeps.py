"""Recovery of runs: lost messages, dead executors, waits past their bound, Submissions without a run.

The normal path never needs any of it. What fires is logged as a warning and counted in `SweepTally`.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, QuerySet

from submissions.models import Submission
from verification.contracts.models import ContractStage
from verification.engine.ids import format_id, uuid7
from verification.runs import dispatch
from verification.runs.holders import is_dead
from verification.runs.models import RunExecution, RunStatus, RunTrigger, SweepTally
from verification.runs.services import create_run
from verification.runs.stages.base import executor_of

logger = logging.getLogger(__name__)

RESEND_AFTER = timedelta(seconds=5)
RESEND_TO_BUSY_AFTER = timedelta(seconds=30)
MISSING_RUN_AFTER = timedelta(seconds=30)
MISSING_RUN_WITHIN = timedelta(days=1)
OPEN = (RunStatus.QUEUED, RunStatus.RUNNING)
BATCH = 200


def sweep_runs(*, at: datetime) -> dict[str, int]:
    """Send every run on that should be under way and is not; how often each kind of mending fired."""
    fired = {
        "dead_executor": _end_leases_of_the_dead(at),
        "lease_expired": _resend(Q(lease_until__lte=at), at),
        "message_lost": _resend_lost(at),
        "wait_over": _resend(Q(waiting_until__lte=at), at),
        "wake_lost": _wake_ready(at),
        "run_missing": _create_missing_runs(at),
    }
    tally({kind: count for kind, count in fired.items() if count}, at)
    return fired


def tally(fired: dict[str, int], at: datetime) -> None:
    """Count what fired, per kind and day."""
    for kind, count in fired.items():
        logger.warning("sweep fired", extra={"sweep": kind, "count": count})
        SweepTally.objects.bulk_create(
            [SweepTally(kind=kind, day_date=at.date())],
            ignore_conflicts=True,
        )
        SweepTally.objects.filter(kind=kind, day_date=at.date()).update(fired=F("fired") + count)


@transaction.atomic
def _end_leases_of_the_dead(at: datetime) -> int:
    held = RunExecution.objects.select_for_update(no_key=True, skip_locked=True, of=("self",)).filter(
        lease_until__gt=at
    )
    dead = [execution for execution in held[:BATCH] if is_dead(execution.holder)]
    for execution in dead:
        # Counted once: what was just sent is not overdue as an expired lease, too.
        RunExecution.objects.filter(pk=execution.pk).move(lease_until=at, dispatched_at=at)
        dispatch.execute_run(execution.pk)
    return len(dead)


def _resend_lost(at: datetime) -> int:
    """Send on the runs whose message is gone, which is not every run that waits: most only wait their turn.

    While the broker holds messages, a run is sent again after twice the time that it had waited at its last message,
    so that a long queue is not filled with repetitions. A broker that is away gets nothing; once it is back it holds
    no message, and everything is sent.
    """
    overdue = _overdue(at).filter(lease_until=None, waiting_for="")
    if not overdue.exists():
        return 0
    waiting = dispatch.waiting_messages()
    if waiting is None:
        return 0
    if waiting:
        waited = F("dispatched_at") - F("run__created_at")
        again_at = ExpressionWrapper(F("dispatched_at") + waited, output_field=DateTimeField())
        overdue = overdue.annotate(again_at=again_at).filter(
            again_at__lte=at, dispatched_at__lte=at - RESEND_TO_BUSY_AFTER
        )
    return _send(overdue.values_list("pk", flat=True)[:BATCH], at)


def _resend(which: Q, at: datetime) -> int:
    return _send(_overdue(at).filter(which).values_list("pk", flat=True)[:BATCH], at)


def _overdue(at: datetime) -> QuerySet[RunExecution]:
    return (
        RunExecution.objects.filter(Q(dispatched_at=None) | Q(dispatched_at__lte=at - RESEND_AFTER))
        .filter(run__status__in=OPEN)
        .order_by(F("dispatched_at").asc(nulls_first=True))
    )


def _send(run_ids: Iterable[str], at: datetime) -> int:
    listed = list(run_ids)
    RunExecution.objects.filter(pk__in=listed).move(dispatched_at=at)
    for run_id in listed:
        dispatch.execute_run(run_id)
    return len(listed)


def _wake_ready(at: datetime) -> int:
    waiting = RunExecution.objects.exclude(waiting_for="").filter(
        Q(dispatched_at=None) | Q(dispatched_at__lte=at - RESEND_AFTER), waiting_for="conformance"
    )
    fired = 0
    for subject in waiting.order_by().values_list("waiting_subject", flat=True).distinct():
        stage = ContractStage.objects.get(pk=int(subject))
        executor = executor_of(stage.kind)
        if executor is not None and executor.is_ready(stage):
            fired += _send(waiting.filter(waiting_subject=subject).values_list("pk", flat=True)[:BATCH], at)
    return fired


def _first_id_of(moment: datetime) -> str:
    return format_id("sub", uuid7(int(moment.timestamp() * 1000), 0))


def _create_missing_runs(at: datetime) -> int:
    missing = (
        Submission.objects.filter(
            runs=None,
            attempt__revision__verifier_contract__isnull=False,
            withdrawn_at=None,
            created_at__lte=at - MISSING_RUN_AFTER,
            # Ids begin with their time and are indexed: a sweep reads one day, not all that was ever submitted.
            pk__gt=_first_id_of(at - MISSING_RUN_WITHIN),
            created_at__gt=at - MISSING_RUN_WITHIN,
        )
        .select_related("attempt__revision__verifier_contract", "created_by")
        .order_by("created_at")[:BATCH]
    )
    created = 0
    for submission in missing:
        with transaction.atomic():
            Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
            if submission.runs.exists():
                continue
            create_run(submission=submission, trigger=RunTrigger.SUBMISSION, requested_by=submission.created_by, at=at)
            created += 1
    return created
