"""Reads over Attempts, Artifacts and Submissions of one participant."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Prefetch, Q, QuerySet

from accounts.models import User
from problems.models import Problem
from submissions.models import Artifact, Attempt, Submission
from submissions.services import quota_left


def attempt_of(participant: User, attempt_id: str) -> Attempt | None:
    """An Attempt for its own pages, with roles and files; None where it is not the participant's."""
    return (
        Attempt.objects.filter(pk=attempt_id, participant=participant)
        .select_related("revision__problem", "revision__verifier_contract__verifier")
        .prefetch_related("revision__verifier_contract__roles", Prefetch("artifacts", Artifact.objects.order_by("pk")))
        .first()
    )


def submissions_of_attempt(attempt: Attempt) -> QuerySet[Submission]:
    """The Attempt's Submissions, newest first, as `derived_states` wants them."""
    return attempt.submissions.select_related("attempt__revision").order_by("-number")


def open_attempts(participant: User) -> QuerySet[Attempt]:
    """The participant's open Attempts, newest first, each with `file_count` and `submission_count`."""
    return (
        Attempt.objects.filter(participant=participant, closed_at=None)
        .select_related("revision__problem")
        .annotate(
            file_count=Count("artifacts", filter=Q(artifacts__withdrawn_at=None), distinct=True),
            submission_count=Count("submissions", distinct=True),
        )
        .order_by("-opened_at")
    )


@dataclass(frozen=True)
class Quota:
    """What a participant has left today (UTC) on one Problem, and when a new day begins."""

    limit: int
    left: int
    resets_at: datetime


def quota_of(participant: User, problem: Problem, *, at: datetime) -> Quota | None:
    """Today's quota; None where the Problem sets none."""
    left = quota_left(problem=problem, user=participant, at=at)
    if left is None or problem.quota_per_day is None:
        return None
    midnight = datetime(at.year, at.month, at.day, tzinfo=at.tzinfo) + timedelta(days=1)
    return Quota(problem.quota_per_day, left, midnight)
