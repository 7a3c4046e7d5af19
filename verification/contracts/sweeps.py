"""Recovery of conformance: records that nobody works on."""

from datetime import datetime, timedelta

from django.db.models import Q

from verification.contracts import dispatch
from verification.contracts.models import ConformanceRecord, ConformanceStatus

RESEND_AFTER = timedelta(seconds=15)


def sweep_conformance(*, at: datetime) -> int:
    """Send on every conformance record that is open, due and not held; the number sent."""
    due = (
        ConformanceRecord.objects.filter(
            Q(lease_until=None) | Q(lease_until__lte=at), Q(retry_at=None) | Q(retry_at__lte=at)
        )
        .filter(implementation__yanked_at=None, created_at__lte=at - RESEND_AFTER)
        .filter(status__in=[ConformanceStatus.PENDING, ConformanceStatus.RUNNING, ConformanceStatus.ERROR])
        .values_list("pk", flat=True)
    )
    listed = list(due.order_by("created_at"))
    if listed and dispatch.messages_waiting(dispatch.SANDBOX_QUEUE) != 0:
        # They may only be waiting their turn; one at a time, so that a busy queue is not filled with repetitions.
        listed = listed[:1]
    for record_id in listed:
        dispatch.run_conformance(record_id)
    return len(listed)
