"""Reads over Contracts: the fixture set of now, the current Implementation, and what pages list."""

from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet

from verification.contracts.documents import FIXTURE_RELATIONS, NORMATIVE_RELATIONS, fixture_document
from verification.contracts.models import (
    ConformanceRecord,
    ConformanceStatus,
    ContractStage,
    FixtureSet,
    VerifierContract,
    VerifierImplementation,
)

OPEN_STATUSES = (ConformanceStatus.PENDING, ConformanceStatus.RUNNING, ConformanceStatus.ERROR)


@dataclass(frozen=True)
class StageCapacity:
    """What can carry out a sandbox stage now: a current Implementation, or at least one still on its way."""

    fixture_set: FixtureSet | None
    current: VerifierImplementation | None
    pending: int


def live_fixture_documents(stage: ContractStage) -> list[dict[str, object]]:
    """The stage's fixtures that are not retired, as documents."""
    fixtures = stage.fixtures.filter(retired_at=None).select_related("stage")
    return [
        fixture_document(fixture) for fixture in fixtures.prefetch_related("files__blob", "files__slot", "files__role")
    ]


def current_fixture_set(stage: ContractStage) -> FixtureSet | None:
    """The newest fixture set of the stage; every change of the fixtures made a new one."""
    return FixtureSet.objects.filter(stage=stage).order_by("-pk").first()


def stage_capacity(stage: ContractStage) -> StageCapacity:
    """Who can execute the stage: the newest Implementation that passed the current set and is not yanked (SPEC 5)."""
    fixture_set = current_fixture_set(stage)
    if fixture_set is None:
        return StageCapacity(None, None, 0)
    records = list(
        ConformanceRecord.objects.filter(fixture_set=fixture_set, implementation__yanked_at=None)
        .select_related("implementation__program", "implementation__stage")
        .order_by("-implementation__created_at", "-implementation__number")
    )
    passed = [record.implementation for record in records if record.status == ConformanceStatus.PASSED]
    pending = sum(record.status in OPEN_STATUSES for record in records)
    return StageCapacity(fixture_set, passed[0] if passed else None, pending)


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
