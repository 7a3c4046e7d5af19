"""What a run's page says: its result with cause and next step, or whose turn it is, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from verification.engine.reasons import ATTRIBUTION, EXPLANATION, LABELS, Attribution, Result
from verification.runs.models import RunStatus
from verification.runs.projection import ProjectedRun, ProjectedStage
from verification.runs.selectors import QueuePlace
from web.moments import moment_words
from web.quantities import counted, duration_words
from web.reason_help import NEXT_STEPS, PARTY_SENTENCES
from web.templatetags.tfp import moment

SEALED = "Sealed until the labels are released. Its commitment is public, so you can check then that nothing changed."
ERROR = "The machinery failed, ours or the checker's; no finding about {} work."
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
MAX_BRACKETS = 160
_BY = {"sandbox": "the platform", "review": "reviewers", "external": "an outside system"}


@dataclass(frozen=True)
class Words:
    """What the banner says; `state` chooses icon and colour, `label` replaces the state's own word."""

    state: str
    sentence: str
    lines: tuple[str | SafeString, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class Surroundings:
    """What the words of an unfinished run need besides the run: the moment, its place, and limits by stage key."""

    at: datetime
    place: QueuePlace | None = None
    limits: Mapping[str, int] | None = None


def run_words(run: ProjectedRun, around: Surroundings) -> Words:
    """The banner of a run's page."""
    if run.is_revoked:
        return _revoked(run)
    if run.status != RunStatus.FINISHED:
        return _under_way(run, around)
    if run.result is None:
        return Words("withheld", SEALED, (_under_contract(run),), run.label)
    by_result = {Result.VERIFIED: _verified, Result.REFUTED: _refuted, Result.INCONCLUSIVE: _inconclusive}
    words = by_result.get(run.result, _error)(run)
    return Words(words.state, words.sentence, (*words.lines, _under_contract(run)))


def in_words(number: int) -> str:
    """A small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def now_words(moment_: datetime, form: str = "full") -> str:
    """A moment in the reader's zone, as plain text."""
    return moment_words(moment_, timezone.get_current_timezone(), form)


def current_stage(run: ProjectedRun) -> ProjectedStage | None:
    """The stage that is running, waiting or next; None when the run is finished."""
    if run.status == RunStatus.FINISHED:
        return None
    return next((stage for stage in run.stages if stage.result is None and not stage.is_withheld), None)


def failed_stage(run: ProjectedRun) -> ProjectedStage | None:
    """The executed stage that did not pass; None where every one passed, or none was executed."""
    return next((s for s in run.stages if s.result is not None and s.result is not Result.VERIFIED), None)


def finding_text(finding: Any) -> str:
    """A finding, which is a text or a flat object, on one line."""
    if isinstance(finding, Mapping):
        return ", ".join(f"{name}: {value}" for name, value in finding.items())
    return str(finding)


def cause_of(run: ProjectedRun) -> str:
    """Why the run ended as it did: what was unmet, else what the checker said, else what the reason code means."""
    if run.reason_detail:
        return run.reason_detail
    stage = failed_stage(run)
    if stage is not None and stage.findings:
        return _said(stage.findings)
    return EXPLANATION[run.reason_code] if run.reason_code else ""


def _said(findings: Sequence[Any]) -> str:
    """The first finding, with the second in brackets where both make one sentence: `Not complete (line 3).`"""
    first = finding_text(findings[0])
    second = finding_text(findings[1]) if len(findings) > 1 else ""
    if not second or len(second) > MAX_BRACKETS or not first.endswith(".") or second.endswith("."):
        return first
    return f"{first[:-1]} ({second})."


def passed_words(stages: Sequence[ProjectedStage]) -> str:
    """That every stage passed, and who checked them."""
    if len(stages) == 1:
        return f"Its one stage, {stages[0].title}, passed: checked by {_BY[stages[0].kind]}."
    counts = {kind: sum(stage.kind == kind for stage in stages) for kind in _BY}
    shares = [f"{in_words(count)} by {_BY[kind]}" for kind, count in counts.items() if count]
    return f"All {in_words(len(stages))} stages passed: {', '.join(shares)}."


def queue_words(place: QueuePlace | None) -> str:
    """Runs ahead, and what waits were lately."""
    if place is None:
        return ""
    ahead = "Next in line" if place.ahead == 0 else f"{counted(place.ahead, 'run,runs')} ahead"
    if place.fastest_s is None or place.slowest_s is None:
        return f"{ahead}; no run waited lately."
    fastest, slowest = duration_words(place.fastest_s), duration_words(place.slowest_s)
    return f"{ahead}; lately {fastest}." if fastest == slowest else f"{ahead}; lately {fastest} to {slowest}."


def _verified(run: ProjectedRun) -> Words:
    lines: list[str] = [f"Score: {run.score}."] if run.score is not None else []
    lines.append(
        "What this does not establish: anything beyond the Contract's statement, or about any other bytes than these."
    )
    return Words("verified", passed_words(run.stages), tuple(lines))


def _refuted(run: ProjectedRun) -> Words:
    stage = failed_stage(run)
    cause = cause_of(run)
    sentence = f"{stage.title}: {lower_first(cause)}" if stage is not None and cause else cause or "Not satisfied."
    return Words("refuted", sentence, _next_lines(run))


def _inconclusive(run: ProjectedRun) -> Words:
    sentence = f"Nothing is shown either way: {lower_first(cause_of(run))}" if cause_of(run) else "Nothing is shown."
    return Words("inconclusive", sentence, _next_lines(run))


def _error(run: ProjectedRun) -> Words:
    lines = [] if run.reason_code is None else [EXPLANATION[run.reason_code]]
    if run.reason_detail:
        lines.append(run.reason_detail)
    lines.append("Staff see it; a re-examination is a new run.")
    return Words("error", ERROR.format("your" if run.is_submitter else "the"), tuple(lines))


def _next_lines(run: ProjectedRun) -> tuple[str, ...]:
    code = run.reason_code
    if code is None:
        return ()
    if run.is_submitter or ATTRIBUTION[code] is not Attribution.CANDIDATE:
        return (NEXT_STEPS[code],)
    return (PARTY_SENTENCES[ATTRIBUTION[code]],)


def _revoked(run: ProjectedRun) -> Words:
    was = LABELS[run.result] if run.result is not None else "finished"
    since = f" from {now_words(run.finished_at, 'day')}" if run.finished_at else ""
    until = f" to {now_words(run.revoked_at, 'day')}" if run.revoked_at else ""
    lines = [
        format_html("Revoked by staff, {}. Reason: “{}”", moment(run.revoked_at), run.revocation_reason_md),
        "The record below stays as it was.",
        _under_contract(run),
    ]
    return Words("revoked", f"Was {was}{since}{until}. No longer counts.", tuple(lines))


def _under_contract(run: ProjectedRun) -> SafeString:
    return format_html(
        'Under Contract <a href="{}">{}</a>, revision {} of the Problem.',
        reverse("contract", args=[run.contract_id]),
        run.contract_name,
        run.revision_number,
    )


def _under_way(run: ProjectedRun, around: Surroundings) -> Words:
    stage = current_stage(run)
    if run.wait is not None and run.wait.kind != "runner":
        return _waiting(run)
    if run.wait is not None:
        return _queued(run, around)
    if stage is None or stage.state != "running":
        return Words("running", "A runner has it and reads every input again before it checks anything.", _leave(run))
    where = f"Stage {stage.number} of {len(run.stages)}, {stage.title}."
    limit = (around.limits or {}).get(stage.key)
    took = "" if stage.started_at is None else f" {running_words(stage.started_at, limit, around.at)}."
    started = [] if run.started_at is None else [_started(run, run.started_at)]
    return Words("running", where + took, (*started, *_leave(run)))


def running_words(started_at: datetime, limit_s: int | None, at: datetime) -> str:
    """How long a stage has run, of how long it may."""
    seconds = max(0, int((at - started_at).total_seconds()))
    return f"{seconds} s of {limit_s} s" if limit_s else f"{seconds} s"


def _started(run: ProjectedRun, started_at: datetime) -> str:
    waited = (started_at - run.created_at).total_seconds()
    return f"Started {now_words(started_at, 'clock')}, after {duration_words(max(0.0, waited))} in the queue."


def _queued(run: ProjectedRun, around: Surroundings) -> Words:
    faults = [at for at, kind, _ in run.events if kind == "fault"]
    if faults and run.events[-1][1] == "fault":
        sentence = f"The machinery failed at {now_words(faults[-1], 'clock')} and tries again by itself."
        return Words("queued", sentence, ("Nothing is asked of you. Your place is kept.", *_leave(run)))
    sentence = f"Waiting for a free runner since {now_words(run.created_at, 'clock')}."
    return Words("queued", sentence, (*filter(None, [queue_words(around.place)]), *_leave(run)))


def _waiting(run: ProjectedRun) -> Words:
    if run.wait is None:
        raise ValueError("expected a run that waits")
    lines = [f"Since {now_words(run.wait.since, 'minutes')}. Your place is kept."]
    if run.wait.until is not None:
        lines.append(f"If nothing happens by {now_words(run.wait.until, 'minutes')}, the run ends inconclusive.")
    return Words("waiting", run.wait.text, (*lines, *_leave(run)))


def _leave(run: ProjectedRun) -> tuple[str, ...]:
    """What the submitter may do meanwhile."""
    return ("You can close this page; a notice waits for you when there is a result.",) if run.is_submitter else ()


def lower_first(text: str) -> str:
    """The text fit to follow a colon: its first letter small, unless the word is more than a plain word."""
    if len(text) > 1 and text[0].isupper() and (text[1].islower() or text[1] == " "):
        return text[0].lower() + text[1:]
    return text
