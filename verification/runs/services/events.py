"""The run's own story, one numbered entry at a time, written under the run's lock."""

from datetime import datetime

from django.db.models import Max

from verification.runs.models import RunEvent


def add_event(*, run_id: str, kind: str, at: datetime, stage_key: str = "") -> None:
    """Append the next entry; the caller holds the run's row lock."""
    last = RunEvent.objects.filter(run_id=run_id).aggregate(last=Max("number"))["last"] or 0
    RunEvent.objects.create(run_id=run_id, number=last + 1, at=at, kind=kind, stage_key=stage_key)
