"""Celery's way in to Problems: safe to run twice or never."""

# Celery is untyped; the task is one call.
# mypy: allow-untyped-decorators

import logging

from celery import shared_task

from accounts.clock import database_now
from problems.sweeps import sweep_validations

logger = logging.getLogger(__name__)


@shared_task(name="problems.sweep", time_limit=60)
def sweep_task() -> None:
    """Mend what messages lost."""
    fired = sweep_validations(at=database_now())
    if fired:
        logger.warning("sweep fired", extra={"sweep": "validation", "count": fired})
