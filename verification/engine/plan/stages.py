"""What follows from a Contract for one of its stages: its effective kind, its slots, and whether it is protected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def effective_result_kind(contract: Mapping[str, Any], stage: Mapping[str, Any]) -> str:
    """`score` for a sandbox stage of a scored Contract that does not say otherwise, else `pass_fail`."""
    is_scored = contract["result_kind"] == "score" and stage["kind"] == "sandbox"
    return "score" if is_scored and stage["result_kind"] != "pass_fail" else "pass_fail"


def selected_slots(contract: Mapping[str, Any], stage: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys of the slots that a sandbox stage selects, in the Contract's order; all of them where it names none.

    Review and external stages have nothing mounted, so they select nothing.
    """
    if stage["kind"] != "sandbox":
        return ()
    declared = tuple(str(slot["key"]) for slot in contract["reference_inputs"])
    if stage["reference_input_slots"] is None:
        return declared
    chosen = frozenset(stage["reference_input_slots"])
    return tuple(key for key in declared if key in chosen)


def sealed_slots(contract: Mapping[str, Any]) -> frozenset[str]:
    """Keys of the slots whose bytes stay hidden until release."""
    return frozenset(str(slot["key"]) for slot in contract["reference_inputs"] if slot["sealed"])


def is_protected(contract: Mapping[str, Any], stage: Mapping[str, Any]) -> bool:
    """True when the stage selects a sealed slot, so that its output could disclose the hidden bytes."""
    return not sealed_slots(contract).isdisjoint(selected_slots(contract, stage))
