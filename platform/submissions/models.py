"""Attempts, Artifacts and Submissions. Nothing about checking is stored here: verdicts are derived from runs."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField, IdField
from accounts.records import Record, kept, only_moves, refuse, set_once, trigger, write_once


class Attempt(Record):
    """One participant's work on one revision: open, then closed."""

    id = IdField("att")
    revision = models.ForeignKey("problems.ProblemRevision", on_delete=models.PROTECT, related_name="attempts")
    participant = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="attempts")
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # One open Attempt per participant and revision: going back to a Problem goes on with the work there.
            models.UniqueConstraint(
                fields=["revision", "participant"], condition=models.Q(closed_at=None), name="attempt_one_open"
            )
        ]
        indexes = [models.Index(fields=["participant", "-opened_at"], name="attempt_mine")]
        triggers = [
            kept(),
            only_moves("closed_at"),
            set_once("closed_at"),
            trigger(
                "on_a_published_revision",
                pgtrigger.Insert,
                "IF (SELECT published_at FROM problems_problemrevision WHERE id = NEW.revision_id) IS NULL THEN "
                + refuse("work is done on published revisions")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Artifact(Record):
    """One uploaded file of an Attempt; name, digest and size stay when the bytes are withdrawn."""

    id = IdField("art")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="artifacts")
    filename = models.CharField(max_length=255)
    media_type = models.CharField(max_length=127)
    blob = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, related_name="+")
    size_bytes = models.BigIntegerField()
    uploaded_at = models.DateTimeField()
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["uploaded_at", "id"]
        triggers = [
            kept(),
            only_moves("withdrawn_at"),
            set_once("withdrawn_at"),
            trigger(
                "of_an_open_attempt",
                pgtrigger.Insert,
                "IF (SELECT closed_at FROM submissions_attempt WHERE id = NEW.attempt_id FOR SHARE) IS NOT NULL THEN "
                + refuse("a closed attempt takes no more files")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.filename


class OwnWork(models.TextChoices):
    """Why a Submission is marked as own work, for good; empty for everybody else's."""

    NONE = "", "Not own work"
    MANAGER = "manager", "By a manager of this Problem"
    AUTHOR = "author", "By an author of its Contract"
    IMPLEMENTER = "implementer", "By an author of an Implementation of its Contract"


class Submission(Record):
    """An ordered list of Artifacts and a summary, offered for checking."""

    id = IdField("sub")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="submissions")
    number = models.PositiveIntegerField()
    summary_md = models.TextField(blank=True)
    own_work = models.CharField(max_length=16, choices=OwnWork.choices, default="", blank=True)
    content_hash = HashField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="submission_number")]
        indexes = [
            models.Index(fields=["created_by", "-created_at"], name="submission_mine"),
            models.Index(fields=["-created_at", "-id"], name="submission_newest"),
        ]
        triggers = [
            kept(),
            only_moves("withdrawn_at"),
            set_once("withdrawn_at"),
            trigger(
                "of_an_open_attempt",
                pgtrigger.Insert,
                "IF (SELECT closed_at FROM submissions_attempt WHERE id = NEW.attempt_id FOR SHARE) IS NOT NULL THEN "
                + refuse("a closed attempt takes no more submissions")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class SubmissionArtifact(Record):
    """The place of an Artifact in a Submission; the place decides its role."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="places")
    artifact = models.ForeignKey(Artifact, on_delete=models.PROTECT, related_name="places")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "position"], name="place_position"),
            models.UniqueConstraint(fields=["submission", "artifact"], name="place_artifact"),
        ]
        triggers = [
            write_once(),
            trigger(
                "of_one_attempt",
                pgtrigger.Insert,
                "IF (SELECT attempt_id FROM submissions_artifact WHERE id = NEW.artifact_id) IS DISTINCT FROM "
                "(SELECT attempt_id FROM submissions_submission WHERE id = NEW.submission_id) THEN "
                + refuse("a submission offers files of its own attempt")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission_id}[{self.position}]"


class QuotaEntry(Record):
    """One Submission counted against a Problem's quota of one day (UTC); a refund is written once."""

    problem = models.ForeignKey("problems.Problem", on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    day_date = models.DateField()
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="quota_entry")
    refunded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["problem", "user", "day_date"], name="quota_of_the_day")]
        triggers = [kept(), only_moves("refunded_at"), set_once("refunded_at")]

    def __str__(self) -> str:
        return f"{self.user_id} on {self.day_date}"
