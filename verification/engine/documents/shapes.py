"""Whether a document has the shape its JSON Schema states, told in findings that a form can place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from verification.engine.documents.evidence_schemas import evidence_schema_findings, weight_of
from verification.engine.documents.findings import Finding, capped, pointer_to
from verification.engine.documents.reading import canonical_bytes, size_of, value_findings
from verification.engine.documents.wording import describe

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

KINDS: Final = (
    "verifier",
    "verifier-contract",
    "verifier-implementation",
    "verification-run",
    "review-protocol",
    "problem-revision",
    "manifest",
    "result",
    "package",
)
# The words that several schemas share; not a kind of document.
_SHARED: Final = "terms"
# Visits of one subschema to one value. About five seconds on a slow machine, and far above any honest evidence.
_MAX_WORK: Final = 500_000


def validate_document(kind: str, doc: object) -> list[Finding]:
    """Why `doc` is no document of this kind, as far as its own text can tell; empty when it is one.

    Total and bounded: any Python value gives an answer, at most MAX_FINDINGS long.

    Raises:
        ValueError: no such kind; see KINDS.
    """
    if kind not in KINDS:
        raise ValueError(f"expected a kind of document ({', '.join(KINDS)}), found {kind!r}")
    # What JSON cannot hold, or a database column cannot keep, is refused before any schema looks at it.
    findings = value_findings(doc, refuse_controls=True)
    return findings or _schema_findings(_shipped_validator(kind), doc)


def validate_against(schema: object, doc: object) -> list[Finding]:
    """Why `doc` does not satisfy a Contract's evidence schema; empty when it does.

    Total and bounded for any schema and any value: a schema that a Contract may not carry is itself the finding, and
    a document that would take more than a fixed number of steps is `too_large`. A number such as 3.0 is an integer
    here, as JSON Schema has it; in TfP's own documents it is not.
    """
    findings = evidence_schema_findings(schema)
    if findings:
        return findings
    findings = value_findings(doc)
    if findings:
        return findings
    validator, weight = _evidence_validator(canonical_bytes(schema))
    if weight * size_of(doc) > _MAX_WORK:
        message = "expected a document that this schema can check in bounded time; send a smaller one"
        return [Finding("too_large", "", message)]
    return _schema_findings(validator, doc)


def shipped_schema(kind: str) -> dict[str, Any]:
    """A fresh copy of the JSON Schema of a kind of document, or of the `terms` that they share.

    Raises:
        ValueError: no such schema.
    """
    if kind not in (*KINDS, _SHARED):
        raise ValueError(f"expected one of {', '.join((*KINDS, _SHARED))}, found {kind!r}")
    text = (files("verification.engine") / "schemas" / f"{kind}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _schema_findings(validator: Draft202012Validator, doc: object) -> list[Finding]:
    try:
        return capped(_told(validator.iter_errors(doc)))
    except RecursionError:
        # The depth limits keep us far from this; a caller deep in its own stack may still get here.
        return [Finding("too_deep", "", "expected a document with less nesting; flatten it")]


def _told(errors: Iterable[ValidationError]) -> Iterator[Finding]:
    for error in errors:
        if error.validator in {"anyOf", "oneOf"} and error.context:
            yield from _told(_meant_branch(error.context))
            continue
        keyword = error.validator if isinstance(error.validator, str) else "forbidden"
        yield Finding(f"schema_{_snake(keyword)}", pointer_to(*error.absolute_path), describe(error))


def _meant_branch(context: Iterable[ValidationError]) -> list[ValidationError]:
    """The errors of the alternative that the author most likely meant: its fixed words fit, its errors are few."""
    branches: dict[object, list[ValidationError]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)
    return min(branches.values(), key=lambda errors: (sum(map(_is_about_the_kind, errors)), len(errors)))


def _is_about_the_kind(error: ValidationError) -> bool:
    depth = len(error.path)
    return (depth == 0 and error.validator == "type") or (depth == 1 and error.validator in {"const", "enum"})


def _snake(keyword: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", keyword).lower()


@lru_cache(maxsize=len(KINDS))
def _shipped_validator(kind: str) -> Draft202012Validator:
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    shared = DRAFT202012.create_resource(shipped_schema(_SHARED))
    registry = Registry().with_resource("urn:tfp:schema:terms", shared)
    return _validator_class(strict_integers=True)(shipped_schema(kind), registry=registry)


@lru_cache(maxsize=256)
def _evidence_validator(canonical_schema: bytes) -> tuple[Draft202012Validator, int]:
    schema = json.loads(canonical_schema)
    return _validator_class(strict_integers=False)(schema), weight_of(schema)


@lru_cache(maxsize=2)
def _validator_class(*, strict_integers: bool) -> type[Draft202012Validator]:
    # Imported on first use: a tenth of a second that `tfp` should not pay to print its help.
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    checker = Draft202012Validator.TYPE_CHECKER
    if strict_integers:
        # 3.0 hashes like 3; the stored column would give back the one where the document had the other.
        checker = checker.redefine("integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool))
    # The stubs leave `extend` untyped; it returns a class like the one it is given.
    extended: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        validators={
            "properties": _properties,
            "required": _required,
            "dependentRequired": _dependent_required,
            "additionalProperties": _additional_properties,
            "pattern": _pattern,
            "uniqueItems": _unique_items,
        },
        type_checker=checker,
    )
    return extended


def _properties(
    validator: Any, properties: Mapping[str, Any], instance: object, _: object
) -> Iterator[ValidationError]:
    """As the standard keyword, but a member whose schema is false is itself pointed at, not the object around it."""
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    for name, schema in properties.items():
        if name in instance and schema is False:
            yield ValidationError("forbidden", path=[name], validator="forbidden", instance=instance[name])
        elif name in instance:
            yield from validator.descend(instance[name], schema, path=name, schema_path=name)


def _required(_: object, names: Iterable[str], instance: object, __: object) -> Iterator[ValidationError]:
    """As the standard keyword, but each error points at the missing member itself."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield ValidationError("missing", path=[name])


def _dependent_required(
    _: object, companions: Mapping[str, Iterable[str]], instance: object, __: object
) -> Iterator[ValidationError]:
    """As the standard keyword, but each error points at the missing member itself."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, dict):
        for name, needed in companions.items():
            if name in instance:
                yield from (ValidationError("missing", path=[other]) for other in needed if other not in instance)


def _additional_properties(
    validator: Any, allowed: Any, instance: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """As the standard keyword, but one error for each unknown member, pointing at it."""
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    for name in instance:
        if name in known:
            continue
        if allowed is False:
            yield ValidationError("unknown", path=[name])
        else:
            yield from validator.descend(instance[name], allowed, path=name)


def _pattern(_: object, pattern: str, instance: object, __: object) -> Iterator[ValidationError]:
    """As the standard keyword in ECMA-262: `$` is the end of the text, not also a place before a last line feed."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError("no match")


def _unique_items(_: object, wanted: bool, instance: object, __: object) -> Iterator[ValidationError]:
    """As the standard keyword, in time linear in the document: equal JSON values have equal canonical bytes."""
    from jsonschema.exceptions import ValidationError

    if not wanted or not isinstance(instance, list):
        return
    seen: set[bytes] = set()
    for index, item in enumerate(instance):
        spelling = canonical_bytes(item)
        if spelling in seen:
            yield ValidationError("repeated", path=[index])
        seen.add(spelling)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)
