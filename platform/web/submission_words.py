"""What a Submission's page and every list of Submissions say: the derived verdict, and what came later."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from submissions.models import Submission
from verification.engine.reasons import LABELS
from verification.engine.verdicts import DerivedState, RunFacts
from verification.runs.projection import ProjectedRun
from verification.runs.selectors import derived_states
from web.run_words import Surroundings, Words, now_words, run_words

NOT_CHECKED = "Recorded, not checked"


def submission_words(
    submission: Submission, state: DerivedState, runs: Sequence[ProjectedRun], around: Surroundings
) -> Words:
    """The banner of a Submission's page: the verdict and what it rests on, else whose turn it is."""
    if submission.attempt.revision.verifier_contract_id is None:
        return Words(
            "not_checked",
            "This revision pins no Contract: Submissions are recorded and not checked.",
            ("Nothing here says whether the work is right.",),
            NOT_CHECKED,
        )
    if not state.is_eligible:
        when = "" if submission.withdrawn_at is None else f", {now_words(submission.withdrawn_at, 'day')}"
        return Words(
            "withdrawn",
            f"Withdrawn by the submitter{when}.",
            ("The bytes are gone; the record of what was checked stays.",),
        )
    by_id = {run.id: run for run in runs}
    shown = state.current_verdict or state.latest_run
    if shown is None or shown.id not in by_id:
        return Words("queued", "Its run has not been made yet; that happens by itself within a minute.")
    return run_words(by_id[shown.id], around)


def later_words(state: DerivedState) -> str:
    """The newest re-check without a verdict, as it stands beneath a verdict; empty for none."""
    if state.current_verdict is None or not state.later:
        return ""
    newest = state.later[0]
    when = "" if newest.finished_at is None else f" {now_words(newest.finished_at, 'day')}"
    label = "" if newest.result is None else LABELS[newest.result].lower()
    return f"latest re-check{when}: {label}. The verdict stands."


def state_name(submission: Submission, state: DerivedState) -> str:
    """The one word of a Submission in a list."""
    if submission.attempt.revision.verifier_contract_id is None:
        return "not_checked"
    if not state.is_eligible:
        return "withdrawn"
    shown = state.current_verdict or state.latest_run
    return "queued" if shown is None else run_state_name(shown)


def run_state_name(run: RunFacts) -> str:
    """The one word of a run in a list."""
    if run.is_revoked:
        return "revoked"
    if run.status != "finished":
        return run.status
    return "withheld" if run.result is None else run.result.value


def submission_rows(submissions: Sequence[Submission]) -> list[dict[str, Any]]:
    """Submissions for a list, each with its derived state, in a constant number of queries."""
    states = derived_states(submissions)
    return [
        {
            "submission": submission,
            "href": reverse("submission", args=[submission.pk]),
            "state": state_name(submission, states[submission.pk]),
            "later": later_words(states[submission.pk]),
            "label": NOT_CHECKED if submission.attempt.revision.verifier_contract_id is None else "",
        }
        for submission in submissions
    ]
