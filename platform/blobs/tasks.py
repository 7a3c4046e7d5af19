"""Celery's way in to bytes: safe to run twice or never."""

# Celery is untyped; the task is one call.
# mypy: allow-untyped-decorators

import logging

from celery import shared_task

from accounts.clock import database_now
from blobs.services import delete_left_over

logger = logging.getLogger(__name__)


@shared_task(name="blobs.sweep", time_limit=600)
def sweep_task() -> None:
    """Delete bytes that were let go and are still in the store."""
    deleted = delete_left_over(at=database_now())
    if deleted:
        logger.warning("sweep fired", extra={"sweep": "bytes_left_over", "count": deleted})
