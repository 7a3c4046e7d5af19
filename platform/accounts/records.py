"""What makes a table a record: code that refuses to change it, and triggers with which the database refuses too."""

from typing import Any, NoReturn, TypeVar

import pgtrigger
from django.db import models

M = TypeVar("M", bound=models.Model)


class RecordIsFrozen(Exception):
    """A record was to be changed or deleted. Records are superseded by new ones, never edited."""


class RecordQuerySet(models.QuerySet[M]):
    """A queryset of records: reads and inserts only."""

    def update(self, **kwargs: Any) -> NoReturn:
        """Refuse: a record is written once."""
        raise RecordIsFrozen(f"{self.model.__name__} is written once; write a new record beside it.")

    def delete(self) -> NoReturn:
        """Refuse: a record is kept."""
        raise RecordIsFrozen(f"{self.model.__name__} is never deleted.")

    def move(self, **kwargs: Any) -> int:
        """Change the columns that may move; only the one service that owns the state calls this."""
        return super().update(**kwargs)


class Record(models.Model):
    """A row that is inserted once; services that own a movable column go through `RecordQuerySet.move`."""

    objects = RecordQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert; refuse to write a second time."""
        if not self._state.adding:
            raise RecordIsFrozen(f"{type(self).__name__} {self.pk} is written once.")
        kwargs["force_insert"] = True
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: a record is kept."""
        raise RecordIsFrozen(f"{type(self).__name__} {self.pk} is never deleted.")


def refuse(message: str, *arguments: str) -> str:
    """The PL/pgSQL statement that refuses, with one SQLSTATE for the triggers of all records."""
    listed = "".join(f", {argument}" for argument in arguments)
    return f"RAISE EXCEPTION '{message}'{listed} USING ERRCODE = 'check_violation';"


def write_once() -> pgtrigger.Trigger:
    """Refuses every UPDATE and DELETE of a row."""
    return pgtrigger.Trigger(
        name="write_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update | pgtrigger.Delete,
        func=refuse("% rows are written once", "TG_TABLE_NAME"),
    )


def kept() -> pgtrigger.Trigger:
    """Refuses every DELETE of a row."""
    return pgtrigger.Trigger(
        name="kept",
        when=pgtrigger.Before,
        operation=pgtrigger.Delete,
        func=refuse("% rows are never deleted", "TG_TABLE_NAME"),
    )


def only_moves(*columns: str) -> pgtrigger.Trigger:
    """Refuses an UPDATE that changes anything but the named columns."""
    moved = " || ".join(f"jsonb_build_object('{column}', NULL)" for column in columns)
    return pgtrigger.Trigger(
        name="only_moves",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=(
            f"IF (to_jsonb(NEW) || {moved}) IS DISTINCT FROM (to_jsonb(OLD) || {moved}) THEN "
            f"{refuse('% rows keep every other column', 'TG_TABLE_NAME')} END IF; RETURN NEW;"
        ),
    )


def set_once(*columns: str) -> pgtrigger.Trigger:
    """Refuses to change any of the columns once it holds a value."""
    tests = " OR ".join(f'(OLD."{c}" IS NOT NULL AND NEW."{c}" IS DISTINCT FROM OLD."{c}")' for c in columns)
    return pgtrigger.Trigger(
        name="set_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=f"IF {tests} THEN {refuse('% columns are set once', 'TG_TABLE_NAME')} END IF; RETURN NEW;",
    )


def settled_with(stamp: str, *columns: str) -> pgtrigger.Trigger:
    """Refuses to change `stamp` or what was written with it once `stamp` holds a value: who, when and why stay."""
    tests = " OR ".join(f'NEW."{c}" IS DISTINCT FROM OLD."{c}"' for c in (stamp, *columns))
    return pgtrigger.Trigger(
        name="settled",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=(
            f'IF OLD."{stamp}" IS NOT NULL AND ({tests}) THEN '
            f"{refuse('% columns are written once, together', 'TG_TABLE_NAME')} END IF; RETURN NEW;"
        ),
    )


def trigger(name: str, operation: Any, func: str, *, deferred: bool = False, declare: Any = None) -> pgtrigger.Trigger:
    """A row trigger: BEFORE, or (`deferred`) a constraint trigger that fires at commit."""
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.After if deferred else pgtrigger.Before,
        operation=operation,
        timing=pgtrigger.Deferred if deferred else None,
        func=func,
        declare=declare,
    )
