"""What `My work` and the notices say."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse

from notices.models import Notice
from submissions.models import Attempt
from submissions.services import WorkRefused, check_window
from verification.runs.selectors import ToldRun
from web.quantities import counted


def needs_you(attempts: Iterable[Attempt], *, at: datetime) -> list[dict[str, Any]]:
    """Open Attempts that take work and have no Submission yet."""
    return [
        {
            "title": attempt.revision.problem.title,
            "href": reverse("attempt", args=[attempt.pk]),
            "revision": attempt.revision.number,
            "opened_at": attempt.opened_at,
            "text": _turn(attempt),
        }
        for attempt in attempts
        if not _submission_count(attempt) and _takes_work(attempt, at)
    ]


def _turn(attempt: Attempt) -> str:
    files: int = attempt.file_count  # type: ignore[attr-defined]
    if files:
        return f"{counted(files, 'file')} uploaded, nothing submitted yet. Choose what to submit."
    return "Opened, nothing uploaded yet."


def _submission_count(attempt: Attempt) -> int:
    count: int = attempt.submission_count  # type: ignore[attr-defined]
    return count


def _takes_work(attempt: Attempt, at: datetime) -> bool:
    try:
        check_window(attempt.revision.problem, at=at)
    except WorkRefused:
        return False
    return True


def notice_rows(notices: Sequence[Notice], runs: Mapping[str, ToldRun]) -> list[dict[str, Any]]:
    """Notices in words; what they tell of a run is what its page would tell now."""
    rows = []
    for notice in notices:
        run = runs.get(notice.subject_id)
        row: dict[str, Any] = {"at": notice.created_at, "is_unread": notice.read_at is None}
        if run is None:
            rows.append(row | {"state": "info", "text": "It concerned something that is not visible to you any more."})
            continue
        state = "revoked" if run.is_revoked else "withheld" if run.result is None else run.result.value
        rows.append(
            row
            | {
                "state": state,
                "href": reverse("run", args=[run.id]),
                "link": f"Run {run.number} of Submission {run.submission_number}",
                "text": run.problem_title,
            }
        )
    return rows
