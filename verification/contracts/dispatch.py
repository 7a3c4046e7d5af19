"""Hand-over to Celery, after commit and by task name. A message is a hint: losing one costs a sweep, nothing else."""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import ChannelError, OperationalError

logger = logging.getLogger(__name__)

# Messages about work that may take as long as a checker may; all others are short and have a queue of their own.
SANDBOX_QUEUE = "sandbox"

# Once more at once: a connection that the broker dropped since its last use is found out only by using it. Waiting
# longer is the sweeps' work; here somebody's request is open.
SEND_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


def send_after_commit(task: str, *, queue: str, countdown: float | None = None, **ids: str) -> None:
    """Send one message once the transaction stands; a broker that is away is logged, never raised."""
    # A lambda, not a partial: Django names the callback in the log of its failure, and a partial has no name.
    transaction.on_commit(lambda: _send(task, queue, countdown, ids), robust=True)


def run_conformance(record_id: int, *, countdown: float | None = None) -> None:
    """Tell the workers that a conformance record waits."""
    send_after_commit(
        "contracts.execute_conformance", queue=SANDBOX_QUEUE, countdown=countdown, record_id=str(record_id)
    )


def validate_reference(slot_id: int, content_hash: str, size_bytes: int) -> None:
    """Tell the workers that bytes wait for their slot's reference validator."""
    send_after_commit(
        "contracts.execute_validation",
        queue=SANDBOX_QUEUE,
        slot_id=str(slot_id),
        content_hash=content_hash,
        size_bytes=str(size_bytes),
    )


def wake_stage(stage_id: int) -> None:
    """Tell the workers that runs waiting for this stage's Implementations can go on (a task of the floor above)."""
    send_after_commit("runs.wake_stage", queue="default", stage_id=str(stage_id))


def messages_waiting(queue: str) -> int | None:
    """How many messages no worker has taken yet; None where the broker does not say."""
    with current_app.connection_or_acquire() as connection:
        try:
            connection.ensure_connection(max_retries=1, interval_start=0)
            return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
        except ChannelError:
            return 0  # A queue comes to be with its first message.
        except (OperationalError, *connection.connection_errors):
            logger.warning("broker away", extra={"queue": queue})
            return None


def _send(task: str, queue: str, countdown: float | None, ids: dict[str, str]) -> None:
    try:
        current_app.send_task(
            task, kwargs=ids, queue=queue, countdown=countdown, retry=True, retry_policy=SEND_POLICY, ignore_result=True
        )
    except OperationalError:
        logger.warning("broker away; a sweep will send this again", extra={"task": task, **ids})
