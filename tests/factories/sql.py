"""Raw SQL against the database, to see what it refuses whoever asks."""

from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

NOT_GRANTED = "42501"
REFUSED = "23514"  # a trigger or a CHECK
TAKEN = "23505"  # a unique constraint


def refusal(statement: str, *parameters: Any) -> str:
    """The SQLSTATE with which the statement, or the end of its transaction, is refused to the application's role."""
    with pytest.raises(DatabaseError) as caught:
        _commit_like(statement, parameters)
    return _state(caught.value.__cause__)


def owner_refusal(owner_url: str, *statements: str) -> str:
    """The SQLSTATE with which the owner of the tables is refused the last of the statements (on committed rows)."""
    with psycopg.connect(owner_url) as owner:
        for statement in statements[:-1]:
            owner.execute(statement)
        with pytest.raises(psycopg.Error) as caught:
            owner.execute(statements[-1])
        owner.rollback()
    return _state(caught.value)


def _commit_like(statement: str, parameters: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def write(statement: str, *parameters: Any) -> int:
    """The number of rows that the statement wrote, as the application's role."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def row_of(table: str, key: Any, *, column: str = "id") -> dict[str, Any]:
    """One row, by column, without its own surrogate key."""
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT * FROM "{table}" WHERE "{column}" = %s', [key])
        names = [described.name for described in cursor.description]
        return dict(zip(names, cursor.fetchone(), strict=True))


def insertion(table: str, columns: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """An INSERT of one row: its text and parameters."""
    names = ", ".join(f'"{name}"' for name in columns)
    places = ", ".join(["%s"] * len(columns))
    return f'INSERT INTO "{table}" ({names}) VALUES ({places})', list(columns.values())


def insertion_refusal(table: str, columns: Mapping[str, Any]) -> str:
    """The SQLSTATE with which this row is refused to the application's role."""
    statement, parameters = insertion(table, columns)
    return refusal(statement, *parameters)


def _state(error: BaseException | None) -> str:
    assert isinstance(error, psycopg.Error), error
    assert error.sqlstate is not None, error
    return error.sqlstate
