"""The shapes of documents, as the shipped schemas state them."""

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.strategies import contracts, hostile_values, leaves, with_leaf
from verification.engine.documents import KINDS, MAX_DOCUMENT_DEPTH, MAX_FINDINGS, shipped_schema, validate_document
from verification.engine.ids import KEY_PATTERN, PREFIXES
from verification.engine.reasons import Attribution, ReasonCode, Result


def found(kind: str, doc: object) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in validate_document(kind, doc)]


def example(name: str) -> Any:
    return json.loads((files("verification.engine") / "examples" / f"{name}.json").read_bytes())


@pytest.mark.parametrize("kind", [*KINDS, "terms"])
def test_every_shipped_schema_is_itself_valid(kind: str):
    schema = shipped_schema(kind)

    Draft202012Validator.check_schema(schema)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_object_of_our_own_schemas_says_which_members_it_has():
    open_objects = []

    def look(node: Any, place: str) -> None:
        if isinstance(node, dict):
            is_object = "object" in (node.get("type") or ()) and "properties" in node
            if is_object and node.get("additionalProperties") is not False and "allOf" not in node:
                open_objects.append(place)
            for name, child in node.items():
                look(child, f"{place}/{name}")
        elif isinstance(node, list):
            for index, child in enumerate(node):
                look(child, f"{place}/{index}")

    for kind in (*KINDS, "terms"):
        look(shipped_schema(kind), kind)

    assert open_objects == []


def test_the_words_of_the_schemas_are_those_of_the_engine():
    terms = shipped_schema("terms")["$defs"]

    assert terms["reasonCode"]["enum"] == [code.value for code in ReasonCode]
    assert terms["attribution"]["enum"] == [attribution.value for attribution in Attribution]
    assert terms["result"]["enum"] == [result.value for result in Result]
    assert terms["key"]["pattern"] == f"^{KEY_PATTERN}$"
    assert {term["pattern"][1:4] for name, term in terms.items() if name.endswith("Id")} <= set(PREFIXES)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("verifier-contract", "verifier-contract.sat"),
        ("verifier-contract", "verifier-contract.materials"),
        ("problem-revision", "problem-revision.sat"),
    ],
)
def test_the_canonical_examples_are_valid(kind: str, name: str):
    assert validate_document(kind, example(name)) == []


@settings(max_examples=40, deadline=None)
@given(contract=contracts())
def test_contracts_by_chance_are_valid(contract: dict[str, Any]):
    assert validate_document("verifier-contract", contract) == []


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(doc=hostile_values)
def test_any_value_is_judged_as_any_kind_of_document(kind: str, doc: Any):
    findings = validate_document(kind, doc)

    assert 1 <= len(findings) <= MAX_FINDINGS
    assert all(finding.message.isprintable() and len(finding.message) < 2000 for finding in findings)


@settings(max_examples=60, deadline=None)
@given(contract=contracts(), junk=hostile_values, data=st.data())
def test_a_contract_with_junk_in_any_place_is_judged(contract: dict[str, Any], junk: Any, data: st.DataObject):
    path = data.draw(st.sampled_from(leaves(contract)))

    findings = validate_document("verifier-contract", with_leaf(contract, path, junk))

    assert len(findings) <= MAX_FINDINGS


def test_an_unknown_kind_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="expected a kind of document"):
        validate_document("contract", {})


def test_findings_point_at_the_member_that_is_wrong():
    contract = example("verifier-contract.sat")
    del contract["score"]
    contract["note"] = "x"
    contract["stages"][0]["kind"] = "human"
    contract["reference_inputs"][0] |= {"key": "Instance", "max_bytes": 3.0}
    contract["reference_inputs"][0]["media_types"] = ["text/plain", "text/plain"]
    contract["reference_inputs"][0]["validator"] = {"builtin": "sat-instance", "runtime": "tfp-runtime/python:1"}

    assert set(found("verifier-contract", contract)) == {
        ("schema_required", "/score"),
        ("schema_additional_properties", "/note"),
        ("schema_enum", "/stages/0/kind"),
        ("schema_pattern", "/reference_inputs/0/key"),
        ("schema_type", "/reference_inputs/0/max_bytes"),
        ("schema_unique_items", "/reference_inputs/0/media_types/1"),
        ("schema_additional_properties", "/reference_inputs/0/validator/runtime"),
    }


def test_a_message_says_what_was_expected_and_what_was_found():
    contract = example("verifier-contract.sat")
    contract["stages"][0]["key"] = "Key\n" + "x" * 10_000

    (finding,) = validate_document("verifier-contract", contract)

    assert finding.message.startswith(
        'expected a key: a lower-case letter, then at most 62 of a-z, 0-9 and _; found "Key\\nxxx'
    )
    assert len(finding.message) < 250


@pytest.mark.parametrize("key", ["instance\n", "\u0131nstance", "instance ", "a" * 64])
def test_a_pattern_means_the_whole_text(key: str):
    contract = example("verifier-contract.sat")
    contract["reference_inputs"][0]["key"] = key

    assert found("verifier-contract", contract) == [("schema_pattern", "/reference_inputs/0/key")]


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"statement_md": "a\x00b"}, "control_character", "/statement_md"),
        ({"statement_md": "\ud800"}, "lone_surrogate", "/statement_md"),
        ({"version": 2**53}, "integer_range", "/version"),
        ({"stages": []}, "schema_min_items", "/stages"),
        ({"schema": "tfp.verifier-contract/v2"}, "schema_const", "/schema"),
        ({"statement_md": "x" * 100_001}, "schema_max_length", "/statement_md"),
        ({"published_at": "2026-13-01T00:00:00Z"}, "schema_pattern", "/published_at"),
        ({"published_at": "2026-01-01T00:00:00+01:00"}, "schema_pattern", "/published_at"),
        ({"id": "vfr_" + "0" * 26}, "schema_pattern", "/id"),
    ],
)
def test_a_contract_with_one_wrong_member_has_one_finding(change: dict[str, Any], code: str, pointer: str):
    assert found("verifier-contract", example("verifier-contract.sat") | change) == [(code, pointer)]


def test_a_published_contract_has_all_members_of_a_published_one():
    contract = example("verifier-contract.sat")
    del contract["normative_hash"]

    assert found("verifier-contract", contract) == [("schema_dependent_required", "/normative_hash")]


def test_the_deadline_of_an_external_stage_is_at_most_ninety_days():
    contract = example("verifier-contract.materials")
    contract["stages"][2]["deadline_s"] = 90 * 86_400 + 1

    assert found("verifier-contract", contract) == [("schema_maximum", "/stages/2/deadline_s")]


def test_size_and_depth_of_a_document_are_bounded():
    deep: Any = {}
    for _ in range(100_000):
        deep = [deep]
    large = [0] * 200_000

    assert found("package", {"schema": deep}) == [("too_deep", "/schema" + "/0" * (MAX_DOCUMENT_DEPTH - 1))]
    assert found("package", {"schema": large}) == [("too_large", "")]


def test_the_findings_of_a_document_with_countless_faults_are_capped():
    contract = example("verifier-contract.sat") | {f"x{number}": 1 for number in range(10_000)}

    listed = found("verifier-contract", contract)

    assert (len(listed), listed[-1]) == (MAX_FINDINGS, ("too_many_findings", ""))


def test_the_meant_alternative_is_the_one_that_is_explained():
    protocol = json.loads((files("reviews") / "examples" / "single_expert.json").read_bytes())
    protocol["steps"][0]["quorum"]["decisive"] = 0

    assert found("review-protocol", protocol) == [("schema_minimum", "/steps/0/quorum/decisive")]
