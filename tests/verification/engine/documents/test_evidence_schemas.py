"""Which schemas a Contract may carry for evidence, and how evidence is judged by them."""

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from tests.strategies import hostile_values, json_values
from verification.engine.documents import MAX_FINDINGS, evidence_schema_findings, validate_against


def example(name: str) -> Any:
    return json.loads((files("verification.engine") / "examples" / f"{name}.json").read_bytes())


def doubling(levels: int) -> dict[str, Any]:
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": twice | {f"a{levels}": {"type": "integer"}}}


def chain(length: int) -> dict[str, Any]:
    links = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(length)}
    return {"$ref": "#/$defs/a0", "$defs": links | {f"a{length}": {}}}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "code", "pointer"),
    [
        ([], "evidence_schema_type", ""),
        (True, "evidence_schema_type", ""),
        ({"type": "text"}, "evidence_schema_invalid", "/type"),
        ({"required": "a"}, "evidence_schema_invalid", "/required"),
        ({"properties": {"a": {"minimum": "0"}}}, "evidence_schema_invalid", "/properties/a/minimum"),
        ({"pattern": "(a+)+$"}, "evidence_schema_keyword", "/pattern"),
        ({"properties": {"a": {"pattern": "x"}}}, "evidence_schema_keyword", "/properties/a/pattern"),
        ({"patternProperties": {"^a": {}}}, "evidence_schema_keyword", "/patternProperties"),
        ({"items": {"format": "date"}}, "evidence_schema_keyword", "/items/format"),
        ({"requird": ["a"]}, "evidence_schema_keyword", "/requird"),
        ({"$dynamicRef": "#a"}, "evidence_schema_keyword", "/$dynamicRef"),
        ({"$id": "https://a.example/s"}, "evidence_schema_keyword", "/$id"),
        ({"unevaluatedProperties": False}, "evidence_schema_keyword", "/unevaluatedProperties"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "evidence_schema_dialect", "/$schema"),
        ({"$ref": "https://a.example/s"}, "evidence_schema_reference", "/$ref"),
        ({"$ref": "#"}, "evidence_schema_reference", "/$ref"),
        ({"$ref": "#/properties/a", "properties": {"a": {}}}, "evidence_schema_reference", "/$ref"),
        ({"$ref": "#/$defs/b", "$defs": {"a": {}}}, "evidence_schema_reference", "/$ref"),
        ({"$ref": "#/$defs/a/items", "$defs": {"a": {"items": {}}}}, "evidence_schema_reference", "/$ref"),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "evidence_schema_circle", "/$defs"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
            "evidence_schema_circle",
            "/$defs",
        ),
        (chain(9), "evidence_schema_chain", "/$defs"),
        (chain(600), "evidence_schema_chain", "/$defs"),
        (doubling(7) | {"allOf": [{"$ref": "#/$defs/a0"}] * 5}, "evidence_schema_weight", ""),
        ({"description": "x" * 40_000}, "evidence_schema_size", ""),
        ({"maximum": 1e300}, "number_range", "/maximum"),
        (nested(16), "too_deep", "/not" * 16),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_evidence_schema_is_a_bounded_part_of_the_language(schema: Any, code: str, pointer: str):
    assert [(f.code, f.pointer) for f in evidence_schema_findings(schema)] == [(code, pointer)]


def test_the_finding_on_a_regular_expression_says_why_and_what_to_do():
    (finding,) = evidence_schema_findings({"pattern": "(a+)+$"})

    assert finding.message == (
        '"pattern" is not allowed here: regular expressions are not run on evidence, since one can take for ever; '
        "use enum or maxLength"
    )


@pytest.mark.parametrize("schema", [{}, nested(15), chain(7), doubling(6)], ids=["empty", "deep", "chain", "doubling"])
def test_an_evidence_schema_at_the_limits_is_accepted(schema: Any):
    assert evidence_schema_findings(schema) == []


def test_words_in_the_places_of_names_are_no_keywords():
    schema = {
        "properties": {"pattern": {"type": "string"}, "format": {"enum": [{"$ref": "x"}]}, "$ref": {}},
        "required": ["pattern", "$ref"],
        "default": {"format": "date"},
    }

    assert evidence_schema_findings(schema) == []
    assert validate_against(schema, {"pattern": "a", "$ref": 1}) == []


@settings(deadline=None)
@given(schema=hostile_values, doc=hostile_values)
def test_any_schema_and_any_value_give_an_answer(schema: Any, doc: Any):
    findings = validate_against(schema, doc)

    assert len(findings) <= MAX_FINDINGS


@settings(deadline=None)
@given(doc=hostile_values)
def test_any_evidence_is_judged_by_the_schema_of_the_sat_contract(doc: Any):
    schema = example("verifier-contract.sat")["stages"][0]["evidence_schema"]

    assert validate_against(schema, doc) != []


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ({"clauses_total": 6, "clauses_satisfied": 6}, []),
        ({"clauses_total": 6.0, "clauses_satisfied": 6}, []),
        ({"clauses_total": 6}, [("schema_required", "/clauses_satisfied")]),
        ({"clauses_total": True, "clauses_satisfied": 6}, [("schema_type", "/clauses_total")]),
        ({"clauses_total": -1, "clauses_satisfied": 6}, [("schema_minimum", "/clauses_total")]),
        ({"clauses_total": 6, "clauses_satisfied": 6, "x": 1}, [("schema_additional_properties", "/x")]),
    ],
)
def test_evidence_is_judged_by_its_schema(doc: Any, expected: list[tuple[str, str]]):
    schema = example("verifier-contract.sat")["stages"][0]["evidence_schema"]

    assert [(f.code, f.pointer) for f in validate_against(schema, doc)] == expected


@settings(deadline=None)
@given(doc=json_values)
def test_our_reading_of_a_schema_agrees_with_the_plain_validator(doc: Any):
    schema = {
        "type": ["object", "array", "number", "string"],
        "uniqueItems": True,
        "required": ["a"],
        "properties": {"a": {"anyOf": [{"type": "integer"}, {"const": "x"}]}},
        "additionalProperties": {"type": ["number", "null"]},
        "items": {"oneOf": [{"type": "number"}, {"type": "integer"}, {"maxLength": 3, "type": "string"}]},
    }

    assert (validate_against(schema, doc) == []) is Draft202012Validator(schema).is_valid(doc)


def test_evidence_that_would_take_too_long_is_refused_before_it_is_checked():
    schema = {"items": {"anyOf": [{"const": number} for number in range(100)]}}

    assert [f.code for f in validate_against(schema, [-1] * 20_000)] == ["too_large"]
    assert validate_against(schema, [7] * 1000) == []


def test_repeated_items_are_found_without_comparing_every_pair():
    schema = {"uniqueItems": True}
    distinct = [{"a": number} for number in range(20_000)]

    assert validate_against(schema, distinct) == []
    assert [f.pointer for f in validate_against(schema, [*distinct, {"a": 5}])] == ["/20000"]
    assert validate_against(schema, [1, True, "1", [1]]) == []
