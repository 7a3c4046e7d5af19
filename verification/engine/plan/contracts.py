"""The rules over a whole Contract document: invariants 5 to 9, 11 and the rules of stages, scores and sealing."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from verification.engine.acceptance import rule_findings
from verification.engine.documents import (
    Finding,
    capped,
    evidence_schema_findings,
    pointer_to,
    shown,
    validate_document,
    within,
)
from verification.engine.hashes import normative_hash
from verification.engine.plan.addresses import is_https_url
from verification.engine.plan.fixtures import fixture_findings
from verification.engine.plan.stages import effective_result_kind, sealed_slots


def contract_findings(contract: object, *, builtins: Collection[str] | None = None) -> list[Finding]:
    """Every rule that this Contract breaks by itself, each with a code and a pointer; empty when it may be published.

    Total and bounded: any Python value gives an answer. Where the shape is wrong, only the shape is reported.

    Args:
        contract: the document, as an author writes it or as it is published.
        builtins: names of the builtin checkers this platform has, to check validators against; None leaves it out.
    """
    findings = validate_document("verifier-contract", contract)
    if findings:
        return findings
    assert isinstance(contract, dict)
    return capped(
        chain(
            _key_findings(contract),
            _score_findings(contract),
            _slot_findings(contract, builtins),
            *(_stage_findings(contract, index, stage) for index, stage in enumerate(contract["stages"])),
            _requirement_findings(contract),
            _sealing_findings(contract),
            fixture_findings(contract),
            _record_findings(contract),
        )
    )


def protocol_findings(contract: Mapping[str, Any], protocols: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """What keeps the review stages of a valid Contract from pinning their protocols (invariant 11, sealing).

    Args:
        contract: one without findings.
        protocols: the published, not yanked ReviewProtocol documents by `protocol_hash`.
    """
    return capped(_protocol_findings(contract, protocols))


def _protocol_findings(contract: Mapping[str, Any], protocols: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    for index, stage in enumerate(contract["stages"]):
        if stage["kind"] != "review":
            continue
        pointer = pointer_to("stages", index, "protocol_hash")
        protocol = protocols.get(stage["protocol_hash"])
        if protocol is None:
            message = f"expected a published ReviewProtocol that is not yanked, found none at {stage['protocol_hash']}"
            yield Finding("review_protocol_unknown", pointer, message)
            continue
        if (protocol["purpose"], protocol["subject_kind"]) != ("acceptance", "submission"):
            message = "expected a protocol with purpose acceptance and subject kind submission; pin another"
            yield Finding("review_protocol_purpose", pointer, message)
        if sealed_slots(contract) and protocol["casefile"]["sealed_slots"] == "reveal":
            message = "this protocol's casefile reveals sealed slots, and this Contract has one; pin one that withholds"
            yield Finding("review_reveals_sealed", pointer, message)


def _key_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    roles = contract["submission_requirements"]["required_artifacts"]
    yield from _repeated("duplicate_stage_key", contract["stages"], "key", "stages")
    yield from _repeated("duplicate_slot_key", contract["reference_inputs"], "key", "reference_inputs")
    yield from _repeated("duplicate_role_key", roles, "role", "submission_requirements", "required_artifacts")
    yield from _repeated("duplicate_fixture_key", contract["conformance_fixtures"], "key", "conformance_fixtures")


def _repeated(code: str, items: Iterable[Mapping[str, Any]], member: str, *place: str) -> Iterator[Finding]:
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if item[member] in seen:
            message = f"expected every key once, found {shown(item[member])} again; rename one"
            yield Finding(code, pointer_to(*place, index, member), message)
        seen.add(item[member])


def _score_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    score, is_scored = contract["score"], contract["result_kind"] == "score"
    if is_scored and score is None:
        yield Finding("score_missing", "/score", "expected a score block, since result_kind is score; add one")
    if not is_scored and score is not None:
        yield Finding("score_unexpected", "/score", "expected null, since result_kind is pass_fail; remove the block")
    if score is not None and None not in (score["minimum"], score["maximum"]) and score["minimum"] >= score["maximum"]:
        message = f"expected minimum below maximum, found {shown(score['minimum'])} and {shown(score['maximum'])}"
        yield Finding("score_bounds", "/score/minimum", message)
    if is_scored and not any(effective_result_kind(contract, stage) == "score" for stage in contract["stages"]):
        message = "expected at least one sandbox stage that gives a score; add one, or leave its result_kind null"
        yield Finding("score_without_stage", "/stages", message)


def _slot_findings(contract: Mapping[str, Any], builtins: Collection[str] | None) -> Iterator[Finding]:
    for index, slot in enumerate(contract["reference_inputs"]):
        validator = slot["validator"] or {}
        if builtins is not None and "builtin" in validator and validator["builtin"] not in builtins:
            message = f"expected a builtin checker of this platform, found {shown(validator['builtin'])}"
            yield Finding("validator_unknown", pointer_to("reference_inputs", index, "validator", "builtin"), message)


def _stage_findings(contract: Mapping[str, Any], index: int, stage: Mapping[str, Any]) -> Iterator[Finding]:
    if stage["kind"] == "sandbox":
        found: Iterable[Finding] = _sandbox_findings(contract, stage)
    elif stage["kind"] == "external":
        found = _external_findings(stage)
    else:
        found = _review_findings(contract, stage)
    yield from within(pointer_to("stages", index), found)


def _sandbox_findings(contract: Mapping[str, Any], stage: Mapping[str, Any]) -> Iterator[Finding]:
    if stage["result_kind"] == "score" and contract["result_kind"] != "score":
        message = "a stage may only turn score into pass_fail, and this Contract is pass_fail; use null"
        yield Finding("stage_result_kind", "/result_kind", message)
    declared = {slot["key"] for slot in contract["reference_inputs"]}
    selected = stage["reference_input_slots"]
    if selected is None and sealed_slots(contract):
        message = "expected the slots by name, since this Contract has a sealed slot; list what this stage may read"
        yield Finding("sealed_slots_unstated", "/reference_input_slots", message)
    for member, allowed, code in (
        ("reference_input_slots", declared, "slot_unknown"),
        ("optional_reference_slots", declared if selected is None else declared & set(selected), "slot_unselected"),
    ):
        for index, key in enumerate(stage[member] or ()):
            if key not in allowed:
                wanted = "a declared slot" if code == "slot_unknown" else "a slot that this stage selects"
                yield Finding(code, pointer_to(member, index), f"expected {wanted}, found {shown(key)}")
    if stage["evidence_schema"] is not None:
        yield from within("/evidence_schema", evidence_schema_findings(stage["evidence_schema"]))


def _review_findings(contract: Mapping[str, Any], stage: Mapping[str, Any]) -> Iterator[Finding]:
    if "id" in contract and stage["review_protocol_id"] is None:
        message = "expected the id of a ReviewProtocol in a published Contract, found null; pin one"
        yield Finding("review_protocol_unpinned", "/review_protocol_id", message)


def _external_findings(stage: Mapping[str, Any]) -> Iterator[Finding]:
    is_ours = stage["rule_owner"] == "contract"
    if is_ours and stage["evidence_schema"] is None:
        message = "expected an evidence schema, since the Contract owns the rule; describe the evidence"
        yield Finding("external_evidence_schema_missing", "/evidence_schema", message)
    if is_ours and stage["acceptance"] is None:
        message = "expected an acceptance rule, since the Contract owns the rule; state one"
        yield Finding("external_acceptance_missing", "/acceptance", message)
    if not is_ours and stage["acceptance"] is not None:
        message = "expected null, since the partner owns the rule; remove the rule, or own it"
        yield Finding("external_acceptance_forbidden", "/acceptance", message)
    if is_ours and stage["partner_rule"] is not None:
        message = "expected null, since the Contract owns the rule; remove the partner's"
        yield Finding("external_partner_rule_forbidden", "/partner_rule", message)
    if not is_ours and stage["partner_rule"] is None:
        message = "expected title and https address of the partner's rule; readers must see whose rule decides"
        yield Finding("external_partner_rule_missing", "/partner_rule", message)
    if stage["partner_rule"] is not None and not is_https_url(stage["partner_rule"]["url"]):
        message = f"expected an absolute https:// address, found {shown(stage['partner_rule']['url'])}"
        yield Finding("external_partner_rule_url", "/partner_rule/url", message)
    if stage["evidence_schema"] is not None:
        yield from within("/evidence_schema", evidence_schema_findings(stage["evidence_schema"]))
    if stage["acceptance"] is not None:
        yield from within("/acceptance", rule_findings(stage["acceptance"]))


def _requirement_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    requirements = contract["submission_requirements"]
    if not requirements["required_artifacts"] and requirements["summary"] == "refused":
        message = "expected at least one role or a summary; as it stands nothing could be submitted"
        yield Finding("requirements_empty", "/submission_requirements", message)


def _sealing_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    if sealed_slots(contract):
        return
    for member, value in contract["sealing"].items():
        if value == "with_labels":
            message = "expected immediate, since no slot is sealed: nothing would ever be released"
            yield Finding("sealing_without_sealed_slot", pointer_to("sealing", member), message)


def _record_findings(contract: Mapping[str, Any]) -> Iterator[Finding]:
    stated = contract.get("normative_hash")
    if stated is None:
        return
    computed = normative_hash(contract)
    if stated != computed:
        message = f"expected {computed}, which this text hashes to; found {stated}; take the document as published"
        yield Finding("normative_hash_mismatch", "/normative_hash", message)
