"""The rules over the bindings of a revision (invariant 10), as far as they need no stored bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from verification.engine.documents import Finding, capped, listed, pointer_to, shown, validate_document
from verification.engine.plan.addresses import is_https_url
from verification.engine.plan.stages import selected_slots

_PLACE: Final = "verifier_input_bindings"
# A revision document around the bindings, so that the published schema judges them and nothing has to say it twice.
_FRAME: Final[Mapping[str, Any]] = {
    "schema": "tfp.problem-revision/v1",
    "statement_md": "-",
    "verifier_contract_id": "vct_" + "0" * 26,
    "normative_hash": "sha256:" + "0" * 64,
    "skill_id": None,
    "skill_content_hash": None,
}


def binding_findings(contract: Mapping[str, Any], bindings: object) -> list[Finding]:
    """Every rule that a revision's bindings break under their Contract; empty when they may be published.

    Pointers name the slot: `/verifier_input_bindings/instance/size_bytes`. Where the shape of the list is wrong,
    only that is reported, with the position instead of the slot.

    Args:
        contract: one without findings.
        bindings: any value; a sealed binding may hide hash and size behind its commitment, and is then not measured.
    """
    findings = validate_document("problem-revision", {**_FRAME, _PLACE: bindings})
    if findings:
        return findings
    assert isinstance(bindings, list)
    return capped(_rule_findings(contract, bindings))


def _rule_findings(contract: Mapping[str, Any], bindings: list[dict[str, Any]]) -> Iterator[Finding]:
    slots = {slot["key"]: slot for slot in contract["reference_inputs"]}
    must_be_stored = _slots_to_mount(contract)
    for binding in bindings:
        slot = slots.get(binding["key"])
        if slot is None:
            message = f"expected one of the slots {listed(list(slots))}; found {shown(binding['key'])}; remove it"
            yield Finding("binding_unknown_slot", pointer_to(_PLACE, binding["key"]), message)
        else:
            yield from _limit_findings(slot, binding)
            yield from _kind_findings(slot, binding, must_be_stored)
    counts = Counter(binding["key"] for binding in bindings)
    for key, count in counts.items():
        if count > 1:
            message = f"expected one binding for each slot, found {count} for {shown(key)}; keep one"
            yield Finding("binding_repeated", pointer_to(_PLACE, key), message)
    for key, slot in slots.items():
        if slot["required"] and key not in counts:
            message = f"expected a binding for the required slot {shown(key)}, found none; upload or link its content"
            yield Finding("binding_missing", pointer_to(_PLACE, key), message)


def _limit_findings(slot: Mapping[str, Any], binding: Mapping[str, Any]) -> Iterator[Finding]:
    if binding["media_type"] not in slot["media_types"]:
        message = f"expected one of {listed(slot['media_types'])}; found {shown(binding['media_type'])}"
        yield Finding("binding_media_type", pointer_to(_PLACE, slot["key"], "media_type"), message)
    if binding["size_bytes"] is not None and binding["size_bytes"] > slot["max_bytes"]:
        message = f"expected at most {slot['max_bytes']} bytes, found {binding['size_bytes']}; bind a smaller file"
        yield Finding("binding_size", pointer_to(_PLACE, slot["key"], "size_bytes"), message)


def _kind_findings(
    slot: Mapping[str, Any], binding: Mapping[str, Any], must_be_stored: frozenset[str]
) -> Iterator[Finding]:
    if binding["kind"] == "stored":
        if "commitment" in binding and not slot["sealed"]:
            message = "expected no commitment, since this slot is not sealed; bind the bytes openly"
            yield Finding("binding_commitment_unexpected", pointer_to(_PLACE, slot["key"], "commitment"), message)
        return
    if not is_https_url(binding["url"]):
        message = f"expected an absolute https:// address without credentials, found {shown(binding['url'])}"
        yield Finding("binding_link_not_https", pointer_to(_PLACE, slot["key"], "url"), message)
    if slot["sealed"]:
        message = "expected stored bytes: what is linked cannot be sealed; upload the content"
        yield Finding("binding_sealed_linked", pointer_to(_PLACE, slot["key"], "kind"), message)
    if slot["key"] in must_be_stored:
        message = (
            "expected stored bytes, since a sandbox stage reads this slot and no link is mounted; upload the content"
        )
        yield Finding("binding_must_be_stored", pointer_to(_PLACE, slot["key"], "kind"), message)


def _slots_to_mount(contract: Mapping[str, Any]) -> frozenset[str]:
    required = {slot["key"] for slot in contract["reference_inputs"] if slot["required"]}
    mounted: set[str] = set()
    for stage in contract["stages"]:
        if stage["kind"] == "sandbox":
            mounted.update(set(selected_slots(contract, stage)) - set(stage["optional_reference_slots"]))
    return frozenset(required & mounted)
