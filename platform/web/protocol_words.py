"""A review protocol in words: who is asked, how answers combine, what happens then."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reviews.models import ReviewProtocol
from web.quantities import counted, duration_words

_SIGNALS = {
    "accept": "they accept",
    "reject": "they reject",
    "split": "they are split",
    "insufficient": "too few answered",
    "clear": "nobody objects",
}
_ACTIONS = {
    "accept": "the work is accepted",
    "reject": "the work is rejected",
    "unresolved": "the review ends unresolved",
    "continue": "the next step follows",
}
_DISCLOSURE = {
    "submitter": {
        "hidden": "Reviewers do not learn who submitted.",
        "shown": "Reviewers see who submitted.",
    },
    "reviewers": {
        "hidden": "Reviewers are not named.",
        "pseudonym": "Reviewers appear under pseudonyms.",
        "named": "Reviewers are named.",
    },
    "responses": {
        "never": "Their answers are not shown.",
        "after_decision": "Their answers are shown once the decision stands.",
    },
}


@dataclass(frozen=True)
class StepWords:
    """One step of a protocol, told."""

    name: str
    title: str
    lines: tuple[str, ...]


def protocol_context(protocol: ReviewProtocol) -> dict[str, Any]:
    """Everything the page of a protocol shows."""
    content = json.loads(protocol.canonical)
    return {
        "protocol": protocol,
        "instructions_md": content.get("instructions", ""),
        "steps": [step_words(step) for step in content.get("steps", ())],
        "questions": _questions(content.get("rubric", {})),
        "rules": _rules(content),
        "pretty": json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True),
    }


def step_words(step: Mapping[str, Any]) -> StepWords:
    """One step, told; a kind of step unknown here is named and left to the canonical text."""
    told = _TELLERS.get(step["type"])
    title, lines = told(step) if told else (f"Step of the kind {step['type']}", [])
    if step.get("when"):
        signals = " or ".join(_SIGNALS.get(signal, signal) for signal in step["when"]["is"])
        lines = [f"Only if, in {step['when']['step']}, {signals}.", *lines]
    return StepWords(step["id"], title, tuple(lines))


def _panel(step: Mapping[str, Any]) -> tuple[str, list[str]]:
    is_sealed = step["independence"] == "sealed"
    decisive, human = step["quorum"]["decisive"], step["quorum"]["human"]
    return "A panel answers", [
        *(f"{_seat(seat)}." for seat in step["seats"]),
        "Each answers alone." if is_sealed else "Each may read the others' answers after giving their own.",
        f"At least {counted(decisive, 'decisive answer')} must come in, {human} of them from people.",
        f"It closes after {duration_words(step['timing']['window_s'])}.",
    ]


def _reduce(step: Mapping[str, Any]) -> tuple[str, list[str]]:
    sources = " and ".join(step["from"])
    return "The answers are combined", [f"The answers of {sources}: {_reducer(step['reducer'])}.", *_then(step["then"])]


def _adjudicate(step: Mapping[str, Any]) -> tuple[str, list[str]]:
    reads = "the casefile and the answers so far" if step["sees"] == "responses" else "the casefile alone"
    return "An adjudicator decides", [f"{_seat(step['seat'])}, who reads {reads}.", *_then(step["then"])]


_TELLERS = {"panel": _panel, "reduce": _reduce, "adjudicate": _adjudicate}


def _seat(seat: Mapping[str, Any]) -> str:
    kind = "person,people" if seat["kind"] == "human" else "agent"
    groups = f" of {' or '.join(seat['groups_any'])}" if seat.get("groups_any") else ""
    skills = f", qualified as {' and '.join(seat['qualifications_all'])}" if seat.get("qualifications_all") else ""
    weight = f", with the weight {seat['weight']}" if seat["weight"] != 1 else ""
    return f"{counted(seat['count'], kind)}{groups}{skills}{weight}"


def _reducer(reducer: Mapping[str, Any]) -> str:
    name = reducer["name"]
    if name == "unanimous":
        return "all must agree"
    if name == "majority":
        return "the majority counts"
    if name == "k_of_n":
        return f"{reducer['accept_k']} accepting or {reducer['reject_k']} rejecting decide"
    if name == "weighted_mean_threshold":
        accept, reject = reducer["accept_at_bp"] / 100, reducer["reject_at_bp"] / 100
        return f"the weighted mean accepts from {accept:g} % and rejects up to {reject:g} %"
    if name == "all_criteria_pass":
        return f"every one of {', '.join(reducer['criteria'])} must pass"
    if name == "veto":
        return f"{' or '.join(reducer['holders'])} may object"
    return f"combined by {name}"


def _then(then: Mapping[str, str]) -> list[str]:
    return [
        f"If {_SIGNALS.get(signal, signal)}, {_ACTIONS.get(action, action)}." for signal, action in sorted(then.items())
    ]


def _questions(rubric: Mapping[str, Any]) -> list[dict[str, Any]]:
    properties = rubric.get("schema", {}).get("properties", {})
    return [
        {"key": key, "title": properties[key]["title"], "description": properties[key].get("description", "")}
        for key in rubric.get("order", ())
        if key in properties
    ]


def _rules(content: Mapping[str, Any]) -> Sequence[str]:
    disclosure = content.get("disclosure", {})
    rules = [words[disclosure[name]] for name, words in _DISCLOSURE.items() if disclosure.get(name) in words]
    if "human_minimum" in content:
        rules.append(f"At least {counted(content['human_minimum'], 'person,people')} must take part.")
    if content.get("casefile", {}).get("sealed_slots") == "withhold":
        rules.append("Sealed inputs are withheld from the casefile until release.")
    if content.get("conflicts", {}).get("exclude_contract_owner"):
        rules.append("Authors of the Contract do not review under it.")
    return rules
