"""The run's own story, one numbered entry at a time, written under the run's lock."""

from datetime import datetime

from django.db.models import Subquery, Value
from django.db.models.functions import Coalesce

from verification.runs.models import RunEvent


def add_event(*, run_id: str, kind: str, at: datetime, stage_key: str = "") -> None:
    """Append the next entry; the caller holds the run's row lock."""
    last = RunEvent.objects.filter(run_id=run_id).order_by("-number").values("number")[:1]
    number = Coalesce(Subquery(last), Value(0)) + 1
    RunEvent.objects.create(run_id=run_id, number=number, at=at, kind=kind, stage_key=stage_key)
