"""Celery's way in to conformance and reference validation: ids only, safe to run twice or never."""

import logging
import os
import socket

from celery import shared_task

from accounts.clock import database_now
from verification.contracts.models import ReferenceSlot
from verification.contracts.services.conformance import execute_conformance
from verification.contracts.services.validation import ReferenceFile, validate_reference
from verification.contracts.sweeps import sweep_conformance

logger = logging.getLogger(__name__)


@shared_task(name="contracts.execute_conformance")
def execute_conformance_task(*, record_id: str) -> None:
    """Run the fixtures of one conformance record, if they are still to be run."""
    execute_conformance(record_id=int(record_id), holder=f"{socket.gethostname()}|{os.getpid()}")


@shared_task(name="contracts.execute_validation")
def execute_validation_task(*, slot_id: str, content_hash: str, size_bytes: str) -> None:
    """Ask the slot's reference validator about stored bytes."""
    slot = ReferenceSlot.objects.select_related("validator_program").get(pk=int(slot_id))
    file = ReferenceFile(content_hash, int(size_bytes), slot.key, slot.media_types[0])
    validate_reference(slot=slot, file=file, at=database_now())


@shared_task(name="contracts.sweep", time_limit=60)
def sweep_task() -> None:
    """Mend what messages lost."""
    fired = sweep_conformance(at=database_now())
    if fired:
        logger.warning("sweep fired", extra={"sweep": "conformance", "count": fired})
