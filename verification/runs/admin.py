"""The staff's view of runs, through the same rules as every surface: before release nobody sees protected outputs.

Blobs stand here too: only runs and Problems know which bytes are sealed or come from a protected stage.
"""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Substr
from django.http import HttpRequest

from accounts.admin import RecordAdmin
from accounts.fields import ID_LENGTH
from blobs.models import Blob, BlobHold
from problems.admin import WITHHELD, open_bindings, sealed_bindings
from problems.services import BINDING_HOLD
from verification.runs.models import (
    EvidenceFile,
    LogRedaction,
    Revocation,
    RunArtifact,
    RunEvent,
    RunExecution,
    RunReference,
    StageOutput,
    StageResult,
    SweepTally,
    VerificationRun,
)
from verification.runs.projection import ProjectedRun, project
from verification.runs.selectors import full_runs, release_of

RUN_HOLDS = ("log", "evidence")


def protected_results(run_id: str) -> QuerySet[StageResult]:
    """The results of a run's protected stages while they are withheld."""
    return StageResult.objects.filter(run_id=OuterRef(run_id), is_protected=True, run__revision__problem__release=None)


def is_deferred(run: VerificationRun) -> bool:
    """True where the verdict waits for the release; the run was annotated with `has_withheld`."""
    return bool(getattr(run, "has_withheld", False)) and run.contract.verdict_release == "with_labels"


@admin.register(VerificationRun)
class VerificationRunAdmin(RecordAdmin):
    """Runs. What a run came to is told by the projection alone."""

    withheld = ("result", "reason_code", "reason_detail", "score", "evidence_md", "finished_at")
    told = (
        *("told_result", "told_reason", "told_detail", "told_score", "told_finished_at", "told_wait"),
        *("told_stages", "told_evidence"),
    )
    list_display = ("id", "status", "listed_result", "created_at", "trigger", "submission_id")
    list_select_related = ("contract",)
    list_filter = ("status", "trigger", "mode")
    search_fields = ("submission__id__exact",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Runs that say whether a protected stage of theirs is withheld."""
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(has_withheld=Exists(protected_results("pk")))
        return annotated

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The run with everything its projection reads."""
        return full_runs().filter(pk=object_id).first()

    def view_on_site(self, obj: VerificationRun) -> str:
        """Its page."""
        return f"/verifications/{obj.pk}/"

    @admin.display(description="result")
    def listed_result(self, obj: VerificationRun) -> str:
        """The result, where it may be told."""
        return WITHHELD if is_deferred(obj) and obj.result else obj.result

    @admin.display(description="result")
    def told_result(self, obj: VerificationRun) -> str:
        """The result or how the run stands."""
        return self._projected(obj).label

    @admin.display(description="reason code")
    def told_reason(self, obj: VerificationRun) -> str | None:
        """The reason code, where it may be told."""
        return self._projected(obj).reason_code

    @admin.display(description="reason detail")
    def told_detail(self, obj: VerificationRun) -> str:
        """What the reason code is about."""
        return self._projected(obj).reason_detail

    @admin.display(description="score")
    def told_score(self, obj: VerificationRun) -> str | None:
        """The score as pages show it."""
        return self._projected(obj).score

    @admin.display(description="finished at")
    def told_finished_at(self, obj: VerificationRun) -> datetime | None:
        """When it finished, where that may be told."""
        return self._projected(obj).finished_at

    @admin.display(description="waits for")
    def told_wait(self, obj: VerificationRun) -> str | None:
        """What it waits for."""
        wait = self._projected(obj).wait
        return None if wait is None else wait.text

    @admin.display(description="stages")
    def told_stages(self, obj: VerificationRun) -> str:
        """Each stage and its state."""
        return "\n".join(
            f"{stage.number}. {stage.title} ({stage.kind}): {stage.state}"
            + (f", {stage.reason_code}" if stage.reason_code else "")
            + (f", outputs {WITHHELD}" if stage.is_withheld else "")
            for stage in self._projected(obj).stages
        )

    @admin.display(description="evidence")
    def told_evidence(self, obj: VerificationRun) -> str | None:
        """The composed evidence, where it may be told."""
        return self._projected(obj).evidence_md

    def _projected(self, obj: VerificationRun) -> ProjectedRun:
        # As a visitor would see it: being staff opens nothing that is sealed.
        kept: ProjectedRun | None = obj.__dict__.get("_projected")
        if kept is None:
            kept = obj.__dict__["_projected"] = project(obj, AnonymousUser(), release_of(obj.revision.problem))
        return kept


@admin.register(StageResult)
class StageResultAdmin(RecordAdmin):
    """What single stages found; a deferred verdict hides what would tell it."""

    withheld = ("result",)
    told = ("told_result",)
    list_display = ("id", "run_id", "position", "stage", "kind", "told_result", "is_protected", "backend")
    list_select_related = ("stage", "run__contract")
    list_filter = ("kind", "is_protected")
    search_fields = ("run__id__exact",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Results, but for those after a protected stage whose verdict is deferred."""
        rows: QuerySet[Any] = super().get_queryset(request)
        first = protected_results("run_id").order_by().values("run_id").annotate(first=Min("position")).values("first")
        rows = rows.annotate(first_withheld=Subquery(first))
        return rows.exclude(run__contract__verdict_release="with_labels", position__gt=F("first_withheld"))

    @admin.display(description="result")
    def told_result(self, obj: StageResult) -> str:
        """The result, where it may be told."""
        first = getattr(obj, "first_withheld", None)
        defers = first is not None and obj.run.contract.verdict_release == "with_labels"
        return WITHHELD if defers and obj.position >= (first or 0) else obj.result


class OfToldStages(RecordAdmin):
    """Rows that hang on a stage result and are not told while that is withheld."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Those of stages that are public or released."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(
            Q(stage_result__is_protected=False) | Q(stage_result__run__revision__problem__release__isnull=False)
        )


@admin.register(StageOutput)
class StageOutputAdmin(OfToldStages):
    """What public stages put out."""

    list_display = ("stage_result", "reason_code", "exit_code", "wall_s", "peak_memory_bytes", "finished_at")
    list_select_related = ("stage_result",)
    search_fields = ("stage_result__run__id__exact",)


@admin.register(EvidenceFile)
class EvidenceFileAdmin(OfToldStages):
    """Files of evidence."""

    list_display = ("id", "stage_result", "path", "size_bytes", "blob")
    list_select_related = ("stage_result", "blob")
    search_fields = ("stage_result__run__id__exact",)


@admin.register(LogRedaction)
class LogRedactionAdmin(OfToldStages):
    """Logs whose content was removed."""

    list_display = ("id", "stage_result", "reason", "redacted_by", "redacted_at")
    list_select_related = ("stage_result", "redacted_by")


@admin.register(RunArtifact)
class RunArtifactAdmin(RecordAdmin):
    """Artifacts frozen into runs."""

    list_display = ("id", "run_id", "position", "role", "artifact_id", "filename", "content_hash", "size_bytes")
    list_select_related = False
    search_fields = ("run__id__exact", "content_hash")


@admin.register(RunReference)
class RunReferenceAdmin(RecordAdmin):
    """Bindings frozen into runs; sealed ones by their commitment until release."""

    withheld = ("content_hash", "size_bytes")
    told = ("digest", "size")
    list_display = ("id", "run_id", "key", "kind", "is_sealed", "digest", "size")
    list_select_related = ("run__revision__problem__release",)
    search_fields = ("run__id__exact",)

    @admin.display(description="digest")
    def digest(self, obj: RunReference) -> str:
        """The digest, or the commitment of what is sealed."""
        return obj.commitment if self._hides(obj) else obj.content_hash

    @admin.display(description="size (bytes)")
    def size(self, obj: RunReference) -> int | str:
        """The size, where it may be told."""
        return WITHHELD if self._hides(obj) else obj.size_bytes

    def _hides(self, obj: RunReference) -> bool:
        return obj.is_sealed and release_of(obj.run.revision.problem) is None


@admin.register(RunExecution)
class RunExecutionAdmin(RecordAdmin):
    """How the work on runs stands; no times of runs whose protected stage is withheld."""

    withheld = ("stage_started_at", "dispatched_at", "lease_until")
    told = ("told_stage_started_at", "told_dispatched_at", "told_lease_until")
    list_display = ("run_id", "claim_number", "holder", "faults", "waiting_for", "waiting_until")
    list_select_related = False
    list_filter = ("waiting_for",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Executions that say whether a protected stage is withheld."""
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(has_withheld=Exists(protected_results("pk")))
        return annotated

    @admin.display(description="stage started at")
    def told_stage_started_at(self, obj: RunExecution) -> datetime | str | None:
        """When its stage began."""
        return self._told(obj, obj.stage_started_at)

    @admin.display(description="dispatched at")
    def told_dispatched_at(self, obj: RunExecution) -> datetime | str | None:
        """When it was last handed to a worker."""
        return self._told(obj, obj.dispatched_at)

    @admin.display(description="lease until")
    def told_lease_until(self, obj: RunExecution) -> datetime | str | None:
        """Until when it is held."""
        return self._told(obj, obj.lease_until)

    def _told(self, obj: RunExecution, moment: datetime | None) -> datetime | str | None:
        return WITHHELD if getattr(obj, "has_withheld", False) else moment


@admin.register(RunEvent)
class RunEventAdmin(RecordAdmin):
    """The stories of runs; not what would tell how a protected stage went."""

    list_display = ("id", "run_id", "number", "at", "kind", "stage_key")
    list_select_related = False
    list_filter = ("kind",)
    search_fields = ("run__id__exact",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Events that disclose nothing withheld."""
        rows: QuerySet[Any] = super().get_queryset(request)
        disclosing = Q(kind__startswith="stage_") | Q(kind="finished")
        return rows.exclude(disclosing & Exists(protected_results("run_id")))


@admin.register(Revocation)
class RevocationAdmin(RecordAdmin):
    """Runs that no longer count."""

    list_display = ("id", "run_id", "revoked_at", "revoked_by")
    list_select_related = ("revoked_by",)
    search_fields = ("run__id__exact",)


@admin.register(SweepTally)
class SweepTallyAdmin(RecordAdmin):
    """What the sweeps had to mend."""

    list_display = ("day_date", "kind", "fired")
    list_filter = ("kind",)
    date_hierarchy = "day_date"
    ordering = ("-day_date", "kind")


def told_blobs(blob_id: str) -> Q:
    """The condition under which digest and size of bytes may be told: nothing sealed or protected is in them."""
    holds = BlobHold.objects.filter(blob=OuterRef(blob_id))
    of_runs = holds.filter(holder_kind__in=RUN_HOLDS).annotate(run_id=Substr("holder_id", 1, ID_LENGTH))
    bound = holds.filter(holder_kind=BINDING_HOLD)
    return (
        ~Q(Exists(sealed_bindings(blob_id)))
        & ~Q(Exists(of_runs.filter(Exists(protected_results("run_id")))))
        # Bytes that a draft gave up may have been sealed; only those that stand in the open somewhere are told.
        & (~Q(Exists(bound)) | Q(Exists(open_bindings(blob_id))))
    )


@admin.register(Blob)
class BlobAdmin(RecordAdmin):
    """Stored bytes that are not sealed, by digest."""

    list_display = ("content_hash", "size_bytes", "created_at", "purged_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bytes whose digest and size may be told."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(told_blobs("pk"))


@admin.register(BlobHold)
class BlobHoldAdmin(RecordAdmin):
    """Who needs which bytes."""

    list_display = ("id", "blob_id", "holder_kind", "holder_id", "created_at", "ended_at")
    list_select_related = False
    list_filter = ("holder_kind",)
    search_fields = ("holder_id", "blob__content_hash__exact")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Holds of bytes whose digest and size may be told."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(told_blobs("blob_id"))
