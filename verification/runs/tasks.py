"""Celery's way in to runs: ids only, safe to run twice or never."""

from celery import shared_task

from accounts.clock import database_now
from verification.runs.execution import execute_run
from verification.runs.holders import this_process
from verification.runs.services import wake_runs
from verification.runs.sweeps import sweep_runs


@shared_task(name="runs.execute_run")
def execute_run_task(*, run_id: str) -> None:
    """Go on with a run, if there is anything to do."""
    execute_run(run_id=run_id, holder=this_process())


@shared_task(name="runs.wake_stage")
def wake_stage_task(*, stage_id: str) -> None:
    """Send on every run that waits for an Implementation of this stage."""
    wake_runs(waiting_for="conformance", subject=stage_id)


@shared_task(name="runs.sweep", time_limit=60)
def sweep_task() -> None:
    """Mend what messages lost."""
    sweep_runs(at=database_now())
