"""Reads over runs and Submissions, scoped to the viewer, in a constant number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.db.models.functions import TruncDate

from accounts.roles import Viewer, is_operator, is_participant
from problems.models import Problem, Release, Visibility
from submissions.models import Submission
from verification.engine.reasons import Result
from verification.engine.verdicts import DerivedState, RunFacts, derive
from verification.runs.models import RunArtifact, RunStatus, StageResult, VerificationRun
from verification.runs.projection import ProjectedRun, project


def readable_submissions(viewer: Viewer) -> QuerySet[Submission]:
    """The Submissions whose existence and results this viewer may know of (SPEC 2)."""
    submissions = Submission.objects.all()
    if is_operator(viewer):
        return submissions
    public = Q(attempt__revision__problem__results_visibility=Visibility.PUBLIC)
    if not is_participant(viewer):
        return submissions.filter(public)
    managed = Problem.managers.through.objects.filter(
        user_id=viewer.pk, problem_id=OuterRef("attempt__revision__problem_id")
    )
    return submissions.filter(public | Q(created_by=viewer) | Exists(managed))


def full_runs() -> QuerySet[VerificationRun]:
    """Runs with everything that the projection reads."""
    results = StageResult.objects.select_related("implementation", "fixture_set", "output", "log_redaction")
    artifacts = RunArtifact.objects.select_related("artifact")
    runs = VerificationRun.objects.select_related(
        "submission__created_by", "revision__problem__release", "contract__verifier", "execution", "revocation"
    )
    return (
        runs.prefetch_related("revision__problem__managers", "contract__stages", "references", "events")
        .prefetch_related(Prefetch("stage_results", results))
        .prefetch_related(Prefetch("artifacts", artifacts))
    )


def release_of(problem: Problem) -> Release | None:
    """The Problem's release; None before it."""
    return getattr(problem, "release", None)


def run_for(viewer: Viewer, run_id: str) -> ProjectedRun | None:
    """The run as this viewer may see it; None where it does not exist for them."""
    run = full_runs().filter(pk=run_id, submission__in=readable_submissions(viewer)).first()
    return None if run is None else project(run, viewer, release_of(run.revision.problem))


def runs_of_submission(viewer: Viewer, submission_id: str) -> list[ProjectedRun]:
    """Every run of a Submission, newest first, as this viewer may see them."""
    runs = full_runs().filter(submission_id=submission_id, submission__in=readable_submissions(viewer))
    return [project(run, viewer, release_of(run.revision.problem)) for run in runs.order_by("-created_at", "-id")]


def event_number(viewer: Viewer, run_id: str) -> int | None:
    """How many events the run has: what a live page compares. None where it does not exist for the viewer."""
    return (
        VerificationRun.objects.filter(pk=run_id, submission__in=readable_submissions(viewer))
        .annotate(event_count=Count("events"))
        .values_list("event_count", flat=True)
        .first()
    )


def stage_result_for(viewer: Viewer, run_id: str, stage_key: str) -> StageResult | None:
    """The stored result of one public stage, for its log and evidence; None where withheld or not readable."""
    result = (
        StageResult.objects.filter(
            run_id=run_id, stage__key=stage_key, run__submission__in=readable_submissions(viewer)
        )
        .select_related("run__revision__problem__release", "stage", "output", "log_redaction")
        .first()
    )
    if result is None or (result.is_protected and release_of(result.run.revision.problem) is None):
        return None
    return result


def derived_states(submissions: Iterable[Submission]) -> dict[str, DerivedState]:
    """The derived state of each Submission, in a constant number of queries. Deferred verdicts are not told.

    The Submissions come with `attempt__revision` selected.
    """
    listed = list(submissions)
    runs: dict[str, list[RunFacts]] = {submission.pk: [] for submission in listed}
    protected = StageResult.objects.filter(run_id=OuterRef("pk"), is_protected=True)
    rows = (
        VerificationRun.objects.filter(submission__in=[s.pk for s in listed])
        .select_related("revocation", "contract", "revision__problem__release", "submission")
        .annotate(has_protected=Exists(protected))
    )
    for run in rows:
        defers = (
            run.contract.verdict_release == "with_labels"
            and release_of(run.revision.problem) is None
            and run.has_protected
        )
        runs[run.submission_id].append(_facts(run, defers=defers))
    withdrawn = set(
        Submission.objects.filter(pk__in=list(runs), places__artifact__withdrawn_at__isnull=False).values_list(
            "pk", flat=True
        )
    )
    return {
        submission.pk: derive(
            runs[submission.pk],
            pinned_contract_id=submission.attempt.revision.verifier_contract_id,
            is_withdrawn=submission.withdrawn_at is not None or submission.pk in withdrawn,
        )
        for submission in listed
    }


def _facts(run: VerificationRun, *, defers: bool) -> RunFacts:
    return RunFacts(
        id=run.pk,
        contract_id=run.contract_id,
        created_at=run.created_at,
        finished_at=run.finished_at,
        status=run.status,
        result=Result(run.result) if run.result and not defers else None,
        is_revoked=hasattr(run, "revocation"),
        own_work=bool(run.submission.own_work),
    )


@dataclass(frozen=True)
class QueuePlace:
    """How a queued run stands: runs ahead of it, and what waits lately were (seconds; None without history)."""

    ahead: int
    fastest_s: float | None
    slowest_s: float | None


def queue_place(run_id: str, *, created_at: datetime, at: datetime) -> QueuePlace:
    """Where a queued run stands in the queue."""
    ahead = (
        VerificationRun.objects.filter(status=RunStatus.QUEUED, created_at__lt=created_at).exclude(pk=run_id).count()
    )
    lately = (
        VerificationRun.objects.filter(started_at__gt=at - timedelta(hours=24), trigger="submission")
        .order_by("-started_at")
        .values_list("created_at", "started_at")[:50]
    )
    waits = sorted((started - created).total_seconds() for created, started in lately if started is not None)
    if not waits:
        return QueuePlace(ahead, None, None)
    return QueuePlace(ahead, waits[len(waits) // 10], waits[len(waits) * 9 // 10])


@dataclass(frozen=True)
class DayCount:
    """Finished runs of one day (UTC), by result."""

    day: str
    verified: int
    refuted: int
    inconclusive: int
    error: int


def runs_per_day(problem: Problem, *, at: datetime, days: int = 30) -> list[DayCount]:
    """Finished runs of a Problem per day; nothing of Problems that defer verdicts before release."""
    rows = (
        VerificationRun.objects.filter(
            revision__problem=problem, finished_at__gt=at - timedelta(days=days), contract__verdict_release="immediate"
        )
        .annotate(day=TruncDate("finished_at"))
        .values("day")
        .annotate(
            verified=Count("id", filter=Q(result="verified")),
            refuted=Count("id", filter=Q(result="refuted")),
            inconclusive=Count("id", filter=Q(result="inconclusive")),
            error=Count("id", filter=Q(result="error")),
        )
        .order_by("day")
    )
    return [
        DayCount(row["day"].isoformat(), row["verified"], row["refuted"], row["inconclusive"], row["error"])
        for row in rows
    ]
