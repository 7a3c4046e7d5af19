"""Reads over Problems and revisions, scoped to the viewer: lists, one revision for its page, and its bindings."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import DateTimeField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import ExpressionWrapper
from django.db.models.fields import BooleanField
from django.db.models.functions import JSONObject

from accounts.roles import Viewer, is_participant
from problems.models import Problem, ProblemRevision, SlotBinding
from verification.contracts.models import ReferenceSlot, VerifierContract


class ProblemState(StrEnum):
    """Whether a Problem takes work."""

    OPEN = "open"
    NOT_OPEN_YET = "not_open_yet"
    CLOSED = "closed"
    ARCHIVED = "archived"


@dataclass(frozen=True)
class SiblingRevision:
    """One revision of the same Problem, for a list of them; `published_at` is None for a draft."""

    number: int
    published_at: datetime | None
    content_hash: str


@dataclass(frozen=True)
class ReadableRevision:
    """A revision as its page needs it. `current_number` is the newest published one's, None where none is.

    `read_at` is the moment of reading by the database's clock.
    """

    revision: ProblemRevision
    is_managed: bool
    current_number: int | None
    siblings: tuple[SiblingRevision, ...]
    roles: tuple[dict[str, Any], ...]
    read_at: datetime


@dataclass(frozen=True)
class BoundSlot:
    """A slot and what the revision gives it: kind, url, content_hash, size_bytes, media_type, filename, commitment.

    Pages show hash and size of a sealed binding to managers only, before release.
    """

    slot: ReferenceSlot
    binding: dict[str, Any] | None


def problem_state(problem: Problem, *, at: datetime) -> ProblemState:
    """Whether the Problem takes work at that moment."""
    if problem.archived_at is not None:
        return ProblemState.ARCHIVED
    if problem.opens_at is not None and at < problem.opens_at:
        return ProblemState.NOT_OPEN_YET
    if problem.closes_at is not None and at >= problem.closes_at:
        return ProblemState.CLOSED
    return ProblemState.OPEN


def is_open(at: datetime) -> Q:
    """The condition under which a Problem takes work at that moment; the same rule as `problem_state`."""
    opened = Q(opens_at=None) | Q(opens_at__lte=at)
    return Q(archived_at=None) & opened & (Q(closes_at=None) | Q(closes_at__gt=at))


def managed_by(viewer: Viewer, problem_id: str) -> Exists:
    """True, in a query, where the viewer manages the Problem that the expression names."""
    managers = Problem.managers.through.objects.filter(problem_id=OuterRef(problem_id))
    return Exists(managers.filter(user_id=viewer.pk) if is_participant(viewer) else managers.none())


def published_problems(viewer: Viewer, *, words: list[str], state: str, at: datetime) -> QuerySet[Problem]:
    """Problems with a published revision, newest first, each with `current_number` and `is_managed`.

    Args:
        viewer: for `is_managed`; published Problems are everybody's to read.
        words: each must occur in the title, the summary or the current statement, in any case.
        state: `open`, `closed` (anything else than open), or empty for all.
        at: the moment for which `state` is judged.
    """
    published = ProblemRevision.objects.filter(problem=OuterRef("pk"), published_at__isnull=False).order_by("-number")
    problems = Problem.objects.annotate(
        current_id=Subquery(published.values("pk")[:1]),
        current_number=Subquery(published.values("number")[:1]),
        has_contract=Exists(published.filter(number=OuterRef("current_number"), verifier_contract__isnull=False)),
        is_managed=managed_by(viewer, "pk"),
    ).filter(current_id__isnull=False)
    for word in words:
        statement = ProblemRevision.objects.filter(pk=OuterRef("current_id"), statement_md__icontains=word)
        problems = problems.filter(Q(title__icontains=word) | Q(summary__icontains=word) | Exists(statement))
    if state == "open":
        problems = problems.filter(is_open(at))
    elif state == "closed":
        problems = problems.exclude(is_open(at))
    return problems.order_by("-created_at", "id")


def revision_for(viewer: Viewer, slug: str, number: int | None = None) -> ReadableRevision | None:
    """One revision for its page, or None where it does not exist for the viewer.

    Without a number the current one, which is the newest published; managers of a Problem that has none get its newest
    draft. Drafts are their managers' alone.
    """
    readable = Q(published_at__isnull=False) | Q(is_managed=True)
    siblings = ProblemRevision.objects.filter(problem=OuterRef("problem")).annotate(
        is_managed=managed_by(viewer, "problem_id")
    )
    listed = siblings.filter(readable).order_by("-number")
    roles = VerifierContract.objects.filter(pk=OuterRef("verifier_contract"), roles__isnull=False)
    revisions = (
        ProblemRevision.objects.filter(problem__slug=slug)
        .select_related("problem__release", "verifier_contract__verifier", "skill")
        .annotate(
            is_managed=managed_by(viewer, "problem_id"),
            is_draft=ExpressionWrapper(Q(published_at=None), output_field=BooleanField()),
            read_at=Func(function="clock_timestamp", output_field=DateTimeField()),
            current_number=Subquery(
                siblings.filter(published_at__isnull=False).order_by("-number").values("number")[:1]
            ),
            all_revisions=ArraySubquery(
                listed.values(
                    json=JSONObject(number="number", published_at="published_at", content_hash="content_hash")
                )
            ),
            roles=ArraySubquery(
                roles.order_by("roles__position").values(
                    json=JSONObject(key="roles__key", media_types="roles__media_types", max_bytes="roles__max_bytes")
                )
            ),
        )
        .filter(readable)
    )
    found = revisions.order_by("is_draft", "-number").filter(**({} if number is None else {"number": number})).first()
    if found is None:
        return None
    siblings_read = tuple(
        SiblingRevision(
            sibling["number"],
            datetime.fromisoformat(sibling["published_at"]) if sibling["published_at"] else None,
            sibling["content_hash"],
        )
        for sibling in found.all_revisions
    )
    return ReadableRevision(
        revision=found,
        is_managed=found.is_managed,
        current_number=found.current_number,
        siblings=siblings_read,
        roles=tuple(found.roles),
        read_at=found.read_at,
    )


def bound_slots(revision: ProblemRevision) -> list[BoundSlot]:
    """The Contract's slots in order, each with what this revision gives it."""
    binding = SlotBinding.objects.filter(revision=revision, slot=OuterRef("pk")).values(
        json=JSONObject(
            **{
                name: F(name)
                for name in ("kind", "url", "content_hash", "size_bytes", "media_type", "filename", "commitment")
            }
        )
    )
    slots = ReferenceSlot.objects.filter(contract=revision.verifier_contract_id)
    annotated = slots.annotate(bound=Subquery(binding[:1])).order_by("position")
    return [BoundSlot(slot, slot.bound) for slot in annotated]


def binding_for(viewer: Viewer, slug: str, number: int, key: str) -> SlotBinding | None:
    """The binding whose bytes or link anyone who reads the revision may have; None for everything else.

    Sealed bytes before release are None for everybody, managers included: theirs is a recorded act of its own.
    """
    readable = Q(revision__published_at__isnull=False) | Q(is_managed=True)
    return (
        SlotBinding.objects.filter(revision__problem__slug=slug, revision__number=number, slot__key=key)
        .annotate(is_managed=managed_by(viewer, "revision__problem_id"))
        .filter(readable)
        .filter(Q(slot__sealed=False) | Q(revision__problem__release__isnull=False))
        .select_related("revision__problem", "slot", "blob")
        .first()
    )


def revisions_under(contract_id: str, *, limit: int) -> QuerySet[ProblemRevision]:
    """Published revisions that pin the Contract, newest first, each with its Problem and `is_current`."""
    newer = ProblemRevision.objects.filter(
        problem=OuterRef("problem"), published_at__isnull=False, number__gt=OuterRef("number")
    )
    return (
        ProblemRevision.objects.filter(verifier_contract_id=contract_id, published_at__isnull=False)
        .select_related("problem")
        .annotate(is_current=~Exists(newer))
        .order_by("-published_at", "pk")[:limit]
    )
