"""Declarative acceptance rules of external stages: closed, bounded, and decided by Kleene's three-valued logic."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from verification.engine.documents import (
    MAX_SAFE_INTEGER,
    Finding,
    capped,
    listed,
    pointer_to,
    shown,
    value_findings,
)
from verification.engine.reasons import Result

MAX_RULE_DEPTH: Final = 8
MAX_RULE_NODES: Final = 500
_MAX_CHOICES: Final = 100
_MAX_POINTER: Final = 500
_ORDER: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {"lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}
)
_OPERATORS: Final = ("eq", "ne", *_ORDER, "in", "exists")
_COMBINERS: Final = ("all", "any", "not")
_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_MISSING: Final = object()


class IllFormedRule(ValueError):
    """A rule that `rule_findings` would refuse was to decide something."""


def decide(rule: Mapping[str, Any], evidence: object) -> Result:
    """What the rule makes of the evidence: verified when true, refuted when false, inconclusive when unknown.

    `exists` is always true or false. Every other operator is unknown where the value is missing or of another type
    than the rule's. `all`, `any` and `not` combine as in Kleene's logic.

    Args:
        rule: one without findings.
        evidence: any JSON value.

    Raises:
        IllFormedRule: the rule has findings; it should never have been published.
    """
    findings = rule_findings(rule)
    if findings:
        first = findings[0]
        raise IllFormedRule(f"expected a rule without findings; at {first.pointer or 'its root'}: {first.message}")
    return {True: Result.VERIFIED, False: Result.REFUTED, None: Result.INCONCLUSIVE}[_truth(rule, evidence)]


def rule_findings(rule: object) -> list[Finding]:
    """Why this is no acceptance rule; empty when it is one. Total and bounded; pointers start at the rule."""
    # Each combiner adds a list and an object; `in` adds one list more.
    findings = value_findings(
        rule,
        max_depth=2 * MAX_RULE_DEPTH + 2,
        max_nodes=20 * MAX_RULE_NODES,
        refuse_controls=True,
        # As for evidence schemas: what a database's JSON column gives back unchanged.
        max_magnitude=MAX_SAFE_INTEGER,
    )
    return findings or capped(_all_findings(rule))


def _all_findings(rule: object) -> Iterator[Finding]:
    pending: list[tuple[object, tuple[str | int, ...], int]] = [(rule, (), 1)]
    nodes = 0
    while pending:
        node, path, depth = pending.pop()
        nodes += 1
        if nodes > MAX_RULE_NODES:
            yield Finding("acceptance_size", "", f"expected at most {MAX_RULE_NODES} conditions; simplify the rule")
            return
        if depth > MAX_RULE_DEPTH:
            message = f"expected at most {MAX_RULE_DEPTH} levels of all, any and not; flatten the rule"
            yield Finding("acceptance_depth", pointer_to(*path), message)
            continue
        combiner = next((name for name in _COMBINERS if isinstance(node, dict) and name in node), None)
        if not isinstance(node, dict):
            yield Finding("acceptance_shape", pointer_to(*path), f"expected an object, found {shown(node)}")
        elif combiner is None:
            yield from _comparison_findings(node, path)
        elif len(node) != 1:
            message = f"expected {combiner!r} alone, found {listed(sorted(node))}; nest one inside the other"
            yield Finding("acceptance_shape", pointer_to(*path), message)
        elif combiner == "not":
            pending.append((node["not"], (*path, "not"), depth + 1))
        elif not isinstance(node[combiner], list) or not node[combiner]:
            # An empty `all` would be true of everything.
            message = f"expected a list of at least one rule, found {shown(node[combiner])}"
            yield Finding("acceptance_empty", pointer_to(*path, combiner), message)
        else:
            rules = list(enumerate(node[combiner]))
            pending.extend((child, (*path, combiner, index), depth + 1) for index, child in reversed(rules))


def _comparison_findings(node: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Finding]:
    unknown = sorted(node.keys() - {"pointer", "op", "value"})
    if unknown:
        message = f"expected pointer, op and value, or one of all, any and not; found {listed(unknown)}"
        yield Finding("acceptance_shape", pointer_to(*path), message)
    pointer = node.get("pointer")
    if not isinstance(pointer, str) or len(pointer) > _MAX_POINTER or not _POINTER.fullmatch(pointer):
        message = f"expected an RFC 6901 pointer such as /phase/fraction, found {shown(pointer)}"
        yield Finding("acceptance_pointer", pointer_to(*path, "pointer"), message)
    op = node.get("op")
    if op not in _OPERATORS:
        message = f"expected one of {', '.join(_OPERATORS)}; found {shown(op)}"
        yield Finding("acceptance_operator", pointer_to(*path, "op"), message)
    else:
        problem = _value_problem(str(op), node.get("value", _MISSING))
        if problem is not None:
            yield Finding("acceptance_value", pointer_to(*path, "value"), problem)


def _value_problem(op: str, value: object) -> str | None:
    if op == "exists":
        return None if value is _MISSING or isinstance(value, bool) else f"expected true, false or nothing for {op}"
    if value is _MISSING:
        return f"expected a value to compare with for {op}; add one"
    if op in _ORDER:
        return None if _type_of(value) == "number" else f"expected a number for {op}, found {shown(value)}"
    if op == "in":
        if isinstance(value, list) and 1 <= len(value) <= _MAX_CHOICES and all(map(_type_of, value)):
            return None
        return f"expected a list of 1 to {_MAX_CHOICES} plain values for in, found {shown(value)}"
    return None if _type_of(value) else f"expected text, a number, true, false or null for {op}, found {shown(value)}"


def _truth(rule: Mapping[str, Any], evidence: object) -> bool | None:
    if "all" in rule:
        found = [_truth(child, evidence) for child in rule["all"]]
        return False if False in found else None if None in found else True
    if "any" in rule:
        found = [_truth(child, evidence) for child in rule["any"]]
        return True if True in found else None if None in found else False
    if "not" in rule:
        inner = _truth(rule["not"], evidence)
        return None if inner is None else not inner
    return _comparison(rule["op"], rule.get("value", True), _resolve(evidence, rule["pointer"]))


def _comparison(op: str, expected: Any, found: Any) -> bool | None:
    if op == "exists":
        return (found is not _MISSING) is expected
    if op == "in":
        comparable = [choice for choice in expected if _type_of(choice) == _type_of(found)]
        return any(found == choice for choice in comparable) if comparable else None
    if _type_of(found) is None or _type_of(found) != _type_of(expected):
        return None
    if op in _ORDER:
        return _ORDER[op](found, expected)
    return bool(found == expected) if op == "eq" else bool(found != expected)


def _type_of(value: object) -> str | None:
    """The JSON type of a plain value; None for containers, for what is missing, and for what is no JSON number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "number"
    if isinstance(value, float):
        return "number" if value - value == 0 else None
    return "string" if isinstance(value, str) else None


def _resolve(evidence: object, pointer: str) -> Any:
    node = evidence
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(name, _MISSING)
        elif isinstance(node, list) and _INDEX.fullmatch(name) and int(name) < len(node):
            node = node[int(name)]
        else:
            return _MISSING
    return node
