"""The staff's view of Problems, revisions, bindings and releases; what is sealed shows its commitment until release."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from accounts.admin import RecordAdmin
from problems.models import Problem, ProblemRevision, Release, Skill, SlotBinding
from verification.contracts.models import ReferenceAcceptance

WITHHELD = "withheld until release"


def open_bindings(blob_id: str) -> QuerySet[SlotBinding]:
    """The bindings of those bytes that anybody may know of."""
    told = Q(slot__sealed=False) | Q(revision__problem__release__isnull=False)
    return SlotBinding.objects.filter(told, blob=OuterRef(blob_id))


def sealed_bindings(blob_id: str) -> QuerySet[SlotBinding]:
    """The bindings of those bytes that are sealed and not released."""
    return SlotBinding.objects.filter(blob=OuterRef(blob_id), slot__sealed=True, revision__problem__release=None)


@admin.register(Problem)
class ProblemAdmin(RecordAdmin):
    """Problems."""

    list_display = ("id", "slug", "title", "results_visibility", "created_by", "created_at", "archived_at")
    list_select_related = ("created_by",)
    list_filter = ("results_visibility",)
    search_fields = ("slug", "title")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "id")

    def view_on_site(self, obj: Problem) -> str:
        """Its page."""
        return f"/problems/{obj.slug}/"


@admin.register(ProblemRevision)
class ProblemRevisionAdmin(RecordAdmin):
    """Revisions, drafts included."""

    list_display = ("id", "problem", "number", "verifier_contract", "created_by", "published_at")
    list_select_related = ("problem", "verifier_contract__verifier", "created_by")
    search_fields = ("content_hash", "problem__slug")


@admin.register(SlotBinding)
class SlotBindingAdmin(RecordAdmin):
    """What revisions give to slots. The salt of a commitment is told to nobody."""

    withheld = ("blob", "content_hash", "size_bytes", "salt")
    told = ("digest", "size")
    list_display = ("id", "revision", "slot", "kind", "media_type", "digest", "size")
    list_select_related = ("revision__problem__release", "slot")
    list_filter = ("kind",)

    @admin.display(description="digest")
    def digest(self, obj: SlotBinding) -> str:
        """The digest, or the commitment of what is sealed."""
        return obj.commitment if self._hides(obj) else obj.content_hash

    @admin.display(description="size (bytes)")
    def size(self, obj: SlotBinding) -> int | str:
        """The size, where it may be told."""
        return WITHHELD if self._hides(obj) else obj.size_bytes

    def _hides(self, obj: SlotBinding) -> bool:
        return obj.slot.sealed and getattr(obj.revision.problem, "release", None) is None


@admin.register(Skill)
class SkillAdmin(RecordAdmin):
    """Skills."""

    list_display = ("id", "title", "content_hash", "created_at")
    search_fields = ("content_hash",)


@admin.register(Release)
class ReleaseAdmin(RecordAdmin):
    """Releases."""

    list_display = ("id", "problem", "released_at", "released_by")
    list_select_related = ("problem", "released_by")


@admin.register(ReferenceAcceptance)
class ReferenceAcceptanceAdmin(RecordAdmin):
    """What validators said of bytes that are not sealed: their words could tell what sealed bytes hold."""

    list_display = ("id", "validator_key", "blob", "is_accepted", "backend", "checked_at")
    list_select_related = ("blob",)
    list_filter = ("is_accepted",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Of bytes that are bound in the open, and nowhere sealed."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(Exists(open_bindings("blob_id")), ~Exists(sealed_bindings("blob_id")))
