"""The rules over a Contract's fixtures: invariants 8 and 9, and that equal inputs expect equal outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verification.engine.documents import Finding, pointer_to, shown
from verification.engine.hashes import fixture_inputs_hash
from verification.engine.plan.stages import effective_result_kind, selected_slots


def fixture_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    """Every rule that the fixtures of a well-shaped Contract break, in document order."""
    # The first stage of a key stands for it; that a key occurs twice is a finding of its own.
    stages = {stage["key"]: stage for stage in reversed(contract["stages"]) if stage["kind"] == "sandbox"}
    selected = {key: selected_slots(contract, stage) for key, stage in stages.items()}
    required = {slot["key"] for slot in contract["reference_inputs"] if slot["required"]}
    roles = {artifact["role"] for artifact in contract["submission_requirements"]["required_artifacts"]}
    expectations: dict[str, tuple[str, Any, Any]] = {}
    for index, fixture in enumerate(contract["conformance_fixtures"]):
        place = ("conformance_fixtures", index)
        stage = stages.get(fixture["stage_key"])
        if stage is None:
            message = f"expected the key of a sandbox stage, found {shown(fixture['stage_key'])}"
            yield Finding("fixture_stage_unknown", pointer_to(*place, "stage_key"), message)
        else:
            yield from _reference_findings(contract, fixture, place, selected[stage["key"]], required)
            yield from _score_findings(contract, stage, fixture, place)
        for role in fixture["artifacts"]:
            if role not in roles:
                message = f"expected a role of this Contract, found {shown(role)}"
                yield Finding("fixture_role_unknown", pointer_to(*place, "artifacts", role), message)
        if "retirement" not in fixture:
            yield from _conflict_findings(fixture, place, expectations)
    yield from _coverage_findings(contract)


def _reference_findings(
    contract: Mapping[str, Any],
    fixture: Mapping[str, Any],
    place: tuple[str, int],
    selected: tuple[str, ...],
    required: set[str],
) -> Iterator[Finding]:
    declared = {slot["key"] for slot in contract["reference_inputs"]}
    for key in fixture["reference"]:
        if key not in declared:
            message = f"expected a slot of this Contract, found {shown(key)}"
            yield Finding("fixture_slot_unknown", pointer_to(*place, "reference", key), message)
        elif key not in selected:
            message = f"expected a slot that the stage selects, found {shown(key)}; remove it"
            yield Finding("fixture_slot_unselected", pointer_to(*place, "reference", key), message)
    for key in selected:
        if key in required and key not in fixture["reference"]:
            message = f"expected bytes for the required slot {shown(key)}, found none; bind it"
            yield Finding("fixture_slot_missing", pointer_to(*place, "reference", key), message)


def _score_findings(
    contract: Mapping[str, Any], stage: Mapping[str, Any], fixture: Mapping[str, Any], place: tuple[str, int]
) -> Iterator[Finding]:
    pointer, expected = pointer_to(*place, "expected_score"), fixture["expected_score"]
    gives_score = effective_result_kind(contract, stage) == "score" and fixture["expected_result"] == "verified"
    if gives_score and expected is None:
        yield Finding("fixture_score_missing", pointer, "expected the exact score, since the stage is scored; state it")
    if not gives_score and expected is not None:
        message = "expected null: only a scored stage that verifies gives a score; remove it"
        yield Finding("fixture_score_unexpected", pointer, message)
    score = contract["score"]
    if not gives_score or expected is None or score is None:
        return
    low, high = score["minimum"], score["maximum"]
    if (low is not None and expected < low) or (high is not None and expected > high):
        message = f"expected a score within the Contract's bounds, found {shown(expected)}"
        yield Finding("fixture_score_bounds", pointer, message)


def _conflict_findings(
    fixture: Mapping[str, Any], place: tuple[str, int], expectations: dict[str, tuple[str, Any, Any]]
) -> Iterator[Finding]:
    expectation = (fixture["key"], fixture["expected_result"], fixture["expected_score"])
    earlier = expectations.setdefault(fixture_inputs_hash(fixture), expectation)
    if earlier[1:] != expectation[1:]:
        message = (
            f"expected what fixture {shown(earlier[0])} expects of the same inputs ({earlier[1]}), "
            f"found {expectation[1]}; one of the two is wrong"
        )
        yield Finding("fixture_conflict", pointer_to(*place, "expected_result"), message)


def _coverage_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    covered = {fixture["stage_key"] for fixture in contract["conformance_fixtures"] if "retirement" not in fixture}
    for index, stage in enumerate(contract["stages"]):
        if stage["kind"] == "sandbox" and stage["key"] not in covered:
            message = f"expected a fixture for the sandbox stage {shown(stage['key'])}, found none; add one"
            yield Finding("stage_without_fixture", pointer_to("stages", index), message)
