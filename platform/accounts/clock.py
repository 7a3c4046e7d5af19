"""The one clock that every process shares: the database's. Workers' own clocks may be minutes apart."""

from datetime import datetime
from typing import cast

from django.db import connection


def database_now() -> datetime:
    """The present moment as the database sees it, aware, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cast("datetime", cursor.fetchone()[0])
