"""The run's own story, one numbered entry at a time, written under the run's lock."""

from datetime import datetime

from django.db import connection

# By hand, because three of these belong to every run and the ORM takes longer to word one than the database to do it.
APPEND = """
    INSERT INTO runs_runevent (run_id, number, at, kind, stage_key)
    SELECT %(run_id)s, coalesce(max(number), 0) + 1, %(at)s, %(kind)s, %(stage_key)s
    FROM runs_runevent WHERE run_id = %(run_id)s
"""


def add_event(*, run_id: str, kind: str, at: datetime, stage_key: str = "") -> None:
    """Append the next entry; the caller holds the run's row lock."""
    with connection.cursor() as cursor:
        cursor.execute(APPEND, {"run_id": run_id, "kind": kind, "at": at, "stage_key": stage_key})
