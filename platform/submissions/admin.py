"""The staff's view of Attempts, Artifacts, Submissions and quotas."""

from django.contrib import admin

from accounts.admin import RecordAdmin
from submissions.models import Artifact, Attempt, QuotaEntry, Submission, SubmissionArtifact


@admin.register(Attempt)
class AttemptAdmin(RecordAdmin):
    """Attempts."""

    list_display = ("id", "revision_id", "participant", "opened_at", "closed_at")
    list_select_related = ("participant",)


@admin.register(Artifact)
class ArtifactAdmin(RecordAdmin):
    """Uploaded files."""

    list_display = ("id", "attempt_id", "filename", "size_bytes", "uploaded_by", "uploaded_at", "withdrawn_at")
    list_select_related = ("uploaded_by",)


@admin.register(Submission)
class SubmissionAdmin(RecordAdmin):
    """Submissions."""

    list_display = ("id", "attempt_id", "number", "created_by", "own_work", "created_at", "withdrawn_at")
    list_select_related = ("created_by",)
    list_filter = ("own_work",)
    search_fields = ("content_hash",)

    def view_on_site(self, obj: Submission) -> str:
        """Its page."""
        return f"/submissions/{obj.pk}/"


@admin.register(SubmissionArtifact)
class SubmissionArtifactAdmin(RecordAdmin):
    """Which file stands where in a Submission."""

    list_display = ("id", "submission_id", "artifact_id", "position")
    list_select_related = False
    search_fields = ("submission__id__exact",)


@admin.register(QuotaEntry)
class QuotaEntryAdmin(RecordAdmin):
    """What was counted against quotas."""

    list_display = ("id", "problem", "user", "day_date", "submission_id", "refunded_at")
    list_select_related = ("problem", "user")
