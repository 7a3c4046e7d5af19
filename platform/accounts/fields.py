"""Fields that all records share: typed ids and hashes."""

from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import models

from accounts.ids import new_id

ID_LENGTH = 30
HASH_LENGTH = 71
HASH_REGEX = r"^sha256:[0-9a-f]{64}$"
KEY_LENGTH = 63
KEY_REGEX = r"^[a-z][a-z0-9_]{0,62}$"

if TYPE_CHECKING:
    _CharField = models.CharField[str, str]
else:
    _CharField = models.CharField


class IdField(_CharField):
    """A primary key such as `vrn_…`; migrations see a plain CharField and never import this module."""

    def __init__(self, prefix: str = "", **kwargs: Any) -> None:
        self.prefix = prefix
        kwargs |= {"max_length": ID_LENGTH, "primary_key": True, "editable": False, "serialize": False}
        if prefix:
            kwargs["default"] = partial(new_id, prefix)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """The plain CharField that the database holds."""
        name, _, args, kwargs = super().deconstruct()
        kwargs.pop("default", None)
        return name, "django.db.models.CharField", list(args), kwargs

    def clone(self) -> Any:
        """A copy for migration state, as `deconstruct` describes it."""
        _, _, args, kwargs = self.deconstruct()
        return models.CharField(*args, **kwargs)


class HashField(_CharField):
    """A `sha256:…` digest; migrations see a plain CharField."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs["max_length"] = HASH_LENGTH
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """The plain CharField that the database holds."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", list(args), kwargs


def hash_check(column: str, *, name: str) -> models.CheckConstraint:
    """The constraint that a column holds a digest in its one spelling (or nothing, if it may be null)."""
    return models.CheckConstraint(condition=models.Q(**{f"{column}__regex": HASH_REGEX}), name=name)


def key_check(column: str, *, name: str) -> models.CheckConstraint:
    """The constraint that a column holds a key as SPEC 1 spells it."""
    return models.CheckConstraint(condition=models.Q(**{f"{column}__regex": KEY_REGEX}), name=name)
