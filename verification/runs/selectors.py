"""Reads over runs and Submissions, scoped to the viewer, in a constant number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import TruncDate

from accounts.models import User
from accounts.roles import Viewer, is_operator, is_participant
from problems.models import Problem, Release, Visibility
from submissions.models import Artifact, Submission, SubmissionArtifact
from verification.contracts.models import ArtifactRole, ConformanceRecord, ConformanceStatus
from verification.contracts.selectors import current_sets
from verification.engine.reasons import Result
from verification.engine.verdicts import DerivedState, RunFacts, derive
from verification.runs.models import RunArtifact, RunStatus, StageResult, VerificationRun
from verification.runs.projection import ProjectedRun, may_read_artifacts, project, project_all


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
        runs.annotate(manager_ids=manager_ids_of("revision__problem_id"))
        .prefetch_related("contract__stages", "references", "events")
        .prefetch_related(Prefetch("stage_results", results))
        .prefetch_related(Prefetch("artifacts", artifacts))
    )


def manager_ids_of(problem_column: str) -> ArraySubquery:
    """The ids of a Problem's managers, as a column."""
    managers = Problem.managers.through.objects.filter(problem_id=OuterRef(problem_column))
    return ArraySubquery(managers.values("user_id"))


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
    listed = [(run, release_of(run.revision.problem)) for run in runs.order_by("-created_at", "-id")]
    return project_all(listed, viewer, has_evidence=False)


@dataclass(frozen=True)
class ToldRun:
    """As much of a run as lists and notices tell; `result` is None while it is under way, or withheld."""

    id: str
    number: int
    submission_number: int
    problem_title: str
    status: str
    result: Result | None
    finished_at: datetime | None
    is_revoked: bool


def told_runs(viewer: Viewer, run_ids: Iterable[str]) -> dict[str, ToldRun]:
    """Those of the runs that this viewer may know of, by id."""
    rows = _told_rows().filter(pk__in=list(run_ids), submission__in=readable_submissions(viewer))
    return {row.pk: _told(row) for row in rows}


def later_runs(run: ProjectedRun) -> list[ToldRun]:
    """The Submission's runs after this one under the same Contract, newest first."""
    rows = _told_rows().filter(submission_id=run.submission_id, contract_id=run.contract_id, number__gt=run.number)
    return [_told(row) for row in rows.order_by("-number")]


def _told_rows() -> QuerySet[VerificationRun]:
    protected = StageResult.objects.filter(run_id=OuterRef("pk"), is_protected=True)
    return VerificationRun.objects.select_related(
        "revocation", "contract", "revision__problem__release", "submission"
    ).annotate(has_protected=Exists(protected))


def _hides(row: VerificationRun) -> tuple[bool, bool]:
    """Whether the row's result, and the moment of its end, are withheld before release."""
    is_released = release_of(row.revision.problem) is not None
    has_protected: bool = row.has_protected  # type: ignore[attr-defined]
    hides = has_protected and not is_released
    return hides and row.contract.verdict_release == "with_labels", hides


def _told(row: VerificationRun) -> ToldRun:
    hides_result, hides_end = _hides(row)
    return ToldRun(
        id=row.pk,
        number=row.number,
        submission_number=row.submission.number,
        problem_title=row.revision.problem.title,
        status=row.status,
        result=Result(row.result) if row.result and not hides_result else None,
        finished_at=None if hides_end else row.finished_at,
        is_revoked=hasattr(row, "revocation"),
    )


def expected_limits(contract_id: str) -> dict[str, int]:
    """Seconds that each sandbox stage may take under the newest Implementation able to execute it, by stage key."""
    passed = ConformanceRecord.objects.filter(
        status=ConformanceStatus.PASSED,
        implementation__contract_id=contract_id,
        implementation__yanked_at=None,
        fixture_set=Subquery(current_sets(OuterRef("implementation__stage")).values("pk")),
    )
    rows = passed.order_by("implementation__created_at", "implementation__number").values_list(
        "implementation__stage__key", "implementation__timeout_seconds"
    )
    return dict(rows)


@dataclass(frozen=True)
class ReadableArtifact:
    """An Artifact that a viewer may know of, and whether its bytes are theirs to read."""

    artifact: Artifact
    may_read_bytes: bool
    submissions: list[Submission]
    is_participant: bool


def artifact_for(viewer: Viewer, artifact_id: str) -> ReadableArtifact | None:
    """The Artifact with the readable Submissions that offer it; None where it does not exist for the viewer (SPEC 2).

    Until it is part of a Submission it is its participant's alone.
    """
    artifact = (
        Artifact.objects.filter(pk=artifact_id)
        .select_related("attempt__revision__problem", "blob", "uploaded_by")
        .annotate(manager_ids=manager_ids_of("attempt__revision__problem_id"))
        .first()
    )
    if artifact is None:
        return None
    submissions = list(
        readable_submissions(viewer).filter(places__artifact=artifact).select_related("created_by").order_by("number")
    )
    owner_id = artifact.attempt.participant_id
    is_own = is_participant(viewer) and viewer.pk == owner_id
    if not submissions and not is_own:
        return None
    problem = artifact.attempt.revision.problem
    manager_ids = frozenset(artifact.manager_ids)
    may_read = may_read_artifacts(viewer, problem=problem, submitter_id=owner_id, manager_ids=manager_ids)
    return ReadableArtifact(artifact, may_read, submissions, is_own)


def submission_for(viewer: Viewer, submission_id: str) -> Submission | None:
    """The Submission for its page, with `manager_ids` and the Contract's `roles`; None where it does not exist here."""
    return (
        readable_submissions(viewer)
        .filter(pk=submission_id)
        .select_related("attempt__revision__problem", "attempt__revision__verifier_contract__verifier", "created_by")
        .annotate(
            manager_ids=manager_ids_of("attempt__revision__problem_id"),
            roles=ArraySubquery(
                ArtifactRole.objects.filter(contract_id=OuterRef("attempt__revision__verifier_contract_id"))
                .order_by("position")
                .values("key")
            ),
        )
        .prefetch_related(Prefetch("places", SubmissionArtifact.objects.select_related("artifact")))
        .first()
    )


def submissions_under_way(participant: User) -> QuerySet[Submission]:
    """The participant's Submissions with a run that is not finished, newest first."""
    return _own_submissions(participant).filter(Exists(_open_runs())).order_by("-created_at", "-id")


def submissions_settled(participant: User) -> QuerySet[Submission]:
    """The participant's Submissions without an unfinished run, newest first; some were recorded and not checked."""
    return _own_submissions(participant).exclude(Exists(_open_runs())).order_by("-created_at", "-id")


def _own_submissions(participant: User) -> QuerySet[Submission]:
    return Submission.objects.filter(created_by=participant).select_related("attempt__revision__problem")


def _open_runs() -> QuerySet[VerificationRun]:
    return VerificationRun.objects.filter(submission=OuterRef("pk")).exclude(status=RunStatus.FINISHED)


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
    for run in _told_rows().filter(submission__in=[s.pk for s in listed]):
        runs[run.submission_id].append(_facts(run, defers=_hides(run)[0]))
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


def derived_state(submission: Submission, runs: Iterable[ProjectedRun]) -> DerivedState:
    """The derived state of a Submission from all its runs as its viewer sees them; its places are prefetched."""
    facts = [
        RunFacts(
            id=run.id,
            contract_id=run.contract_id,
            created_at=run.created_at,
            finished_at=run.finished_at,
            status=run.status,
            result=run.result,
            is_revoked=run.is_revoked,
            own_work=bool(run.own_work),
        )
        for run in runs
    ]
    return derive(
        facts,
        pinned_contract_id=submission.attempt.revision.verifier_contract_id,
        is_withdrawn=submission.withdrawn_at is not None
        or any(place.artifact.withdrawn_at is not None for place in submission.places.all()),
    )


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
