"""The staff's view of Verifiers, Contracts, fixtures, Implementations and conformance.

`ReferenceAcceptance` names bytes that may be sealed; what is sealed only the Problems know, so it stands in theirs.
"""

from django.contrib import admin

from accounts.admin import RecordAdmin
from verification.contracts.models import (
    ArtifactRole,
    ConformanceFixture,
    ConformanceRecord,
    ConformanceRun,
    ContractStage,
    FixtureFile,
    FixtureSet,
    ReferenceSlot,
    StageSlot,
    Verifier,
    VerifierContract,
    VerifierImplementation,
)


@admin.register(Verifier)
class VerifierAdmin(RecordAdmin):
    """Families of methods."""

    list_display = ("id", "__str__", "created_at")
    search_fields = ("owner", "name")

    def view_on_site(self, obj: Verifier) -> str:
        """Its page."""
        return f"/verifiers/{obj.owner}/{obj.name}/"


@admin.register(VerifierContract)
class VerifierContractAdmin(RecordAdmin):
    """Contracts."""

    list_display = ("id", "__str__", "result_kind", "created_by", "published_at", "yanked_at")
    list_select_related = ("verifier", "created_by")
    list_filter = ("result_kind",)
    search_fields = ("normative_hash",)

    def view_on_site(self, obj: VerifierContract) -> str:
        """Its page."""
        return f"/contracts/{obj.pk}/"


@admin.register(ReferenceSlot)
class ReferenceSlotAdmin(RecordAdmin):
    """Slots of Contracts."""

    list_display = ("id", "contract", "key", "required", "sealed", "max_bytes")
    list_select_related = ("contract__verifier",)
    list_filter = ("sealed",)


@admin.register(ArtifactRole)
class ArtifactRoleAdmin(RecordAdmin):
    """Roles that a Submission fills."""

    list_display = ("id", "contract", "key", "position", "max_bytes")
    list_select_related = ("contract__verifier",)


@admin.register(ContractStage)
class ContractStageAdmin(RecordAdmin):
    """Stages of plans."""

    list_display = ("id", "contract", "position", "key", "kind", "title")
    list_select_related = ("contract__verifier",)
    list_filter = ("kind",)


@admin.register(StageSlot)
class StageSlotAdmin(RecordAdmin):
    """Which slot a stage selects."""

    list_display = ("id", "stage", "slot", "position", "optional_position")
    list_select_related = ("stage", "slot")


@admin.register(ConformanceFixture)
class ConformanceFixtureAdmin(RecordAdmin):
    """Fixtures."""

    list_display = ("id", "contract", "stage", "key", "expected_result", "created_at", "retired_at")
    list_select_related = ("contract__verifier", "stage")
    list_filter = ("expected_result",)
    search_fields = ("key",)


@admin.register(FixtureFile)
class FixtureFileAdmin(RecordAdmin):
    """Bytes of fixtures."""

    list_display = ("id", "fixture", "slot", "role", "filename", "blob")
    list_select_related = ("fixture", "slot", "role", "blob")


@admin.register(FixtureSet)
class FixtureSetAdmin(RecordAdmin):
    """Sets of live fixtures."""

    list_display = ("id", "stage", "content_hash", "created_at")
    list_select_related = ("stage",)
    search_fields = ("content_hash",)


@admin.register(VerifierImplementation)
class VerifierImplementationAdmin(RecordAdmin):
    """Implementations."""

    list_display = ("id", "contract", "stage", "number", "image_ref", "created_by", "created_at", "yanked_at")
    list_select_related = ("contract__verifier", "stage", "created_by")
    search_fields = ("content_hash", "image_digest")

    def view_on_site(self, obj: VerifierImplementation) -> str:
        """Its page."""
        return f"/implementations/{obj.pk}/"


@admin.register(ConformanceRecord)
class ConformanceRecordAdmin(RecordAdmin):
    """How Implementations did on fixture sets."""

    list_display = ("id", "implementation", "status", "fixtures_passed", "fixtures_total", "finished_at", "error_code")
    list_select_related = ("implementation",)
    list_filter = ("status",)


@admin.register(ConformanceRun)
class ConformanceRunAdmin(RecordAdmin):
    """Single fixtures, executed."""

    list_display = ("id", "record", "fixture", "is_disguised", "matches", "actual_result", "backend", "executed_at")
    list_select_related = ("record", "fixture")
    list_filter = ("matches", "is_disguised")
