"""What a Problem's page shows, composed from its records for one viewer; no rule is decided here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404
from django.urls import reverse
from django.utils.http import urlencode

from accounts.roles import Viewer, is_operator, is_participant
from problems.models import Problem, Visibility
from problems.selectors import BoundSlot, ProblemState, ReadableRevision, bound_slots, problem_state
from submissions.models import Submission
from submissions.services import quota_left
from verification.contracts.models import VerifierContract
from verification.contracts.selectors import PlannedStage, plan_stages
from verification.engine.verdicts import DerivedState
from verification.runs.selectors import derived_states, release_of, runs_per_day
from verification.runs.tallies import COUNTED_UP_TO, newest_submissions
from web.acceptance import SUMMARY_WORDS, acceptance_lead, file_sentence, left_open, stage_words
from web.figures import DayCounts
from web.moments import day_words
from web.quantities import bounded_words

SUBMISSIONS_PER_PAGE = 20
FIGURE_DAYS = 30
MAX_PAGE = 100_000

STATE_LOOKS: Mapping[ProblemState, tuple[str, str]] = {
    ProblemState.OPEN: ("open", "Open"),
    ProblemState.NOT_OPEN_YET: ("not_started", "Not open yet"),
    ProblemState.CLOSED: ("closed", "Closed"),
    ProblemState.ARCHIVED: ("archived", "Archived"),
}


@dataclass(frozen=True)
class SubmitAct:
    """What a viewer can do about submitting: a form (`post_url`), a link, or the reason why neither."""

    label: str = ""
    post_url: str = ""
    link_url: str = ""
    why_not: str = ""


def problem_context(found: ReadableRevision, viewer: Viewer, *, page_number: int) -> dict[str, Any]:
    """Everything the page of one revision shows to one viewer."""
    revision, problem, at = found.revision, found.revision.problem, found.read_at
    contract = revision.verifier_contract
    stages = plan_stages(contract.pk) if contract else []
    slots = bound_slots(revision) if contract else []
    state = problem_state(problem, at=at)
    sees_all = problem.results_visibility == Visibility.PUBLIC or found.is_managed or is_operator(viewer)
    return {
        "problem": problem,
        "revision": revision,
        "contract": contract,
        "skill": revision.skill,
        "state": STATE_LOOKS[state],
        "is_replaced": found.current_number is not None and revision.number < found.current_number,
        "is_draft": revision.published_at is None,
        "current_number": found.current_number,
        "siblings": found.siblings,
        "is_managed": found.is_managed,
        "act": submit_act(found, viewer, state, slots),
        "acceptance": _acceptance(found, contract, stages, slots) if contract else None,
        "quota": _quota(problem, viewer, at),
        "slots": [shown_slot(bound, found) for bound in slots],
        "sees_all_results": sees_all,
        "days": _days(problem, at) if sees_all and contract else [],
        **_submissions(problem, viewer, page_number),
    }


def submit_act(found: ReadableRevision, viewer: Viewer, state: ProblemState, slots: Sequence[BoundSlot]) -> SubmitAct:
    """What this viewer can do about submitting to this revision now."""
    revision, problem = found.revision, found.revision.problem
    if revision.published_at is None:
        return SubmitAct(why_not="This is a draft. It takes work once it is published.")
    if found.current_number is not None and revision.number < found.current_number:
        address = reverse("problem", args=[problem.slug])
        return SubmitAct(label=f"Go to revision {found.current_number}, the current one", link_url=address)
    if state is not ProblemState.OPEN:
        return SubmitAct(why_not=_closed_words(state))
    is_sealed = any(bound.slot.sealed and bound.binding for bound in slots)
    if found.is_managed and is_sealed and release_of(problem) is None:
        return SubmitAct(why_not="You manage this Problem and can read its sealed inputs, so you cannot submit to it.")
    if not is_participant(viewer):
        here = urlencode({"next": reverse("problem", args=[problem.slug])})
        return SubmitAct(label="Sign in to submit", link_url=f"{reverse('account_login')}?{here}")
    address = reverse("open_attempt", args=[problem.slug, revision.number])
    return SubmitAct(label=f"Submit under revision {revision.number}", post_url=address)


def _closed_words(state: ProblemState) -> str:
    if state is ProblemState.NOT_OPEN_YET:
        return "This Problem takes no work yet."
    if state is ProblemState.ARCHIVED:
        return "This Problem is archived: everything stays readable, and it takes no more work."
    return "This Problem takes no more work. Everything stays readable."


def _acceptance(
    found: ReadableRevision, contract: VerifierContract, stages: Sequence[PlannedStage], slots: Sequence[BoundSlot]
) -> dict[str, Any]:
    has_links = any(bound.binding and bound.binding["kind"] == "linked" for bound in slots)
    return {
        "lead": acceptance_lead(stages, contract),
        "stages": [stage_words(planned) for planned in stages],
        "files": [(role["key"], file_sentence(role)) for role in found.roles],
        "summary": SUMMARY_WORDS[contract.summary],
        "left_open": left_open(stages, has_links=has_links),
    }


def _quota(problem: Problem, viewer: Viewer, at: datetime) -> dict[str, Any] | None:
    """The allowance of a day; `left` and `resets_at` only for somebody who could use it."""
    if problem.quota_per_day is None:
        return None
    left = quota_left(problem=problem, user=viewer, at=at) if is_participant(viewer) else None
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return {"per_day": problem.quota_per_day, "left": left, "resets_at": midnight}


def shown_slot(bound: BoundSlot, found: ReadableRevision) -> dict[str, Any]:
    """One slot as the viewer may see it: a sealed binding by its commitment, until release."""
    binding, problem = bound.binding, found.revision.problem
    hides = bound.slot.sealed and release_of(problem) is None
    shown: dict[str, Any] = {"slot": bound.slot, "binding": binding, "is_sealed": hides, "href": ""}
    if binding is None:
        return shown
    tells_digest = not hides or found.is_managed
    shown["digest"] = binding["content_hash"] if tells_digest else ""
    shown["size_bytes"] = binding["size_bytes"] if tells_digest else None
    shown["commitment"] = binding["commitment"]
    shown["filename"] = binding["filename"] or bound.slot.key
    if not hides:
        shown["href"] = reverse("reference", args=[problem.slug, found.revision.number, bound.slot.key])
    return shown


def _days(problem: Problem, at: datetime) -> list[DayCounts]:
    """The last thirty days, quiet ones included; nothing at all where nothing finished."""
    counted = {day.day: day for day in runs_per_day(problem, at=at, days=FIGURE_DAYS)}
    if not counted:
        return []
    days = []
    for ago in range(FIGURE_DAYS - 1, -1, -1):
        date = (at - timedelta(days=ago)).date()
        day = counted.get(date.isoformat())
        numbers = (day.verified, day.refuted, day.inconclusive, day.error) if day else (0, 0, 0, 0)
        days.append(DayCounts(day_words(date), *numbers))
    return days


def _submissions(problem: Problem, viewer: Viewer, page_number: int) -> dict[str, Any]:
    rows, total = newest_submissions(viewer, problem, page_number=page_number, page_size=SUBMISSIONS_PER_PAGE)
    if not rows and page_number > 1:
        raise Http404
    states = derived_states(rows)
    return {
        "submissions": [_submission_row(row, states[row.pk]) for row in rows],
        "submission_count": bounded_words(total, COUNTED_UP_TO) if total else "",
        "page_obj": counted_page(rows, total=total, number=page_number, size=SUBMISSIONS_PER_PAGE),
    }


def _submission_row(submission: Submission, derived: DerivedState) -> dict[str, Any]:
    revision = submission.attempt.revision
    return {
        "submission": submission,
        "href": reverse("submission", args=[submission.pk]),
        "by": submission.created_by,
        "revision_number": revision.number,
        "state": verdict_state(derived, pins_contract=revision.verifier_contract_id is not None),
        "later": derived.later[0] if derived.current_verdict and derived.later else None,
        "own_work": submission.get_own_work_display() if submission.own_work else "",
    }


def verdict_state(derived: DerivedState, *, pins_contract: bool) -> str:
    """The one state of a Submission in a list: its verdict where it has one, else how its newest run stands."""
    if not derived.is_eligible:
        return "withdrawn"
    if derived.current_verdict is not None:
        return str(derived.current_verdict.result)
    run = derived.latest_run
    if run is None:
        return "queued" if pins_contract else "not_checked"
    if run.is_revoked:
        return "revoked"
    if run.status != "finished":
        return run.status
    return "withheld" if run.result is None else str(run.result)


def counted_page(rows: Sequence[Any], *, total: int, number: int, size: int) -> "Page[Any]":
    """A page of rows that were fetched together with their total."""
    paginator: Paginator[Any] = Paginator(range(total), size)
    return Page(rows, number, paginator)


def page_number_of(text: str) -> int:
    """The number of the page asked for; 1 for anything that is none."""
    return min(int(text), MAX_PAGE) if text.isascii() and text.isdigit() and len(text) < 9 and int(text) else 1
