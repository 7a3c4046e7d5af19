"""Reads over Contracts: the fixture set of now, the current Implementation, and what pages list."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject

from verification.contracts.documents import FIXTURE_RELATIONS, NORMATIVE_RELATIONS, fixture_document
from verification.contracts.models import (
    ConformanceFixture,
    ConformanceRecord,
    ConformanceRun,
    ConformanceStatus,
    ContractStage,
    FixtureFile,
    FixtureSet,
    ReferenceSlot,
    StageSlot,
    Verifier,
    VerifierContract,
    VerifierImplementation,
)

OPEN_STATUSES = (ConformanceStatus.PENDING, ConformanceStatus.RUNNING, ConformanceStatus.ERROR)


@dataclass(frozen=True)
class StageCapacity:
    """What can carry out a sandbox stage now: a current Implementation, or at least one still on its way.

    `fixture_set` is the set that `current` passed; they are None together.
    """

    fixture_set: FixtureSet | None
    current: VerifierImplementation | None
    pending: int


@dataclass(frozen=True)
class PlannedStage:
    """A stage as pages tell it. `current` describes the Implementation that executes it now, None where nothing can."""

    stage: ContractStage
    slot_keys: tuple[str, ...]
    is_protected: bool
    current: dict[str, Any] | None


@dataclass(frozen=True)
class Conformance:
    """A conformance record with the runs of its newest claim."""

    record: ConformanceRecord
    runs: tuple[ConformanceRun, ...]


@dataclass(frozen=True)
class ListedImplementation:
    """An Implementation with its conformance for the current fixture set of its stage; None before there is any."""

    implementation: VerifierImplementation
    latest: Conformance | None


def live_fixture_documents(stage: ContractStage) -> list[dict[str, object]]:
    """The stage's fixtures that are not retired, as documents."""
    fixtures = stage.fixtures.filter(retired_at=None).select_related("stage")
    return [
        fixture_document(fixture) for fixture in fixtures.prefetch_related("files__blob", "files__slot", "files__role")
    ]


def current_sets(stage: Any) -> QuerySet[FixtureSet]:
    """The stage's current fixture set, as a queryset of at most one row.

    Sets only lose fixtures by retirement, which is for good: so the newest set that holds no retired fixture is the
    set of the live ones, even where a retirement led back to a set that had stood before.
    """
    return FixtureSet.objects.filter(stage=stage).exclude(fixtures__retired_at__isnull=False).order_by("-pk")[:1]


def stage_capacity(stage: ContractStage) -> StageCapacity:
    """Who can execute the stage: the newest Implementation that passed the current set and is not yanked (SPEC 5)."""
    current = current_sets(stage).values("pk")
    records = list(
        ConformanceRecord.objects.filter(fixture_set=Subquery(current), implementation__yanked_at=None)
        .order_by("-implementation__created_at", "-implementation__number")
        .values_list("status", "implementation_id", "fixture_set_id")
    )
    passed = next((about for status, *about in records if status == ConformanceStatus.PASSED), None)
    pending = sum(status in OPEN_STATUSES for status, *_ in records)
    if passed is None:
        return StageCapacity(None, None, pending)
    record = _passed_record(*passed)
    return StageCapacity(record.fixture_set, record.implementation, pending)


@lru_cache(maxsize=256)
def _passed_record(implementation_id: str, fixture_set_id: int) -> ConformanceRecord:
    """A record that passed, kept by this process: but for a later yank, nothing of it moves any more."""
    records = ConformanceRecord.objects.select_related("fixture_set", "implementation__program")
    return records.get(implementation=implementation_id, fixture_set=fixture_set_id)


def full_contracts() -> QuerySet[VerifierContract]:
    """Contracts with everything their documents need, in a constant number of queries."""
    return VerifierContract.objects.select_related("verifier").prefetch_related(
        *NORMATIVE_RELATIONS, *FIXTURE_RELATIONS
    )


def implementations_with_conformance(contract: VerifierContract) -> QuerySet[VerifierImplementation]:
    """The Contract's Implementations, newest first, each with its conformance records."""
    return (
        VerifierImplementation.objects.filter(contract=contract)
        .select_related("stage", "program", "created_by")
        .prefetch_related(
            Prefetch("conformance", ConformanceRecord.objects.select_related("fixture_set").order_by("-pk"))
        )
        .order_by("-created_at", "-number")
    )


def plan_stages(contract_id: str) -> list[PlannedStage]:
    """The stages of a plan in order, in one query; `current` (id, image and limits) as `stage_capacity` chooses it."""
    current_set = current_sets(OuterRef("implementation__stage")).values("pk")
    current = (
        ConformanceRecord.objects.filter(
            implementation__stage=OuterRef("pk"), implementation__yanked_at=None, status=ConformanceStatus.PASSED
        )
        .filter(fixture_set=Subquery(current_set))
        .order_by("-implementation__created_at", "-implementation__number")
        .values(
            json=JSONObject(
                **{
                    name: f"implementation__{name}"
                    for name in ("id", "image_ref", "image_digest", "vcpu", "memory_mb", "disk_mb", "timeout_seconds")
                }
            )
        )
    )
    selected = StageSlot.objects.filter(stage=OuterRef("pk")).order_by("position")
    stages = (
        ContractStage.objects.filter(contract_id=contract_id)
        .select_related("review_protocol")
        .annotate(
            slot_keys=ArraySubquery(selected.values("slot__key")),
            is_protected=Exists(selected.filter(slot__sealed=True)),
            current=Subquery(current[:1]),
        )
        .order_by("position")
    )
    return [PlannedStage(stage, tuple(stage.slot_keys), stage.is_protected, stage.current) for stage in stages]


def published_contract(contract_id: str) -> VerifierContract | None:
    """A published Contract with its Verifier, slots and roles; None for drafts and unknown ids."""
    return (
        VerifierContract.objects.filter(pk=contract_id, published_at__isnull=False)
        .select_related("verifier", "created_by", "yanked_by")
        .prefetch_related("slots", "roles")
        .first()
    )


def fixtures_of(contract_id: str) -> list[ConformanceFixture]:
    """The Contract's fixtures in order, retired ones included, with their files."""
    files = FixtureFile.objects.select_related("blob", "slot", "role")
    return list(
        ConformanceFixture.objects.filter(contract_id=contract_id)
        .select_related("stage")
        .prefetch_related(Prefetch("files", files))
        .order_by("position")
    )


def fixture_file(contract_id: str, fixture_key: str, member: str, key: str) -> FixtureFile | None:
    """The file that a fixture of a published Contract gives a slot (`reference`) or a role (`artifacts`)."""
    place = Q(slot__key=key) if member == "reference" else Q(role__key=key)
    return (
        FixtureFile.objects.filter(place, fixture__contract_id=contract_id, fixture__key=fixture_key)
        .filter(fixture__contract__published_at__isnull=False)
        .select_related("blob", "fixture__contract")
        .first()
    )


def latest_conformance(contract_id: str) -> list[ListedImplementation]:
    """The Contract's Implementations, newest first, each with its conformance for the current fixture set."""
    current_set = current_sets(OuterRef("implementation__stage")).values("pk")
    runs = ConformanceRun.objects.filter(claim_number=F("record__claim_number")).select_related("fixture")
    records = ConformanceRecord.objects.filter(fixture_set=Subquery(current_set)).prefetch_related(
        Prefetch("runs", runs, to_attr="latest_runs")
    )
    implementations = (
        VerifierImplementation.objects.filter(contract_id=contract_id)
        .select_related("stage")
        .prefetch_related(Prefetch("conformance", records, to_attr="latest_records"))
        .order_by("-created_at", "-number")
    )
    listed = []
    for implementation in implementations:
        found = [Conformance(record, tuple(record.latest_runs)) for record in implementation.latest_records]
        listed.append(ListedImplementation(implementation, found[0] if found else None))
    return listed


def published_implementation(implementation_id: str) -> VerifierImplementation | None:
    """An Implementation for its page, with `has_sealed_slots` of its Contract."""
    sealed = ReferenceSlot.objects.filter(contract=OuterRef("contract"), sealed=True)
    return (
        VerifierImplementation.objects.filter(pk=implementation_id, contract__published_at__isnull=False)
        .select_related("contract__verifier", "stage", "program", "created_by", "yanked_by")
        .annotate(has_sealed_slots=Exists(sealed))
        .first()
    )


def conformance_records(implementation_id: str) -> list[Conformance]:
    """The Implementation's conformance records, newest fixture set first, with their runs and logs."""
    runs = (
        ConformanceRun.objects.filter(claim_number=F("record__claim_number"))
        .select_related("fixture", "log")
        .order_by("fixture__position", "is_disguised")
    )
    records = (
        ConformanceRecord.objects.filter(implementation_id=implementation_id)
        .select_related("fixture_set")
        .prefetch_related(Prefetch("runs", runs, to_attr="latest_runs"))
        .order_by("-fixture_set_id")
    )
    return [Conformance(record, tuple(record.latest_runs)) for record in records]


def conformance_log(implementation_id: str, run_id: str) -> ConformanceRun | None:
    """One conformance run of an Implementation, with its fixture and log."""
    return (
        ConformanceRun.objects.filter(pk=run_id, record__implementation_id=implementation_id)
        .select_related("fixture", "log")
        .first()
    )


def verifier_named(owner: str, name: str) -> Verifier | None:
    """The Verifier of that name with its authors."""
    return Verifier.objects.filter(owner=owner, name=name).prefetch_related("authors").first()


def contracts_of(verifier: Verifier) -> list[VerifierContract]:
    """The Verifier's published Contracts, newest first, with counts of stages, fixtures and Implementations."""
    return list(
        VerifierContract.objects.filter(verifier=verifier, published_at__isnull=False)
        .annotate(
            stage_count=Count("stages", distinct=True),
            fixture_count=Count("fixtures", filter=Q(fixtures__retired_at=None), distinct=True),
            implementation_count=Count("implementations", distinct=True),
        )
        .order_by("-number")
    )
