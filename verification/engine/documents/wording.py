"""The sentence for a JSON Schema error: what was expected, what was found, what to do; always bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from verification.engine.documents.findings import listed, shown

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_TYPES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number"),
    (str, "text"),
    (list, "an array"),
    (dict, "an object"),
)


def describe(error: ValidationError) -> str:
    """A sentence of our own; the library's would quote the whole, possibly hostile, value."""
    words = _SENTENCES.get(str(error.validator or "forbidden"))
    if words is not None:
        return words(error.validator_value, error)
    return f"the rule {shown(str(error.validator))} does not hold for {shown(error.instance)}"


def _kind(value: object) -> str:
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "null")


def _count(error: ValidationError) -> int:
    instance: Any = error.instance
    return len(instance)


def _unknown_member(_: Any, error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    known = sorted(schema.get("properties", {}))
    return f"unknown member; expected only {listed(known)}; remove it" if known else "unknown member; remove it"


def _no_match(value: Any, error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    # Our own schemas describe every pattern in words, which people read more easily than a regular expression.
    expected = schema.get("description") or f"text matching {value}"
    return f"expected {expected}; found {shown(error.instance)}"


def _types(value: Any, error: ValidationError) -> str:
    expected = " or ".join(value) if isinstance(value, list) else value
    return f"expected {expected}, found {_kind(error.instance)}"


_SENTENCES: Final[Mapping[str, Callable[[Any, ValidationError], str]]] = MappingProxyType(
    {
        "required": lambda _, __: "this member is missing; add it",
        "additionalProperties": _unknown_member,
        "dependentRequired": lambda _, __: "this member is missing, and goes with one that is present; add it",
        "type": _types,
        "pattern": _no_match,
        "enum": lambda value, error: f"expected one of {listed(value)}; found {shown(error.instance)}",
        "const": lambda value, error: f"expected {shown(value)}, found {shown(error.instance)}",
        "uniqueItems": lambda _, __: "this item stands in the list before; remove one of them",
        "minLength": lambda value, error: f"expected at least {value} characters, found {_count(error)}",
        "maxLength": lambda value, error: f"expected at most {value} characters, found {_count(error)}",
        "minItems": lambda value, error: f"expected at least {value} items, found {_count(error)}",
        "maxItems": lambda value, error: f"expected at most {value} items, found {_count(error)}",
        "minProperties": lambda value, error: f"expected at least {value} members, found {_count(error)}",
        "maxProperties": lambda value, error: f"expected at most {value} members, found {_count(error)}",
        "minimum": lambda value, error: f"expected at least {shown(value)}, found {shown(error.instance)}",
        "maximum": lambda value, error: f"expected at most {shown(value)}, found {shown(error.instance)}",
        "exclusiveMinimum": lambda value, error: f"expected more than {shown(value)}, found {shown(error.instance)}",
        "exclusiveMaximum": lambda value, error: f"expected less than {shown(value)}, found {shown(error.instance)}",
        "multipleOf": lambda value, error: f"expected a multiple of {shown(value)}, found {shown(error.instance)}",
        "forbidden": lambda _, __: "nothing is allowed here; remove it",
    }
)
