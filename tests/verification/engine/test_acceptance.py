"""Acceptance rules: their bounds, their operators and the laws of Kleene's logic."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import evidence_values, hostile_values, rules
from verification.engine.acceptance import MAX_RULE_DEPTH, MAX_RULE_NODES, IllFormedRule, decide, rule_findings
from verification.engine.reasons import Result

TRUE = {"pointer": "", "op": "exists"}
FALSE = {"not": TRUE}
UNKNOWN = {"pointer": "/absent", "op": "eq", "value": 1}
V, R, I = Result.VERIFIED, Result.REFUTED, Result.INCONCLUSIVE  # noqa: E741
NEGATED = {V: R, R: V, I: I}
# As numbers, all is the least and any the greatest, and not turns the scale round.
RANK = {R: 0, I: 1, V: 2}


def compare(op: str, value: Any, found: Any) -> Result:
    return decide({"pointer": "/a", "op": op, "value": value}, {"a": found})


@settings(deadline=None)
@given(rule=rules(), evidence=evidence_values)
def test_every_rule_decides_and_not_turns_it_round(rule: dict[str, Any], evidence: Any):
    assert rule_findings(rule) == []
    assert decide({"not": rule}, evidence) == NEGATED[decide(rule, evidence)]


@settings(deadline=None)
@given(children=st.lists(rules(), min_size=1, max_size=4), evidence=evidence_values)
def test_all_is_the_least_and_any_the_greatest_of_its_parts(children: list[dict[str, Any]], evidence: Any):
    ranks = [RANK[decide(child, evidence)] for child in children]

    assert RANK[decide({"all": children}, evidence)] == min(ranks)
    assert RANK[decide({"any": children}, evidence)] == max(ranks)


@settings(deadline=None)
@given(children=st.lists(rules(), min_size=1, max_size=4), evidence=evidence_values, data=st.data())
def test_the_order_of_parts_does_not_matter(children: list[dict[str, Any]], evidence: Any, data: st.DataObject):
    other = data.draw(st.permutations(children))

    assert decide({"all": other}, evidence) == decide({"all": children}, evidence)
    assert decide({"any": other}, evidence) == decide({"any": children}, evidence)


@settings(deadline=None)
@given(children=st.lists(rules(), min_size=1, max_size=4), evidence=evidence_values)
def test_de_morgan_holds(children: list[dict[str, Any]], evidence: Any):
    inverted = {"any": [{"not": child} for child in children]}

    assert decide({"not": {"all": children}}, evidence) == decide(inverted, evidence)


@pytest.mark.parametrize(
    ("first", "second", "both", "either"),
    [
        (TRUE, TRUE, V, V),
        (TRUE, FALSE, R, V),
        (TRUE, UNKNOWN, I, V),
        (FALSE, FALSE, R, R),
        (FALSE, UNKNOWN, R, I),
        (UNKNOWN, UNKNOWN, I, I),
    ],
)
def test_the_table_of_kleene(first: dict[str, Any], second: dict[str, Any], both: Result, either: Result):
    assert (decide({"all": [first, second]}, {}), decide({"any": [first, second]}, {})) == (both, either)


@settings(deadline=None)
@given(evidence=hostile_values, rule=rules())
def test_any_evidence_is_decided(evidence: Any, rule: dict[str, Any]):
    assert decide(rule, evidence) in {V, R, I}


@pytest.mark.parametrize(
    ("op", "value", "found", "expected"),
    [
        ("eq", 1, 1, V),
        ("eq", 1, 1.0, V),
        ("eq", 1, 2, R),
        ("eq", 1, "1", I),
        ("eq", 1, True, I),
        ("eq", True, 1, I),
        ("eq", None, None, V),
        ("eq", 0, None, I),
        ("eq", "x", "x", V),
        ("eq", "x", ["x"], I),
        ("ne", "x", "y", V),
        ("ne", "x", "x", R),
        ("ne", "x", 1, I),
        ("lt", 2, 1, V),
        ("lt", 2, 2, R),
        ("lte", 2, 2, V),
        ("gt", 2, 2.5, V),
        ("gte", 2, 2, V),
        ("gte", 2, "3", I),
        ("gte", 2, True, I),
        ("gte", 2, float("nan"), I),
        ("gte", 0.1, 0.1, V),
        ("in", ["x", 1], "x", V),
        ("in", ["x", 1], 1, V),
        ("in", ["x", 1], 2, R),
        ("in", ["x", 1], None, I),
        ("in", [1], True, I),
        ("exists", True, None, V),
        ("exists", False, None, R),
    ],
)
def test_operators_compare_within_one_type(op: str, value: Any, found: Any, expected: Result):
    assert compare(op, value, found) == expected


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "lte", "gt", "gte"])
def test_a_missing_value_is_unknown_and_never_decides(op: str):
    assert decide({"pointer": "/b", "op": op, "value": 1}, {"a": 1}) == I
    assert decide({"pointer": "/b", "op": "in", "value": [1]}, {"a": 1}) == I
    assert decide({"pointer": "/b", "op": "exists"}, {"a": 1}) == R


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("/foo/0", V),
        ("/foo/1", V),
        ("/foo/2", R),
        ("/foo/-", R),
        ("/foo/00", R),
        ("/foo/01", R),
        ("/foo/+1", R),
        ("/foo/\u0660", R),
        ("/", V),
        ("/a~1b", V),
        ("/c%d", V),
        ("/m~0n", V),
        ("/~01", V),
        ("/foo/0/x", R),
        ("/m", R),
        ("", V),
    ],
)
def test_pointers_follow_rfc_6901(pointer: str, expected: Result):
    evidence = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "~1": 9}

    assert decide({"pointer": pointer, "op": "exists"}, evidence) == expected


def _nested(depth: int) -> dict[str, Any]:
    rule: dict[str, Any] = TRUE
    for _ in range(depth - 1):
        rule = {"not": rule}
    return rule


@pytest.mark.parametrize(
    ("rule", "code", "pointer"),
    [
        (None, "acceptance_shape", ""),
        ([], "acceptance_shape", ""),
        ({"all": [TRUE], "any": [TRUE]}, "acceptance_shape", ""),
        ({"all": [TRUE], "note": "x"}, "acceptance_shape", ""),
        ({**UNKNOWN, "note": "x"}, "acceptance_shape", ""),
        ({"any": [TRUE, 7]}, "acceptance_shape", "/any/1"),
        ({"all": []}, "acceptance_empty", "/all"),
        ({"any": {}}, "acceptance_empty", "/any"),
        ({"op": "exists"}, "acceptance_pointer", "/pointer"),
        ({"pointer": "a", "op": "exists"}, "acceptance_pointer", "/pointer"),
        ({"pointer": "/a~2", "op": "exists"}, "acceptance_pointer", "/pointer"),
        ({"pointer": "/" + "a" * 500, "op": "exists"}, "acceptance_pointer", "/pointer"),
        ({"pointer": "/a", "op": "matches", "value": "x"}, "acceptance_operator", "/op"),
        ({"pointer": "/a", "value": "x"}, "acceptance_operator", "/op"),
        ({"pointer": "/a", "op": "eq"}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "eq", "value": []}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "lt", "value": "3"}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "lt", "value": True}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "in", "value": []}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "in", "value": [[1]]}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "in", "value": list(range(101))}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "exists", "value": 1}, "acceptance_value", "/value"),
        ({"pointer": "/a", "op": "eq", "value": 1e30}, "number_range", "/value"),
        ({"pointer": "/a", "op": "eq", "value": 2**53}, "integer_range", "/value"),
        (_nested(MAX_RULE_DEPTH + 1), "acceptance_depth", "/not" * MAX_RULE_DEPTH),
        ({"all": [TRUE] * MAX_RULE_NODES}, "acceptance_size", ""),
    ],
)
def test_what_is_no_rule_is_refused_where_it_is_wrong(rule: Any, code: str, pointer: str):
    assert [(found.code, found.pointer) for found in rule_findings(rule)] == [(code, pointer)]


def test_a_rule_at_the_limits_is_one():
    assert rule_findings(_nested(MAX_RULE_DEPTH)) == []
    assert rule_findings({"all": [TRUE] * (MAX_RULE_NODES - 1)}) == []


@settings(deadline=None)
@given(rule=hostile_values)
def test_any_value_is_judged_as_a_rule(rule: Any):
    findings = rule_findings(rule)

    if findings:
        with pytest.raises(IllFormedRule):
            decide(rule, {})
    else:
        assert decide(rule, {}) in {V, R, I}
