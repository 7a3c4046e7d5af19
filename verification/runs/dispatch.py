"""Hand-over of runs to Celery, after commit and by task name."""

from verification.contracts.dispatch import send_after_commit


def execute_run(run_id: str, *, countdown: float | None = None) -> None:
    """Tell the workers that a run can go on."""
    send_after_commit("runs.execute_run", queue="sandbox", countdown=countdown, run_id=run_id)
