"""The context of a Submission's page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html

from accounts.roles import Viewer, is_participant
from submissions.models import Submission
from verification.engine.reasons import LABELS
from verification.engine.verdicts import DerivedState
from verification.runs.models import RunStatus
from verification.runs.projection import ProjectedRun, may_read_artifacts
from verification.runs.selectors import expected_limits, queue_place
from web.attempt_words import file_row
from web.run_words import Surroundings
from web.submission_words import later_words, submission_words
from web.templatetags.tfp import hash_tag, moment


def submission_context(
    submission: Submission, state: DerivedState, runs: Sequence[ProjectedRun], *, viewer: Viewer, at: datetime
) -> dict[str, Any]:
    """Everything that the page shows."""
    revision = submission.attempt.revision
    problem = revision.problem
    is_submitter = is_participant(viewer) and viewer.pk == submission.created_by_id
    managers = frozenset[str](submission.manager_ids)  # type: ignore[attr-defined]
    rests_on = state.current_verdict or state.latest_run
    return {
        "submission": submission,
        "revision": revision,
        "problem": problem,
        "words": submission_words(submission, state, runs, _surroundings(rests_on, runs, at)),
        "rests_on": next((run for run in runs if rests_on is not None and run.id == rests_on.id), None),
        "is_verdict": state.current_verdict is not None,
        "later": later_words(state),
        "later_strong": "" if rests_on is None or rests_on.result is None else f"{LABELS[rests_on.result]} ·",
        "later_run": state.later[0] if state.later else None,
        "runs": [_run_row(run) for run in runs],
        "files": _file_rows(submission),
        "facts": _facts(submission),
        "events": _events(submission, runs),
        "is_submitter": is_submitter,
        "may_read_artifacts": may_read_artifacts(
            viewer, problem=problem, submitter_id=submission.created_by_id, manager_ids=managers
        ),
        "is_under_way": any(run.status != RunStatus.FINISHED for run in runs),
        "crumbs": [
            ("Problems", "/problems/"),
            (problem.title, reverse("revision", args=[problem.slug, revision.number])),
            (f"Submission {submission.number}", ""),
        ],
    }


def _surroundings(rests_on: Any, runs: Sequence[ProjectedRun], at: datetime) -> Surroundings:
    run = next((run for run in runs if rests_on is not None and run.id == rests_on.id), None)
    if run is None or run.status == RunStatus.FINISHED:
        return Surroundings(at)
    place = None
    if run.wait is not None and run.wait.kind == "runner":
        place = queue_place(run.id, created_at=run.created_at, at=at)
    return Surroundings(at, place, expected_limits(run.contract_id))


def _run_row(run: ProjectedRun) -> dict[str, Any]:
    if run.is_revoked:
        state = "revoked"
    elif run.status != RunStatus.FINISHED:
        state = "waiting" if run.wait is not None and run.wait.kind != "runner" else run.status
    else:
        state = "withheld" if run.result is None else run.result.value
    return {
        "run": run,
        "href": reverse("run", args=[run.id]),
        "state": state,
        "why": "Submission" if run.trigger == "submission" else "Asked for by staff",
        "contract_href": reverse("contract", args=[run.contract_id]),
    }


def _file_rows(submission: Submission) -> list[dict[str, Any]]:
    roles: list[str] = submission.roles  # type: ignore[attr-defined]
    return [
        {
            **file_row(place.artifact),
            "role": roles[place.position] if place.position < len(roles) else f"file {place.position + 1}",
        }
        for place in submission.places.all()
    ]


def _facts(submission: Submission) -> list[tuple[str, Any]]:
    revision = submission.attempt.revision
    contract = revision.verifier_contract
    return [
        ("Submission", hash_tag(submission.pk, copy=True)),
        ("Digest", hash_tag(submission.content_hash, copy=True)),
        ("Submitted by", str(submission.created_by)),
        ("Received", moment(submission.created_at)),
        ("Revision", format_html('<a href="{}">{}</a>', _revision_address(submission), f"Revision {revision.number}")),
        (
            "Contract",
            "none: recorded, not checked"
            if contract is None
            else hash_tag(contract.normative_hash, href=reverse("contract", args=[contract.pk]), copy=True),
        ),
    ]


def _revision_address(submission: Submission) -> str:
    revision = submission.attempt.revision
    return reverse("revision", args=[revision.problem.slug, revision.number])


def _events(submission: Submission, runs: Sequence[ProjectedRun]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"at": submission.created_at, "text": "Received from the submitter."}]
    if submission.withdrawn_at is not None:
        entries.append({"at": submission.withdrawn_at, "strong": "Withdrawn", "text": "by the submitter."})
    for run in reversed(runs):
        link = format_html('<a href="{}">Run {}</a>', reverse("run", args=[run.id]), run.number)
        entries.append({"at": run.created_at, "text": format_html("{} queued.", link)})
        if run.finished_at is not None:
            word = LABELS[run.result] if run.result is not None else run.label
            entries.append({"at": run.finished_at, "strong": f"{word}.", "text": format_html("{} finished.", link)})
        if run.revoked_at is not None:
            text = format_html("{}, by staff: {}", link, run.revocation_reason_md)
            entries.append({"at": run.revoked_at, "strong": "Revoked:", "text": text})
    entries.sort(key=_moment)
    return entries[::-1]


def _moment(entry: dict[str, Any]) -> datetime:
    at: datetime = entry["at"]
    return at
