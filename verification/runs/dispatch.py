"""Hand-over of runs to Celery, after commit and by task name."""

from verification.contracts.dispatch import SANDBOX_QUEUE, messages_waiting, send_after_commit


def execute_run(run_id: str, *, countdown: float | None = None) -> None:
    """Tell the workers that a run can go on."""
    send_after_commit("runs.execute_run", queue=SANDBOX_QUEUE, countdown=countdown, run_id=run_id)


def waiting_messages() -> int | None:
    """How many messages about runs and conformance no worker has taken yet; None where the broker is away."""
    return messages_waiting(SANDBOX_QUEUE)
