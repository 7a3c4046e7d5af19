"""The rules over a whole Contract: each fires where it should, and none on a Contract that keeps them."""

import copy
import hashlib
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import contracts, hostile_values, leaves, with_leaf
from verification.engine.documents import MAX_FINDINGS
from verification.engine.hashes import normative_hash
from verification.engine.plan import (
    contract_findings,
    effective_result_kind,
    is_protected,
    protocol_findings,
    selected_slots,
)

SCORE = {
    "name": "accuracy",
    "unit": "",
    "direction": "maximize",
    "minimum": 0,
    "maximum": 1,
    "decimals": 3,
    "release_step": None,
}
PARTNER_RULE = {"title": "How we decide", "url": "https://lab.example/rule"}
Change = Callable[[dict[str, Any]], Any]


def example(name: str) -> Any:
    return json.loads((files("verification.engine") / "examples" / f"{name}.json").read_bytes())


def draft(name: str) -> Any:
    """An example as its author wrote it, free to be changed."""
    contract = example(name)
    for member in ("id", "verifier_id", "version", "normative_hash", "published_at"):
        del contract[member]
    return contract


def found(contract: Any, **options: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in contract_findings(contract, **options)]


def scored(contract: dict[str, Any]) -> dict[str, Any]:
    contract |= {"result_kind": "score", "score": dict(SCORE)}
    for fixture in contract["conformance_fixtures"]:
        fixture["expected_score"] = 0.5 if fixture["expected_result"] == "verified" else None
    return contract


@pytest.mark.parametrize("name", ["verifier-contract.sat", "verifier-contract.materials"])
def test_the_canonical_contracts_keep_every_rule(name: str):
    contract = example(name)

    assert found(contract, builtins=["sat-instance"]) == []
    assert contract["normative_hash"] == normative_hash(contract)


@pytest.mark.parametrize(
    ("name", "documents"),
    [
        ("sat", ["verifier-contract.sat", "problem-revision.sat"]),
        ("materials", ["verifier-contract.materials"]),
    ],
)
def test_the_files_of_the_examples_are_those_whose_hashes_they_state(name: str, documents: list[str]):
    folder = files("verification.engine") / "examples" / "files" / name
    shipped = {
        (file.name, f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}", len(file.read_bytes()))
        for file in folder.iterdir()
    }
    stated = set()

    def look(node: Any) -> None:
        if isinstance(node, dict) and "filename" in node:
            stated.add((node["filename"], node["content_hash"], node["size_bytes"]))
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            look(child)

    for document in documents:
        look(example(document))

    assert stated == shipped


@settings(max_examples=40, deadline=None)
@given(contract=contracts())
def test_contracts_by_chance_keep_every_rule(contract: dict[str, Any]):
    assert contract_findings(contract) == []


@settings(deadline=None)
@given(contract=hostile_values)
def test_any_value_is_judged_as_a_contract(contract: Any):
    assert 1 <= len(contract_findings(contract)) <= MAX_FINDINGS


@settings(max_examples=60, deadline=None)
@given(contract=contracts(), junk=hostile_values, data=st.data())
def test_a_contract_with_junk_in_any_place_is_judged(contract: dict[str, Any], junk: Any, data: st.DataObject):
    path = data.draw(st.sampled_from(leaves(contract)))

    assert len(contract_findings(with_leaf(contract, path, junk))) <= MAX_FINDINGS


def _second(items: list[Any], **change: Any) -> None:
    items.append({**copy.deepcopy(items[0]), **change})


SAT_CASES: list[tuple[str, str, Change]] = [
    ("duplicate_slot_key", "/reference_inputs/1/key", lambda c: _second(c["reference_inputs"])),
    (
        "duplicate_role_key",
        "/submission_requirements/required_artifacts/1/role",
        lambda c: _second(c["submission_requirements"]["required_artifacts"]),
    ),
    ("duplicate_stage_key", "/stages/1/key", lambda c: _second(c["stages"])),
    ("duplicate_fixture_key", "/conformance_fixtures/4/key", lambda c: _second(c["conformance_fixtures"])),
    ("score_unexpected", "/score", lambda c: c.update(score=SCORE)),
    ("stage_result_kind", "/stages/0/result_kind", lambda c: c["stages"][0].update(result_kind="score")),
    (
        "slot_unknown",
        "/stages/0/reference_input_slots/1",
        lambda c: c["stages"][0]["reference_input_slots"].append("proof"),
    ),
    (
        "slot_unselected",
        "/stages/0/optional_reference_slots/0",
        lambda c: c["stages"][0]["optional_reference_slots"].append("proof"),
    ),
    (
        "evidence_schema_keyword",
        "/stages/0/evidence_schema/pattern",
        lambda c: c["stages"][0]["evidence_schema"].update(pattern="x"),
    ),
    (
        "requirements_empty",
        "/submission_requirements",
        lambda c: (
            c["submission_requirements"].update(required_artifacts=[], summary="refused"),
            [fixture.update(artifacts={}, expected_result="verified") for fixture in c["conformance_fixtures"]],
        ),
    ),
    (
        "sealing_without_sealed_slot",
        "/sealing/score_release",
        lambda c: c["sealing"].update(score_release="with_labels"),
    ),
    (
        "fixture_stage_unknown",
        "/conformance_fixtures/0/stage_key",
        lambda c: c["conformance_fixtures"][0].update(stage_key="proof_check"),
    ),
    (
        "fixture_role_unknown",
        "/conformance_fixtures/0/artifacts/proof",
        lambda c: c["conformance_fixtures"][0]["artifacts"].update(
            proof=c["conformance_fixtures"][0]["artifacts"]["assignment"]
        ),
    ),
    (
        "fixture_slot_unknown",
        "/conformance_fixtures/0/reference/hint",
        lambda c: c["conformance_fixtures"][0]["reference"].update(
            hint=c["conformance_fixtures"][0]["reference"]["instance"]
        ),
    ),
    (
        "fixture_slot_unselected",
        "/conformance_fixtures/0/reference/hint",
        lambda c: (
            _second(c["reference_inputs"], key="hint"),
            c["conformance_fixtures"][0]["reference"].update(
                hint=c["conformance_fixtures"][0]["reference"]["instance"]
            ),
        ),
    ),
    (
        "fixture_slot_missing",
        "/conformance_fixtures/0/reference/instance",
        lambda c: c["conformance_fixtures"][0]["reference"].clear(),
    ),
    (
        "fixture_score_unexpected",
        "/conformance_fixtures/0/expected_score",
        lambda c: c["conformance_fixtures"][0].update(expected_score=1),
    ),
    (
        "fixture_conflict",
        "/conformance_fixtures/4/expected_result",
        lambda c: _second(c["conformance_fixtures"], key="contrary", expected_result="refuted"),
    ),
    ("stage_without_fixture", "/stages/1", lambda c: _second(c["stages"], key="second_check")),
    (
        "validator_unknown",
        "/reference_inputs/0/validator/builtin",
        lambda c: c["reference_inputs"][0]["validator"].update(builtin="sat-lottery"),
    ),
    (
        "sealed_slots_unstated",
        "/stages/0/reference_input_slots",
        lambda c: (c["reference_inputs"][0].update(sealed=True), c["stages"][0].update(reference_input_slots=None)),
    ),
]


@pytest.mark.parametrize(("code", "pointer", "change"), SAT_CASES, ids=[case[0] for case in SAT_CASES])
def test_a_broken_rule_is_named_where_it_is_broken(code: str, pointer: str, change: Change):
    contract = draft("verifier-contract.sat")

    change(contract)

    assert found(contract, builtins=["sat-instance"]) == [(code, pointer)]


SCORED_CASES: list[tuple[str, str, Change]] = [
    ("score_missing", "/score", lambda c: c.update(score=None)),
    (
        "score_bounds",
        "/score/minimum",
        lambda c: (c["score"].update(minimum=1), c["conformance_fixtures"][0].update(expected_score=1)),
    ),
    (
        "score_without_stage",
        "/stages",
        lambda c: (
            c["stages"][0].update(result_kind="pass_fail"),
            c["conformance_fixtures"][0].update(expected_score=None),
        ),
    ),
    (
        "fixture_score_missing",
        "/conformance_fixtures/0/expected_score",
        lambda c: c["conformance_fixtures"][0].update(expected_score=None),
    ),
    (
        "fixture_score_bounds",
        "/conformance_fixtures/0/expected_score",
        lambda c: c["conformance_fixtures"][0].update(expected_score=1.5),
    ),
    (
        "fixture_score_unexpected",
        "/conformance_fixtures/1/expected_score",
        lambda c: c["conformance_fixtures"][1].update(expected_score=0),
    ),
    (
        "fixture_conflict",
        "/conformance_fixtures/4/expected_result",
        lambda c: _second(c["conformance_fixtures"], key="contrary", expected_score=0.75),
    ),
]


@pytest.mark.parametrize(("code", "pointer", "change"), SCORED_CASES, ids=[case[0] for case in SCORED_CASES])
def test_inv_06_a_broken_rule_of_scores_is_named_where_it_is_broken(code: str, pointer: str, change: Change):
    contract = scored(draft("verifier-contract.sat"))
    before = found(contract)

    change(contract)

    assert (before, found(contract)) == ([], [(code, pointer)])


EXTERNAL_CASES: list[tuple[str, str, Change]] = [
    ("external_evidence_schema_missing", "evidence_schema", lambda s: s.update(evidence_schema=None)),
    ("external_acceptance_missing", "acceptance", lambda s: s.update(acceptance=None)),
    ("external_partner_rule_forbidden", "partner_rule", lambda s: s.update(partner_rule=PARTNER_RULE)),
    (
        "external_acceptance_forbidden",
        "acceptance",
        lambda s: s.update(rule_owner="partner", partner_rule=PARTNER_RULE),
    ),
    (
        "external_partner_rule_missing",
        "partner_rule",
        lambda s: s.update(rule_owner="partner", acceptance=None, partner_rule=None),
    ),
    (
        "external_partner_rule_url",
        "partner_rule/url",
        lambda s: s.update(
            rule_owner="partner", acceptance=None, partner_rule={"title": "x", "url": "https://a@b.example/"}
        ),
    ),
    (
        "acceptance_value",
        "acceptance/all/1/value",
        lambda s: s["acceptance"]["all"][1].update(value="ninety"),
    ),
    (
        "evidence_schema_reference",
        "evidence_schema/properties/recipe_followed/$ref",
        lambda s: s["evidence_schema"]["properties"]["recipe_followed"].update({"$ref": "https://a.example/s"}),
    ),
]


@pytest.mark.parametrize(("code", "member", "change"), EXTERNAL_CASES, ids=[case[0] for case in EXTERNAL_CASES])
def test_a_broken_rule_of_an_external_stage_is_named_where_it_is_broken(code: str, member: str, change: Change):
    contract = draft("verifier-contract.materials")

    change(contract["stages"][2])

    assert found(contract) == [(code, f"/stages/2/{member}")]


def test_a_partner_may_own_the_rule_with_or_without_an_evidence_schema():
    contract = draft("verifier-contract.materials")
    contract["stages"][2] |= {"rule_owner": "partner", "acceptance": None, "partner_rule": PARTNER_RULE}

    with_schema = found(contract)
    contract["stages"][2]["evidence_schema"] = None

    assert (with_schema, found(contract)) == ([], [])


def test_inv_05_a_plan_has_at_least_one_stage():
    contract = draft("verifier-contract.sat") | {"stages": [], "conformance_fixtures": []}

    assert found(contract) == [("schema_min_items", "/stages")]


def test_any_order_and_number_of_kinds_is_a_plan():
    contract = draft("verifier-contract.materials")
    sandbox, review, external = contract["stages"]
    contract["stages"] = [
        external,
        review,
        sandbox,
        *({**copy.deepcopy(review), "key": f"review_{number}"} for number in range(150)),
    ]

    assert found(contract) == []


def test_inv_07_keys_of_different_kinds_may_be_the_same():
    contract = draft("verifier-contract.sat")
    contract["submission_requirements"]["required_artifacts"][0]["role"] = "instance"
    for fixture in contract["conformance_fixtures"]:
        fixture |= {"key": f"instance_{fixture['key']}", "artifacts": {"instance": fixture["artifacts"]["assignment"]}}

    assert found(contract) == []


def test_inv_08_a_retired_fixture_neither_covers_its_stage_nor_contradicts_another():
    contract = draft("verifier-contract.sat")
    retirement = {"retired_at": "2026-01-01T00:00:00Z", "retired_by_user_id": "usr_" + "0" * 26, "reason_md": "Wrong."}
    _second(contract["conformance_fixtures"], key="contrary", expected_result="refuted", retirement=retirement)

    with_others = found(contract)
    contract["conformance_fixtures"] = contract["conformance_fixtures"][-1:]

    assert (with_others, found(contract)) == ([], [("stage_without_fixture", "/stages/0")])


def test_inv_09_a_fixture_may_leave_out_an_optional_slot():
    contract = draft("verifier-contract.sat")
    contract["reference_inputs"].append({**contract["reference_inputs"][0], "key": "hint", "required": False})
    contract["stages"][0]["reference_input_slots"].append("hint")

    assert found(contract) == []


def test_inv_14_a_published_contract_that_was_altered_does_not_match_its_hash():
    contract = example("verifier-contract.sat")
    contract["statement_md"] += "Or not.\n"

    assert found(contract) == [("normative_hash_mismatch", "/normative_hash")]


def test_inv_11_a_published_review_stage_names_its_protocol():
    contract = example("verifier-contract.materials")
    contract["stages"][1]["review_protocol_id"] = None

    assert found(contract) == [("review_protocol_unpinned", "/stages/1/review_protocol_id")]


def _protocol(**change: Any) -> dict[str, Any]:
    protocol = json.loads((files("reviews") / "examples" / "single_expert.json").read_bytes())
    return protocol | change


@pytest.mark.parametrize(
    ("protocol", "sealed", "expected"),
    [
        (_protocol(), False, []),
        (_protocol(), True, []),
        (None, False, ["review_protocol_unknown"]),
        (_protocol(purpose="triage"), False, ["review_protocol_purpose"]),
        (_protocol(subject_kind="problem"), False, ["review_protocol_purpose"]),
        (_protocol(casefile={"sealed_slots": "reveal", "prior_results": "none"}), False, []),
        (_protocol(casefile={"sealed_slots": "reveal", "prior_results": "none"}), True, ["review_reveals_sealed"]),
    ],
)
def test_inv_11_a_review_stage_pins_a_protocol_that_fits(protocol: Any, sealed: bool, expected: list[str]):
    contract = draft("verifier-contract.materials")
    contract["reference_inputs"][0]["sealed"] = sealed
    protocols = {} if protocol is None else {contract["stages"][1]["protocol_hash"]: protocol}

    findings = protocol_findings(contract, protocols)

    assert [(f.code, f.pointer) for f in findings] == [(code, "/stages/1/protocol_hash") for code in expected]


def test_every_broken_rule_is_listed_at_once():
    contract = draft("verifier-contract.sat")
    contract["score"] = SCORE
    contract["stages"][0]["reference_input_slots"].append("proof")
    contract["conformance_fixtures"][0]["expected_score"] = 1

    assert {code for code, _ in found(contract)} == {"score_unexpected", "slot_unknown", "fixture_score_unexpected"}


def test_the_findings_of_a_contract_are_capped():
    contract = draft("verifier-contract.sat")
    contract["conformance_fixtures"] = [
        {**contract["conformance_fixtures"][0], "key": f"fixture_{number}", "stage_key": "nowhere"}
        for number in range(500)
    ]

    listed = found(contract)

    assert (len(listed), listed[-1][0]) == (MAX_FINDINGS, "too_many_findings")


@pytest.mark.parametrize(
    ("contract_kind", "stage_kind", "override", "expected"),
    [
        ("score", "sandbox", None, "score"),
        ("score", "sandbox", "pass_fail", "pass_fail"),
        ("pass_fail", "sandbox", None, "pass_fail"),
        ("score", "review", None, "pass_fail"),
        ("score", "external", None, "pass_fail"),
    ],
)
def test_a_stage_may_only_turn_score_into_pass_fail(
    contract_kind: str, stage_kind: str, override: str | None, expected: str
):
    stage = {"kind": stage_kind} | ({"result_kind": override} if stage_kind == "sandbox" else {})

    assert effective_result_kind({"result_kind": contract_kind}, stage) == expected


def _slots(*sealed: str) -> dict[str, Any]:
    return {"reference_inputs": [{"key": key, "sealed": key in sealed} for key in ("a", "b", "c")]}


@pytest.mark.parametrize(
    ("kind", "named", "selected", "protected"),
    [
        ("sandbox", None, ("a", "b", "c"), True),
        ("sandbox", [], (), False),
        ("sandbox", ["c", "a"], ("a", "c"), False),
        ("sandbox", ["b"], ("b",), True),
        ("review", None, (), False),
        ("external", None, (), False),
    ],
)
def test_a_stage_is_protected_exactly_when_it_selects_a_sealed_slot(
    kind: str, named: list[str] | None, selected: tuple[str, ...], protected: bool
):
    stage = {"kind": kind, "reference_input_slots": named}

    assert selected_slots(_slots("b"), stage) == selected
    assert is_protected(_slots("b"), stage) is protected
    assert is_protected(_slots(), stage) is False
