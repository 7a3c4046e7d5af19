"""Contracts and Implementations, published through the services from the packages that ship."""

import copy
import functools
import hashlib
from pathlib import Path
from typing import Any

from accounts.clock import database_now
from accounts.ids import new_id
from accounts.models import User
from blobs.services import keep_bytes
from packages.reading import Package, read_package
from tests.factories.people import make_author
from verification.contracts.execution import builtin_digest
from verification.contracts.models import (
    ConformanceRecord,
    ConformanceRun,
    ConformanceStatus,
    ContractStage,
    Verifier,
    VerifierContract,
    VerifierImplementation,
)
from verification.contracts.services import (
    claim_conformance,
    create_verifier,
    execute_conformance,
    publish_contract,
    publish_implementation,
)

PACKAGES = Path(__file__).resolve().parents[2] / "docs" / "packages"
LIMITS = {"vcpu": 1, "memory_mb": 512, "disk_mb": 16, "timeout_seconds": 20, "pids": 16, "network": "none"}
SOURCE = {"uri": "urn:tfp:builtin:sat-assignment", "revision": "1", "license": "AGPL-3.0-or-later"}
SAT_STAGE = "assignment_check"


@functools.lru_cache
def sat_package(name: str = "sat-small") -> Package:
    """One of the shipped packages, read once."""
    return read_package(PACKAGES / name)


def sat_document() -> dict[str, Any]:
    """A fresh copy of the SAT Contract's document."""
    return copy.deepcopy(sat_package().contract)


def file_of(content: bytes, *, filename: str, media_type: str = "text/plain") -> dict[str, Any]:
    """How a document names these bytes, which are stored for it."""
    keep_bytes(content, holder_kind="test", holder_id=new_id("art"), at=database_now())
    digest = hashlib.sha256(content).hexdigest()
    return {
        "filename": filename,
        "content_hash": f"sha256:{digest}",
        "size_bytes": len(content),
        "media_type": media_type,
    }


def store_sat_fixtures() -> None:
    """The bytes that the SAT Contract's fixtures name."""
    for name, path in sat_package().files.items():
        if name.startswith("fixtures/"):
            keep_bytes(path.read_bytes(), holder_kind="test", holder_id=name, at=database_now())


def make_verifier(author: User, *, owner: str = "tfp", name: str = "sat-assignment") -> Verifier:
    """The Verifier of that name."""
    return create_verifier(owner=owner, name=name, description_md="Checks.", author=author, at=database_now())


def sat_contract(author: User | None = None, **changes: Any) -> VerifierContract:
    """The published SAT Contract with its four fixtures; `changes` replace members of its document."""
    author = author or make_author()
    store_sat_fixtures()
    return publish_contract(
        verifier=make_verifier(author), document=sat_document() | changes, author=author, at=database_now()
    )


def implementation_document(stage_key: str = SAT_STAGE, **changes: Any) -> dict[str, Any]:
    """The document of the builtin SAT checker, with limits small enough for tests."""
    return {
        "schema": "tfp.verifier-implementation/v1",
        "stage_key": stage_key,
        "runtime": {
            "image_ref": "tfp-builtin/sat-assignment:1",
            "image_digest": builtin_digest("sat-assignment"),
        },
        "program": None,
        "limits": dict(LIMITS),
        "source": dict(SOURCE),
    } | changes


def pending_implementation(contract: VerifierContract, **changes: Any) -> VerifierImplementation:
    """An Implementation of the Contract's first sandbox stage whose conformance was not run yet."""
    stage = contract.stages.filter(kind="sandbox").order_by("position")[0]
    return publish_implementation(
        contract=contract,
        document=implementation_document(stage.key, **changes),
        author=contract.created_by,
        at=database_now(),
    )


def passed_implementation(
    contract: VerifierContract, *, is_executed: bool = False, **changes: Any
) -> VerifierImplementation:
    """An Implementation whose conformance passed; `is_executed` runs every fixture, else the runs are written down."""
    implementation = pending_implementation(contract, **changes)
    record = open_record(implementation)
    if is_executed:
        execute_conformance(record_id=record.pk, holder="conformance")
    else:
        write_passed_conformance(record)
    return implementation


def open_record(implementation: VerifierImplementation) -> ConformanceRecord:
    """The Implementation's newest conformance record."""
    return implementation.conformance.order_by("-pk")[0]


def write_passed_conformance(record: ConformanceRecord) -> None:
    """Write down, without executing anything, what a passing conformance leaves behind."""
    claim = claim_conformance(record_id=record.pk, holder="conformance", at=database_now())
    assert claim is not None
    ConformanceRun.objects.bulk_create(
        ConformanceRun(
            record=record,
            fixture=fixture,
            claim_number=claim.number,
            is_disguised=is_disguised,
            matches=True,
            actual_result=fixture.expected_result,
            actual_score=fixture.expected_score,
            reason_code="" if fixture.expected_result == "verified" else f"checker_{fixture.expected_result}",
            backend="process",
            wall_s=0.01,
            executed_at=database_now(),
        )
        for fixture in record.fixture_set.fixtures.all()
        for is_disguised in (False, True)
    )
    ConformanceRecord.objects.filter(pk=record.pk).move(
        status=ConformanceStatus.PASSED.value,
        fixtures_passed=record.fixtures_total,
        finished_at=database_now(),
        lease_until=None,
        holder="",
    )


def sandbox_stage(contract: VerifierContract) -> ContractStage:
    """The Contract's first sandbox stage."""
    return contract.stages.filter(kind="sandbox").order_by("position")[0]
