"""Counts over runs and Submissions for lists and the status page; nothing private or deferred is ever counted apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, F, IntegerField, Min, OuterRef, Q, QuerySet, Subquery

from accounts.roles import Viewer
from problems.models import Problem, Visibility
from submissions.models import Submission, SubmissionArtifact
from verification.contracts.models import ConformanceRecord, ConformanceStatus
from verification.engine.reasons import Result
from verification.runs.models import RunExecution, RunStatus, StageResult, SweepTally, VerificationRun
from verification.runs.selectors import readable_submissions

DAY = timedelta(hours=24)


# Lists count this far and then say "more than": an exact number would read every row of a large Problem.
COUNTED_UP_TO = 1_000


class CountUpTo(Subquery):
    """How many rows a query has, counted no further than its slice."""

    template = "(SELECT count(*) FROM (%(subquery)s) _counted)"
    output_field = IntegerField()


@dataclass(frozen=True)
class SubmissionCount:
    """Of one Problem: the Submissions a viewer may know of, and how many of those are verified now.

    A number above `COUNTED_UP_TO` means that there are more.
    """

    readable: int = 0
    verified: int = 0


def with_told_verdict() -> QuerySet[VerificationRun]:
    """Finished runs that stand and whose verified or refuted is told already, not deferred to the release."""
    protected = StageResult.objects.filter(run=OuterRef("pk"), is_protected=True)
    deferred = Q(contract__verdict_release="with_labels", revision__problem__release=None) & Exists(protected)
    return VerificationRun.objects.filter(
        status=RunStatus.FINISHED,
        result__in=[Result.VERIFIED, Result.REFUTED],
        revocation=None,
        contract=F("revision__verifier_contract"),
    ).exclude(deferred)


def submission_counts(viewer: Viewer, problem_ids: Sequence[str]) -> dict[str, SubmissionCount]:
    """The counts of each Problem, in one query; `derive` in SQL, and a test holds the two together."""
    readable = readable_submissions(viewer)
    later = Q(created_at__gt=OuterRef("created_at")) | Q(created_at=OuterRef("created_at"), pk__gt=OuterRef("pk"))
    newer = with_told_verdict().filter(later, submission=OuterRef("submission"))
    withdrawn = SubmissionArtifact.objects.filter(
        submission=OuterRef("submission"), artifact__withdrawn_at__isnull=False
    )
    verified = (
        with_told_verdict()
        .filter(result=Result.VERIFIED, submission__in=readable, submission__withdrawn_at=None)
        .filter(~Exists(newer), ~Exists(withdrawn))
        .filter(revision__problem=OuterRef("pk"))
    )
    counted = Problem.objects.filter(pk__in=problem_ids).annotate(
        readable=_up_to(readable.filter(attempt__revision__problem=OuterRef("pk"))), verified=_up_to(verified)
    )
    return {row.pk: SubmissionCount(row.readable, row.verified) for row in counted}


def _up_to(rows: QuerySet[Any]) -> CountUpTo:
    return CountUpTo(rows.order_by().values("pk")[: COUNTED_UP_TO + 1])


def newest_submissions(
    viewer: Viewer, problem: Problem, *, page_number: int, page_size: int
) -> tuple[list[Submission], int]:
    """One page of the Problem's Submissions that the viewer may know of, newest first, and how many there are.

    They are counted up to `COUNTED_UP_TO`, and a page or so beyond the one asked for. A page beyond the last is empty
    and counts none; the caller decides what that means.
    """
    start = (page_number - 1) * page_size
    readable = readable_submissions(viewer).filter(attempt__revision__problem=problem)
    bound = max(COUNTED_UP_TO, start + page_size) + 1
    found = list(
        readable.select_related("attempt__revision", "created_by")
        .annotate(counted=CountUpTo(readable.order_by().values("pk")[:bound]))
        .order_by("-created_at", "-pk")[start : start + page_size]
    )
    return list(found), found[0].counted if found else 0


@dataclass(frozen=True)
class Worker:
    """A process that holds leases: who it is, and how many runs or conformance records it works on."""

    holder: str
    runs: int
    conformance: int


@dataclass(frozen=True)
class PlatformStatus:
    """How the machinery stands. `results` counts public Problems' runs only; the others are in `untold`."""

    queued: int
    oldest_queued_at: datetime | None
    running: int
    waiting: int
    results: dict[str, int]
    untold: int
    sweeps: tuple[tuple[str, int], ...]
    workers: tuple[Worker, ...]
    conformance_open: int


def platform_status(*, at: datetime) -> PlatformStatus:
    """How the machinery stands at that moment, in six queries."""
    waiting, is_held = ~Q(execution__waiting_for=""), Q(execution__lease_until__gt=at)
    # A run that was taken but has not begun its first stage is still named queued, and nobody waits for it any more.
    queued = Q(status=RunStatus.QUEUED, execution__waiting_for="") & (Q(execution__lease_until=None) | ~is_held)
    open_runs = VerificationRun.objects.exclude(status=RunStatus.FINISHED).aggregate(
        queued=Count("pk", filter=queued),
        oldest=Min("created_at", filter=queued),
        running=Count("pk", filter=is_held | Q(status=RunStatus.RUNNING, execution__waiting_for="")),
        waiting=Count("pk", filter=waiting),
    )
    lately = VerificationRun.objects.filter(finished_at__gt=at - DAY, finished_at__lte=at)
    told = Q(revision__problem__results_visibility=Visibility.PUBLIC, contract__verdict_release="immediate")
    counted = lately.aggregate(
        untold=Count("pk", filter=~told),
        **{result.value: Count("pk", filter=told & Q(result=result)) for result in Result},
    )
    sweeps = SweepTally.objects.filter(day_date=at.date()).order_by("-fired", "kind").values_list("kind", "fired")
    held = dict(_held_by(RunExecution.objects.filter(lease_until__gt=at)))
    conforming = dict(_held_by(ConformanceRecord.objects.filter(lease_until__gt=at)))
    return PlatformStatus(
        queued=open_runs["queued"],
        oldest_queued_at=open_runs["oldest"],
        running=open_runs["running"],
        waiting=open_runs["waiting"],
        results={result.value: counted[result.value] for result in Result},
        untold=counted["untold"],
        sweeps=tuple(sweeps),
        workers=tuple(
            Worker(holder, held.get(holder, 0), conforming.get(holder, 0)) for holder in sorted(held | conforming)
        ),
        conformance_open=ConformanceRecord.objects.filter(implementation__yanked_at=None)
        .filter(status__in=[ConformanceStatus.PENDING, ConformanceStatus.RUNNING, ConformanceStatus.ERROR])
        .count(),
    )


def _held_by(rows: QuerySet[Any]) -> Any:
    return rows.exclude(holder="").order_by().values_list("holder").annotate(Count("pk"))
