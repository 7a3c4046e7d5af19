"""The rules over the bindings of a revision under their Contract."""

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import bindings, contracts, hostile_values
from verification.engine.documents import MAX_FINDINGS
from verification.engine.plan import binding_findings

HASH = "sha256:" + "a" * 64


def example(name: str) -> Any:
    return json.loads((files("verification.engine") / "examples" / f"{name}.json").read_bytes())


CONTRACT = example("verifier-contract.sat")


def binding(**change: Any) -> dict[str, Any]:
    return example("problem-revision.sat")["verifier_input_bindings"][0] | change


def found(contract: dict[str, Any], bound: Any) -> list[tuple[str, str]]:
    return [
        (finding.code, finding.pointer.removeprefix("/verifier_input_bindings"))
        for finding in binding_findings(contract, bound)
    ]


def contract_with(slot: dict[str, Any], **stage: Any) -> dict[str, Any]:
    contract = example("verifier-contract.sat")
    contract["reference_inputs"][0] |= slot
    contract["stages"][0] |= stage
    return contract


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_inv_10_bindings_by_chance_keep_every_rule(data: st.DataObject):
    contract = data.draw(contracts())

    assert found(contract, data.draw(bindings(contract))) == []


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_inv_10_every_required_slot_that_is_left_out_is_named(data: st.DataObject):
    contract = data.draw(contracts())
    required = [slot["key"] for slot in contract["reference_inputs"] if slot["required"]]

    assert found(contract, []) == [("binding_missing", f"/{key}") for key in required]


LINK = {"kind": "linked", "url": "https://files.example/instance.cnf"}


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ([binding()], []),
        ([], [("binding_missing", "/instance")]),
        ([binding(), binding()], [("binding_repeated", "/instance")]),
        ([binding(), binding(key="hint")], [("binding_unknown_slot", "/hint")]),
        ([binding(media_type="text/csv")], [("binding_media_type", "/instance/media_type")]),
        ([binding(size_bytes=10_485_760)], []),
        ([binding(size_bytes=10_485_761)], [("binding_size", "/instance/size_bytes")]),
        ([binding(**LINK)], [("binding_must_be_stored", "/instance/kind")]),
        ([binding(commitment=HASH)], [("binding_commitment_unexpected", "/instance/commitment")]),
        (
            [binding(kind="linked", url="http://files.example/x")],
            [("binding_link_not_https", "/instance/url"), ("binding_must_be_stored", "/instance/kind")],
        ),
        ([binding(kind="linked")], [("schema_type", "/0/url")]),
        ([binding(size_bytes=None)], [("schema_type", "/0/size_bytes")]),
        ({}, [("schema_type", "")]),
        ([7], [("schema_type", "/0")]),
    ],
)
def test_inv_10_a_broken_rule_names_the_slot(bound: Any, expected: list[tuple[str, str]]):
    assert found(CONTRACT, bound) == expected


@pytest.mark.parametrize(
    "contract",
    [
        contract_with({}, optional_reference_slots=["instance"]),
        contract_with({}, reference_input_slots=[]),
        contract_with({"required": False}),
    ],
    ids=["optional for the stage", "not selected", "not required"],
)
def test_a_slot_may_be_linked_where_no_stage_must_have_its_bytes(contract: dict[str, Any]):
    assert found(contract, [binding(**LINK)]) == []


def test_a_stage_that_names_no_slots_must_have_them_all():
    contract = contract_with({}, reference_input_slots=None)

    assert found(contract, [binding(**LINK)]) == [("binding_must_be_stored", "/instance/kind")]


def test_inv_17_a_sealed_slot_is_never_linked():
    contract = contract_with({"sealed": True, "required": False})

    assert found(contract, [binding(**LINK)]) == [("binding_sealed_linked", "/instance/kind")]


def test_a_sealed_binding_may_hide_its_hash_and_size_behind_a_commitment():
    contract = contract_with({"sealed": True, "max_bytes": 10})

    hidden = found(contract, [binding(commitment=HASH, content_hash=None, size_bytes=None)])

    assert hidden == []
    assert found(contract, [binding(commitment=HASH)]) == [("binding_size", "/instance/size_bytes")]


@settings(deadline=None)
@given(bound=hostile_values)
def test_any_value_is_judged_as_bindings(bound: Any):
    findings = binding_findings(CONTRACT, bound)

    assert 1 <= len(findings) <= MAX_FINDINGS
