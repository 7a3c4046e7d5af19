"""Who holds a run: a lease that a heartbeat renews, and a claim number that fences out whoever lost it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from verification.runs.models import RunExecution, RunStatus, VerificationRun

# A dead executor is noticed within a minute: the lease, less what the sweep needs to see it (SPEC 7).
LEASE = timedelta(seconds=60)
MAX_FAULTS = 3


class ClaimLost(Exception):
    """Another executor holds the run now; whatever this one found is dropped."""


@dataclass(frozen=True)
class Claim:
    """The right to append to a run, until the lease ends or somebody else claims."""

    run_id: str
    number: int
    holder: str


@transaction.atomic
def claim_run(*, run_id: str, holder: str, at: datetime) -> Claim | None:
    """A claim on the run, or None where there is nothing to do: finished, held, unknown, or ended right here.

    A lease found expired is a fault of its dead holder; at the third one the run finishes `error`. A wait found over
    its bound finishes the run inconclusive.
    """
    from verification.runs.services.outcomes import finish_exhausted, finish_expired_wait

    run = VerificationRun.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=run_id).first()
    if run is None or run.status == RunStatus.FINISHED:
        return None
    execution = RunExecution.objects.get(pk=run_id)
    if execution.lease_until is not None and execution.lease_until > at:
        return None
    if execution.waiting_until is not None and execution.waiting_until <= at:
        finish_expired_wait(run=run, execution=execution, at=at)
        return None
    faults = execution.faults + (execution.lease_until is not None)
    number = execution.claim_number + 1
    RunExecution.objects.filter(pk=run_id).move(
        claim_number=number,
        holder=holder,
        lease_until=at + LEASE,
        faults=faults,
        stage_started_at=None,
        waiting_for="",
        waiting_subject="",
        waiting_since=None,
        waiting_until=None,
    )
    claim = Claim(run_id=run_id, number=number, holder=holder)
    if faults >= MAX_FAULTS:
        finish_exhausted(claim=claim, at=at)
        return None
    return claim


def renew_lease(*, claim: Claim, at: datetime) -> None:
    """Push the end of the lease out again.

    Raises:
        ClaimLost: the claim is not the present one any more.
    """
    held = RunExecution.objects.filter(
        pk=claim.run_id, claim_number=claim.number, holder=claim.holder, lease_until__isnull=False
    )
    if not held.move(lease_until=at + LEASE):
        raise ClaimLost(claim.run_id)


def held_run(claim: Claim) -> VerificationRun:
    """The claimed run, locked.

    Raises:
        ClaimLost: somebody else holds it, or it is finished.
    """
    run = VerificationRun.objects.select_for_update(no_key=True).get(pk=claim.run_id)
    number, lease_until = RunExecution.objects.values_list("claim_number", "lease_until").get(pk=claim.run_id)
    if run.status == RunStatus.FINISHED or number != claim.number or lease_until is None:
        raise ClaimLost(claim.run_id)
    return run
