"""The context of a run's page, whole and as the parts that changed since a number of events."""

import hashlib
from datetime import datetime
from typing import Any

from django.urls import reverse

from verification.engine.reasons import ATTRIBUTION, Attribution
from verification.runs.documents import is_settled, record_bytes
from verification.runs.models import RunStatus
from verification.runs.projection import ProjectedRun, ProjectedStage
from verification.runs.selectors import ToldRun, expected_limits, later_runs, queue_place
from web import run_parts
from web.digests import compare
from web.quantities import size_words
from web.run_words import Surroundings, now_words, run_words
from web.states import state_of

MACHINERY = frozenset({Attribution.PLATFORM, Attribution.VERIFIER})


def run_context(run: ProjectedRun, *, at: datetime, given: str = "") -> dict[str, Any]:
    """Everything that the page shows."""
    around = _surroundings(run, at)
    later = later_runs(run) if run.status == RunStatus.FINISHED else []
    words = run_words(run, around)
    context = {
        "run": run,
        "words": words,
        "state_word": words.label or state_of(words.state).label,
        "notes": notes(run, later),
        "is_your_turn": _is_submitters_turn(run),
        "stages": run_parts.stage_rows(run, around),
        "durations": run_parts.machine_times(run),
        "facts": run_parts.facts(run),
        "usages": run_parts.usages(run),
        "inputs": run_parts.input_rows(run),
        "events": run_parts.record_entries(run, later),
        "crumbs": [*crumbs(run), (f"Run {run.number}", "")],
        **poll(run, at),
    }
    if is_settled(run):
        record = record_bytes(run)
        digest = f"sha256:{hashlib.sha256(record).hexdigest()}"
        context |= {
            "record_digest": digest,
            "record_size": size_words(len(record)),
            "command": run_parts.command(run),
            "command_html": run_parts.command_html(run),
            "given": given,
            "answer": compare(digest, given),
        }
    return context


def _is_submitters_turn(run: ProjectedRun) -> bool:
    """True for the submitter of what a new Submission can mend: not of passes, nor of what the machinery failed at."""
    if not run.is_submitter or run.status != RunStatus.FINISHED:
        return False
    if run.is_revoked:
        return True
    return run.reason_code is not None and ATTRIBUTION[run.reason_code] not in MACHINERY


def crumbs(run: ProjectedRun) -> list[tuple[str, str]]:
    """The way to the run's Submission."""
    return [
        ("Problems", "/problems/"),
        (run.problem_title, reverse("revision", args=[run.problem_slug, run.revision_number])),
        (f"Submission {run.submission_number}", reverse("submission", args=[run.submission_id])),
    ]


def poll(run: ProjectedRun, at: datetime) -> dict[str, Any]:
    """The variables of `components/poll.html`; the address says what the page has seen, and how long its pace lasts."""
    seconds = run_parts.poll_seconds(run, at)
    until = f"&until={int(run.created_at.timestamp()) + 60}" if seconds == 2 else ""
    return {
        "seconds": seconds,
        "live_url": f"{reverse('run_live', args=[run.id])}?v={run.event_number}{until}",
        "reload_url": reverse("run", args=[run.id]),
    }


def live_context(run: ProjectedRun, *, seen: int, at: datetime) -> dict[str, Any]:
    """What a page that has seen so many events lacks: changed stages, the banner, and what is to be announced."""
    context = run_context(run, at=at)
    # Events that are withheld are not counted here, so such a run sends all its stages again.
    news = [(kind, key) for _, kind, key in run.events[seen:]] if not run.is_withheld else None
    changed = {stage.number for stage in run.stages if news is None or _is_changed(stage, news)}
    context["stages"] = [row for row in context["stages"] if row["number"] in changed]
    context["has_ended"] = not context["seconds"]
    context["say"] = " ".join(_announcements(run, changed, context["state_word"]))
    return context


def _is_changed(stage: ProjectedStage, news: list[tuple[str, str]]) -> bool:
    kinds = {kind for kind, _ in news}
    if any(key == stage.key for _, key in news):
        return True
    return ("finished" in kinds and stage.state == "not_run") or ("fault" in kinds and stage.state == "not_started")


def _announcements(run: ProjectedRun, changed: set[int], word: str) -> list[str]:
    said = [
        f"Stage {stage.number}, {stage.title}: {state_of(stage.state).label}."
        for stage in run.stages
        if stage.number in changed
    ]
    return [*said, f"The run is finished: {word}."] if run.status == RunStatus.FINISHED else said


def notes(run: ProjectedRun, later: list[ToldRun]) -> list[dict[str, Any]]:
    """What stands between the banner and the stages: later runs, withdrawal."""
    told = [_later_note(run, newer) for newer in later[:3]]
    if run.withdrawn_at is not None:
        when = now_words(run.withdrawn_at, "day")
        text = "The bytes are gone; the record of what was checked stays."
        told.append({"state": "withdrawn", "strong": f"Withdrawn by the submitter, {when}.", "text": text})
    elif any(given.is_withdrawn for given in run.inputs):
        text = "Its bytes are gone; the record of what was checked stays."
        told.append({"state": "withdrawn", "strong": "A file was withdrawn by the submitter.", "text": text})
    return told


def _later_note(run: ProjectedRun, newer: ToldRun) -> dict[str, Any]:
    note = {"href": reverse("run", args=[newer.id]), "link": f"See run {newer.number}"}
    if newer.result is None:
        return note | {"state": "info", "strong": f"Run {newer.number} examines the same Submission again.", "text": ""}
    when = "" if newer.finished_at is None else f" on {now_words(newer.finished_at, 'minutes')}"
    if newer.is_revoked:
        return note | {"state": "revoked", "strong": f"Run {newer.number} was revoked.", "text": ""}
    if newer.result.value in ("inconclusive", "error"):
        ended = "in error" if newer.result.value == "error" else "inconclusive"
        stands = " The verdict stands." if run.result in ("verified", "refuted") and not run.is_revoked else ""
        text = f"Run {newer.number} ended{when}. That says nothing about the work."
        return note | {"state": newer.result.value, "strong": f"A later re-check ended {ended}.{stands}", "text": text}
    word = state_of(newer.result.value).label
    return note | {"state": newer.result.value, "strong": f"A later run came to {word}.", "text": f"It ended{when}."}


def _surroundings(run: ProjectedRun, at: datetime) -> Surroundings:
    if run.status == RunStatus.FINISHED:
        return Surroundings(at)
    waits_its_turn = run.wait is not None and run.wait.kind == "runner"
    place = queue_place(run.id, created_at=run.created_at, at=at) if waits_its_turn else None
    return Surroundings(at, place, expected_limits(run.contract_id))
