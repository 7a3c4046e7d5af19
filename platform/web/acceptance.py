"""What a Contract accepts, in words: who checks each stage, what a Submission must bring, what a pass leaves open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verification.contracts.models import ContractStage, VerifierContract
from verification.contracts.selectors import PlannedStage
from web.quantities import duration_words, size_words

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MIB = 1024 * 1024


@dataclass(frozen=True)
class StageWords:
    """One stage of a plan, told. `limits` is empty where nothing bounds it or nothing can carry it out."""

    number: int
    key: str
    title: str
    kind: str
    kind_word: str
    who: str
    description_md: str
    limits: str
    is_available: bool
    is_protected: bool
    current: Mapping[str, Any] | None
    protocol_id: str
    partner_rule: tuple[str, str] | None


_KIND_WORDS = {"sandbox": "Sandbox", "review": "Review", "external": "External"}


def number_word(count: int) -> str:
    """A small count as a word, a larger one in digits."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def acceptance_lead(stages: Sequence[PlannedStage], contract: VerifierContract) -> str:
    """When a Submission is verified, in one or two sentences."""
    if len(stages) == 1:
        lead = f"A Submission is verified when its one stage, {stages[0].stage.title}, passes."
    else:
        lead = (
            f"A Submission is verified when all {number_word(len(stages))} stages pass. They run one after the other, "
            "and each is tried only when the one before has passed."
        )
    if contract.result_kind != "score":
        return lead
    unit = f", in {contract.score_unit}" if contract.score_unit else ""
    better = "higher" if contract.score_direction == "maximize" else "lower"
    return f"{lead} A verified Submission also has a score: {contract.score_name}{unit}; {better} is better."


def stage_words(planned: PlannedStage) -> StageWords:
    """A stage of the plan, told."""
    stage = planned.stage
    is_sandbox = stage.kind == "sandbox"
    return StageWords(
        number=stage.position + 1,
        key=stage.key,
        title=stage.title,
        kind=stage.kind,
        kind_word=_KIND_WORDS[stage.kind],
        who=_who(planned),
        description_md=stage.description_md,
        limits=_limits(planned.current) if planned.current else "",
        is_available=not is_sandbox or planned.current is not None,
        is_protected=planned.is_protected,
        current=planned.current,
        protocol_id=stage.review_protocol_id or "",
        partner_rule=(stage.partner_rule_title, stage.partner_rule_url) if stage.partner_rule_url else None,
    )


def _who(planned: PlannedStage) -> str:
    stage = planned.stage
    if stage.kind == "sandbox":
        inputs = f" and on {_listed(planned.slot_keys)}" if planned.slot_keys else ""
        return f"The platform runs a pinned checker in its sandbox on the submitted files{inputs}."
    if stage.kind == "review":
        title = stage.review_protocol.title if stage.review_protocol else ""
        return f"Reviewers decide under the fixed protocol “{title}”."
    return _external_words(stage)


def _external_words(stage: ContractStage) -> str:
    bound = f" It has {duration_words(stage.deadline_s)} to answer." if stage.deadline_s else ""
    if stage.rule_owner == "partner":
        return f"{stage.external_system} decides, by its own rule. The platform records the decision.{bound}"
    return f"{stage.external_system} reports what it measured, and the Contract's rule decides from that.{bound}"


def _limits(current: Mapping[str, Any]) -> str:
    cores = "1 processor core" if current["vcpu"] == 1 else f"{current['vcpu']} processor cores"
    memory = size_words(current["memory_mb"] * _MIB)
    return f"{duration_words(current['timeout_seconds'])}, {memory} of memory, {cores}"


def file_sentence(role: Mapping[str, Any]) -> str:
    """What one role takes: `text/plain, at most 1 MB`."""
    return f"{' or '.join(role['media_types'])}, at most {size_words(role['max_bytes'])}"


SUMMARY_WORDS: Mapping[str, str] = {
    "required": "A summary is required. The checkers that accept one see it.",
    "optional": "A summary may be added.",
    "refused": "A summary is not taken.",
}


def left_open(stages: Sequence[PlannedStage], *, has_links: bool = False) -> list[str]:
    """What `verified` under such a plan does not establish; the Contract's own statement may say more."""
    kinds = {planned.stage.kind for planned in stages}
    lines = ["Anything beyond the Contract's statement, or about other bytes than those submitted."]
    if "sandbox" in kinds:
        lines.append(
            "That the checker is free of faults. Before it may be used it must agree with every fixture of the "
            "Contract, which is evidence and no proof."
        )
    if "review" in kinds:
        lines.append("That other reviewers would have decided the same. The protocol fixes who is asked, and what.")
    for planned in stages:
        stage = planned.stage
        if stage.rule_owner == "partner":
            lines.append(f"That {stage.external_system} decided rightly: in “{stage.title}” the partner decides.")
        elif stage.rule_owner == "contract":
            lines.append(f"That {stage.external_system} measured rightly: the platform did not repeat “{stage.title}”.")
    if has_links:
        lines.append("That a linked input is what its author says. The platform does not fetch links.")
    return lines


def _listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
