"""Which JSON Schemas a Contract may carry for evidence: a closed, bounded part of 2020-12."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from verification.engine.documents.findings import Finding, capped, listed, pointer_to, shown
from verification.engine.documents.reading import MAX_SAFE_INTEGER, canonical_bytes, value_findings

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_BYTES: Final = 32_768
MAX_SCHEMA_DEPTH: Final = 16
# Subschemas that may look at one value once every reference is followed; references can double at each step.
MAX_SCHEMA_WEIGHT: Final = 1_000
_MAX_REFERENCE_CHAIN: Final = 8
_REFERENCE_PREFIX: Final = "#/$defs/"

_ONE: Final = frozenset({"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames"})
_LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP: Final = frozenset({"properties", "$defs", "dependentSchemas"})
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
_PLAIN: Final = frozenset(
    {"$ref", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}
    | {"maxLength", "minLength", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains"}
    | {"maxProperties", "minProperties", "required", "dependentRequired"}
)
ALLOWED_KEYWORDS: Final = _ONE | _LIST | _MAP | _PLAIN | _ANNOTATIONS
_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pattern": "regular expressions are not run on evidence, since one can take for ever; use enum or maxLength",
        "patternProperties": "regular expressions are not run on evidence, since one can take for ever; use properties",
        "format": "formats are annotations that different readers check differently; use enum, const or maxLength",
        "$dynamicRef": "only references to #/$defs/… are followed",
        "$id": "a schema inside a Contract has no address of its own",
        "$anchor": "only references to #/$defs/… are followed",
    }
)


def evidence_schema_findings(schema: object) -> list[Finding]:
    """Why a Contract may not carry this evidence schema; empty when it may. Total and bounded.

    Refused are: anything that is not a valid 2020-12 object schema, more than 32 KiB or 16 levels, references other
    than to `#/$defs/…`, references in a circle or that multiply, regular expressions, formats, and every keyword
    outside ALLOWED_KEYWORDS: a keyword that nothing reads is a rule that nothing checks. Numbers stay below 2^53,
    where a JSON column of a database gives back what was put in.
    """
    findings = value_findings(
        schema,
        max_depth=MAX_SCHEMA_DEPTH,
        max_nodes=10_000,
        refuse_controls=True,
        max_magnitude=MAX_SAFE_INTEGER,
    )
    if findings:
        return findings
    if not isinstance(schema, dict):
        return [Finding("evidence_schema_type", "", f"expected a JSON Schema object, found {shown(schema)}")]
    spelling = canonical_bytes(schema)
    if len(spelling) > MAX_SCHEMA_BYTES:
        message = f"expected at most {MAX_SCHEMA_BYTES} bytes of schema, found {len(spelling)}; shorten it"
        return [Finding("evidence_schema_size", "", message)]
    return list(_findings_of_spelling(spelling))


# Every check of a Contract and of its evidence comes by here with the same few schemas.
@lru_cache(maxsize=256)
def _findings_of_spelling(spelling: bytes) -> tuple[Finding, ...]:
    schema = json.loads(spelling)
    return tuple(
        capped(_keyword_findings(schema))
        or capped(_metaschema_findings(schema))
        or capped(_reference_findings(schema))
        or _weight_findings(schema)
    )


def weight_of(schema: dict[str, Any]) -> int:
    """How many subschemas may visit one value, references followed; needs a schema without reference circles."""
    weights: dict[str, int] = {}

    def weigh(node: object) -> int:
        if not isinstance(node, dict):
            return 1
        total = 1 + sum(weigh(child) for step, child in _children(node) if step[0] != "$defs")
        target = node.get("$ref")
        if isinstance(target, str):
            if target not in weights:
                weights[target] = weigh(_resolve(schema, target))
            total += weights[target]
        # Doubling at each of hundreds of steps gives numbers nobody needs.
        return min(total, 10 * MAX_SCHEMA_WEIGHT)

    return weigh(schema)


def _children(node: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Every direct subschema with its path; works on any JSON object, valid schema or not."""
    for keyword, value in node.items():
        if keyword in _ONE:
            yield (keyword,), value
        elif keyword in _LIST and isinstance(value, list):
            yield from (((keyword, index), child) for index, child in enumerate(value))
        elif keyword in _MAP and isinstance(value, dict):
            yield from (((keyword, name), child) for name, child in value.items())


def _subschemas(schema: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    pending: list[tuple[tuple[str | int, ...], object]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            yield path, node
            pending.extend((path + step, child) for step, child in reversed(list(_children(node))))


def _keyword_findings(schema: dict[str, Any]) -> Iterator[Finding]:
    for path, node in _subschemas(schema):
        for keyword, value in node.items():
            pointer = pointer_to(*path, keyword)
            if keyword not in ALLOWED_KEYWORDS:
                reason = _REASONS.get(keyword, "a keyword that nothing reads is a rule that nothing checks; remove it")
                yield Finding("evidence_schema_keyword", pointer, f"{shown(keyword)} is not allowed here: {reason}")
            elif keyword == "$schema" and value != DIALECT:
                message = f"expected {DIALECT} or nothing, found {shown(value)}"
                yield Finding("evidence_schema_dialect", pointer, message)
            elif keyword == "$ref" and not (isinstance(value, str) and value.startswith(_REFERENCE_PREFIX)):
                message = f"expected a reference to #/$defs/… in the same schema, found {shown(value)}"
                yield Finding("evidence_schema_reference", pointer, message)


def _metaschema_findings(schema: dict[str, Any]) -> Iterator[Finding]:
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema):
        message = f"this is no valid JSON Schema 2020-12: {shown(str(error.validator))} does not hold here"
        yield Finding("evidence_schema_invalid", pointer_to(*error.absolute_path), message)


def _reference_findings(schema: dict[str, Any]) -> Iterator[Finding]:
    edges: dict[str, set[str]] = {}
    for path, node in _subschemas(schema):
        target = node.get("$ref")
        if not isinstance(target, str):
            continue
        if _resolve(schema, target) is None:
            message = f"expected a name under $defs, found {shown(target)}; define it or remove the reference"
            yield Finding("evidence_schema_reference", pointer_to(*path, "$ref"), message)
            continue
        source = f"{_REFERENCE_PREFIX}{path[1]}" if path[:1] == ("$defs",) else "#"
        edges.setdefault(source, set()).add(target)
    left, rounds = _without_leaves(edges)
    if left:
        message = f"expected references without circles, found {listed(left)}; write the nesting out"
        yield Finding("evidence_schema_circle", "/$defs", message)
    elif rounds > _MAX_REFERENCE_CHAIN:
        message = f"expected at most {_MAX_REFERENCE_CHAIN} references in a chain, found {rounds}; write some out"
        yield Finding("evidence_schema_chain", "/$defs", message)


def _resolve(schema: dict[str, Any], target: str) -> object | None:
    definitions = schema.get("$defs")
    name = target.removeprefix(_REFERENCE_PREFIX)
    # One plain name only: a pointer further into a definition, or an escaped one, could hide a circle from the search.
    if not isinstance(definitions, dict) or "/" in name or "~" in name or "%" in name:
        return None
    return definitions.get(name)


def _without_leaves(edges: Mapping[str, set[str]]) -> tuple[list[str], int]:
    """What is left when leaves are taken away round after round: references on or before a circle; and the rounds."""
    left, rounds = dict(edges), 0
    while True:
        leaves = [source for source, targets in left.items() if targets.isdisjoint(left)]
        if not leaves:
            return sorted(left), rounds
        rounds += 1
        for leaf in leaves:
            del left[leaf]


def _weight_findings(schema: dict[str, Any]) -> list[Finding]:
    weight = weight_of(schema)
    if weight <= MAX_SCHEMA_WEIGHT:
        return []
    message = (
        f"expected at most {MAX_SCHEMA_WEIGHT} subschemas once references are followed, found more; "
        "use fewer references or fewer alternatives"
    )
    return [Finding("evidence_schema_weight", "", message)]
