"""Every write of Attempts, Artifacts and Submissions."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Max

from accounts.models import User
from blobs.services import StagedBytes, hold_staged
from problems.models import Problem, ProblemRevision, Release, SlotBinding
from submissions.models import Artifact, Attempt, OwnWork, QuotaEntry, Submission, SubmissionArtifact
from verification.engine.documents import document_hash

ARTIFACT_HOLD = "artifact"
# A page of prose and more; what is longer belongs into a file.
MAX_SUMMARY = 100_000


class WorkRefused(Exception):
    """The platform does not take this work; the message says why and what to do, `field` names the place."""

    def __init__(self, message: str, *, code: str, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field


class QuotaUsed(WorkRefused):
    """Today's Submissions are used up."""

    def __init__(self, limit: int, resets_at: datetime) -> None:
        super().__init__(
            f"All {limit} Submissions of today are used. The next can be made after {resets_at:%Y-%m-%d %H:%M} UTC.",
            code="quota_used",
        )
        self.resets_at = resets_at


@transaction.atomic
def open_attempt(*, participant: User, revision: ProblemRevision, at: datetime) -> Attempt:
    """The participant's open Attempt on the revision; a new one where there is none.

    Raises:
        WorkRefused: the revision is not published or the Problem takes no work now.
    """
    check_window(revision.problem, at=at)
    if revision.published_at is None:
        raise WorkRefused("This revision is a draft and takes no work yet.", code="not_published")
    Attempt.objects.bulk_create(
        [Attempt(revision=revision, participant=participant, opened_at=at)], ignore_conflicts=True
    )
    return Attempt.objects.get(revision=revision, participant=participant, closed_at=None)


def check_window(problem: Problem, *, at: datetime) -> None:
    """Return if the Problem takes work at that moment.

    Raises:
        WorkRefused: it is archived, not open yet, or closed.
    """
    if problem.archived_at is not None:
        raise WorkRefused("This Problem is archived and takes no more work.", code="archived")
    if problem.opens_at is not None and at < problem.opens_at:
        raise WorkRefused(f"This Problem opens on {problem.opens_at:%Y-%m-%d %H:%M} UTC.", code="not_open_yet")
    if problem.closes_at is not None and at >= problem.closes_at:
        raise WorkRefused(f"This Problem closed on {problem.closes_at:%Y-%m-%d %H:%M} UTC.", code="closed")


@transaction.atomic
def add_artifact(
    *, attempt_id: str, staged: StagedBytes, filename: str, media_type: str, participant: User, at: datetime
) -> Artifact:
    """A file added to an open Attempt; the bytes are held for it.

    Raises:
        WorkRefused: the Attempt is closed, the Problem takes no work now, or a name cannot be written down.
    """
    attempt = _open_attempt_of(attempt_id, participant)
    check_window(attempt.revision.problem, at=at)
    _check_text(filename, field="filename", max_length=255)
    _check_text(media_type, field="media_type", max_length=127)
    artifact = Artifact(
        attempt=attempt,
        filename=filename,
        media_type=media_type,
        size_bytes=staged.size_bytes,
        uploaded_at=at,
        uploaded_by=participant,
    )
    artifact.blob = hold_staged(staged=staged, holder_kind=ARTIFACT_HOLD, holder_id=artifact.id, at=at)
    artifact.save()
    return artifact


@transaction.atomic
def close_attempt(*, attempt_id: str, participant: User, at: datetime) -> Attempt:
    """Close an Attempt; it takes no more files or Submissions."""
    attempt = _open_attempt_of(attempt_id, participant)
    Attempt.objects.filter(pk=attempt.pk).move(closed_at=at)
    return Attempt.objects.get(pk=attempt.pk)


@transaction.atomic
def create_submission(
    *, participant: User, attempt_id: str, artifact_ids: Sequence[str], summary_md: str, at: datetime
) -> Submission:
    """A Submission of files of one open Attempt, in the order given; it may never be changed.

    What makes it checkable is the run's business; here is refused only what could not be written down.

    Raises:
        WorkRefused: the Attempt is closed or somebody else's, a file is not the Attempt's or withdrawn, the window
            is over, today's quota is used, or the participant can read sealed inputs of the Problem.
    """
    attempt = _open_attempt_of(attempt_id, participant)
    problem = attempt.revision.problem
    check_window(problem, at=at)
    _check_text(summary_md, field="summary_md", max_length=MAX_SUMMARY)
    own = own_work(participant, attempt.revision)
    if own is OwnWork.MANAGER:
        _check_sealed(problem)
    artifacts = _artifacts_in_order(attempt, artifact_ids)
    number = (attempt.submissions.aggregate(last=Max("number"))["last"] or 0) + 1
    submission = Submission.objects.create(
        attempt=attempt,
        number=number,
        summary_md=summary_md,
        own_work=own,
        content_hash=document_hash(
            {
                "revision": attempt.revision_id,
                "summary_md": summary_md,
                "artifacts": [
                    {"filename": a.filename, "content_hash": a.blob_id, "size_bytes": a.size_bytes} for a in artifacts
                ],
            }
        ),
        created_at=at,
        created_by=participant,
    )
    SubmissionArtifact.objects.bulk_create(
        [SubmissionArtifact(submission=submission, artifact=a, position=i) for i, a in enumerate(artifacts)]
    )
    _count_against_quota(problem, participant, submission, at)
    return submission


def own_work(participant: User, revision: ProblemRevision) -> OwnWork:
    """Whether the participant has a hand in the Problem or its check; marked on the Submission for good (SPEC 2)."""
    if revision.problem.managers.filter(pk=participant.pk).exists():
        return OwnWork.MANAGER
    contract = revision.verifier_contract
    if contract is None:
        return OwnWork.NONE
    if contract.created_by_id == participant.pk or contract.verifier.authors.filter(pk=participant.pk).exists():
        return OwnWork.AUTHOR
    if contract.implementations.filter(created_by=participant).exists():
        return OwnWork.IMPLEMENTER
    return OwnWork.NONE


@transaction.atomic
def refund_quota(*, submission_id: str, at: datetime) -> None:
    """Give back what a Submission cost, once; only an end attributed to the platform leads here."""
    QuotaEntry.objects.filter(submission_id=submission_id, refunded_at=None).move(refunded_at=at)


def quota_left(*, problem: Problem, user: User, at: datetime) -> int | None:
    """How many Submissions the user has left today (UTC); None where the Problem sets no quota."""
    if problem.quota_per_day is None:
        return None
    used = QuotaEntry.objects.filter(problem=problem, user=user, day_date=at.date(), refunded_at=None).count()
    return max(0, problem.quota_per_day - used)


def _check_text(text: str, *, field: str, max_length: int) -> None:
    """Return if the database can hold the text and a document can be hashed over it."""
    if "\0" in text or text.encode(errors="replace").decode() != text:
        message = "Expected plain text; remove the NUL or the broken character."
        raise WorkRefused(message, code=f"{field}_invalid", field=field)
    if len(text) > max_length:
        message = f"Expected at most {max_length} characters, found {len(text)}; shorten it."
        raise WorkRefused(message, code=f"{field}_too_long", field=field)


def _check_sealed(problem: Problem) -> None:
    """Return if the Problem's managers may submit: nothing is sealed, or it was released (SPEC 2)."""
    sealed = SlotBinding.objects.filter(revision__problem=problem, slot__sealed=True)
    if sealed.exists() and not Release.objects.filter(problem=problem).exists():
        message = "Managers of this Problem can read its sealed inputs, so they cannot submit before the release."
        raise WorkRefused(message, code="sealed_to_others")


def _open_attempt_of(attempt_id: str, participant: User) -> Attempt:
    attempt = (
        Attempt.objects.select_for_update(no_key=True, of=("self",))
        .select_related("revision__problem", "revision__verifier_contract__verifier")
        .filter(pk=attempt_id, participant=participant)
        .first()
    )
    if attempt is None:
        raise WorkRefused("There is no such Attempt of yours.", code="no_attempt")
    if attempt.closed_at is not None:
        raise WorkRefused("This Attempt is closed. Open a new one on the Problem's page.", code="attempt_closed")
    return attempt


def _artifacts_in_order(attempt: Attempt, artifact_ids: Sequence[str]) -> list[Artifact]:
    found = {artifact.pk: artifact for artifact in attempt.artifacts.filter(pk__in=artifact_ids)}
    if len(set(artifact_ids)) != len(artifact_ids):
        raise WorkRefused("The same file is named twice.", code="artifact_twice", field="artifacts")
    for artifact_id in artifact_ids:
        artifact = found.get(artifact_id)
        if artifact is None:
            raise WorkRefused("A file is not of this Attempt.", code="artifact_unknown", field="artifacts")
        if artifact.withdrawn_at is not None:
            raise WorkRefused(f"{artifact.filename} was withdrawn.", code="artifact_withdrawn", field="artifacts")
    return [found[artifact_id] for artifact_id in artifact_ids]


def _count_against_quota(problem: Problem, user: User, submission: Submission, at: datetime) -> None:
    if problem.quota_per_day is None:
        return
    with connection.cursor() as cursor:
        # Every Submission of this person to this Problem queues here, so the count below is exact.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"quota {problem.pk} {user.pk} {at.date()}"]
        )
    if quota_left(problem=problem, user=user, at=at) == 0:
        midnight = datetime(at.year, at.month, at.day, tzinfo=at.tzinfo) + timedelta(days=1)
        raise QuotaUsed(problem.quota_per_day, midnight)
    QuotaEntry.objects.create(problem=problem, user=user, day_date=at.date(), submission=submission)
