"""Publishing: a document is judged by the engine, written as rows, and frozen, in one transaction."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max

from accounts.models import User
from blobs.services import BytesGone, hold_blob
from verification.contracts import dispatch
from verification.contracts.documents import contract_document
from verification.contracts.models import (
    ArtifactRole,
    ConformanceFixture,
    ConformanceRecord,
    ContractStage,
    FixtureFile,
    FixtureSet,
    ReferenceSlot,
    StageSlot,
    Verifier,
    VerifierContract,
    VerifierImplementation,
)
from verification.contracts.selectors import current_sets, full_contracts, live_fixture_documents
from verification.engine.checkers.registry import BUILTINS
from verification.engine.documents import Finding, validate_document
from verification.engine.hashes import (
    fixture_inputs_hash,
    fixture_set_hash,
    implementation_content_hash,
    normative_hash,
)
from verification.engine.plan import contract_findings, implementation_findings, protocol_findings, selected_slots


class ContractRefused(Exception):
    """A document cannot be published; `findings` lists every violated rule."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(f"{f.pointer or 'document'}: {f.message}" for f in findings[:5]))
        self.findings = tuple(findings)


@transaction.atomic
def create_verifier(*, owner: str, name: str, description_md: str, author: User, at: datetime) -> Verifier:
    """The Verifier of that name; a new one, with its first author, where there is none."""
    verifier, is_new = Verifier.objects.get_or_create(
        owner=owner, name=name, defaults={"description_md": description_md, "created_at": at}
    )
    if is_new:
        verifier.authors.add(author)
    return verifier


@transaction.atomic
def publish_contract(*, verifier: Verifier, document: dict[str, Any], author: User, at: datetime) -> VerifierContract:
    """The published Contract of that normative hash: an existing one is reused, a new one is written and frozen.

    Every file that a fixture names must be stored already; the Contract takes a hold on it.

    Raises:
        ContractRefused: with every finding; also where somebody else than an author of the Verifier adds to it.
    """
    findings = contract_findings(document, builtins=BUILTINS) or _protocol_findings(document)
    if findings:
        raise ContractRefused(findings)
    Verifier.objects.select_for_update(no_key=True).get(pk=verifier.pk)
    hashed = normative_hash(document)
    existing = VerifierContract.objects.filter(verifier=verifier, normative_hash=hashed).first()
    if existing is not None:
        _append_fixtures(existing, document["conformance_fixtures"], author, at)
        return full_contracts().get(pk=existing.pk)
    _check_author(verifier, author)
    contract = VerifierContract.objects.create(
        verifier=verifier,
        number=(verifier.contracts.aggregate(last=Max("number"))["last"] or 0) + 1,
        normative_hash=hashed,
        created_at=at,
        created_by=author,
        statement_md=document["statement_md"],
        result_kind=document["result_kind"],
        summary=document["submission_requirements"]["summary"],
        **document["sealing"],
        **{f"score_{name}": value for name, value in (document["score"] or {}).items()},
    )
    _write_plan(contract, document, at)
    _append_fixtures(contract, document["conformance_fixtures"], author, at)
    VerifierContract.objects.filter(pk=contract.pk).move(published_at=at)
    return full_contracts().get(pk=contract.pk)


@transaction.atomic
def add_fixture(
    *, contract: VerifierContract, fixture: dict[str, Any], author: User, at: datetime
) -> ConformanceFixture:
    """A fixture appended to a published Contract; every Implementation of its stage goes back to conformance.

    Raises:
        ContractRefused: a rule is violated, or the same inputs stand with another expectation.
    """
    VerifierContract.objects.select_for_update(no_key=True).get(pk=contract.pk)
    # Read under the lock: the caller's Contract may carry fixtures as they were.
    standing = full_contracts().get(pk=contract.pk)
    document = contract_document(standing)
    document["conformance_fixtures"].append(fixture)
    findings = contract_findings(document)
    if findings:
        raise ContractRefused(findings)
    _append_fixtures(standing, [fixture], author, at)
    return ConformanceFixture.objects.get(contract=standing, key=fixture["key"])


@transaction.atomic
def publish_implementation(
    *, contract: VerifierContract, document: dict[str, Any], author: User, at: datetime
) -> VerifierImplementation:
    """An Implementation of one sandbox stage, by content; its conformance is enqueued at once.

    Raises:
        ContractRefused: with every finding.
    """
    findings = validate_document("verifier-implementation", document)
    if not findings:
        findings = implementation_findings(contract_document(full_contracts().get(pk=contract.pk)), document)
    if findings:
        raise ContractRefused(findings)
    stage = ContractStage.objects.get(contract=contract, key=document["stage_key"])
    VerifierContract.objects.select_for_update(no_key=True).get(pk=contract.pk)
    hashed = implementation_content_hash(document)
    existing = VerifierImplementation.objects.filter(stage=stage, content_hash=hashed).first()
    if existing is not None:
        return existing
    _check_author(contract.verifier, author)
    limits, program = dict(document["limits"]), document["program"]
    implementation = VerifierImplementation(
        contract=contract,
        stage=stage,
        number=(stage.implementations.aggregate(last=Max("number"))["last"] or 0) + 1,
        content_hash=hashed,
        image_ref=document["runtime"]["image_ref"],
        image_digest=document["runtime"]["image_digest"],
        source_uri=document["source"]["uri"],
        source_revision=document["source"]["revision"],
        license=document["source"]["license"],
        created_at=at,
        created_by=author,
        **limits,
    )
    if program is not None:
        implementation.program_filename = program["filename"]
        implementation.program = _hold(program, "program", implementation.pk, at, "/program")
    implementation.save()
    for fixture_set in current_sets(stage):
        _open_record(implementation, fixture_set, at)
    return implementation


def renew_fixture_set(*, stage: ContractStage, at: datetime) -> FixtureSet:
    """The fixture set of the stage as it is now; a new one sends every Implementation back to conformance."""
    documents = live_fixture_documents(stage)
    fixture_set, is_new = FixtureSet.objects.get_or_create(
        stage=stage, content_hash=fixture_set_hash(documents), defaults={"created_at": at}
    )
    if is_new:
        fixture_set.fixtures.set(stage.fixtures.filter(retired_at=None))
    # Where a retirement led back to an earlier set its records stand; only later Implementations lack one.
    for implementation in stage.implementations.filter(yanked_at=None).exclude(conformance__fixture_set=fixture_set):
        _open_record(implementation, fixture_set, at)
    return fixture_set


def _open_record(implementation: VerifierImplementation, fixture_set: FixtureSet, at: datetime) -> None:
    record = ConformanceRecord.objects.create(
        implementation=implementation,
        fixture_set=fixture_set,
        fixtures_total=fixture_set.fixtures.count(),
        created_at=at,
    )
    dispatch.run_conformance(record.pk)


def _write_plan(contract: VerifierContract, document: dict[str, Any], at: datetime) -> None:
    slots = {}
    for position, slot in enumerate(document["reference_inputs"]):
        slots[slot["key"]] = ReferenceSlot.objects.create(
            contract=contract, position=position, **_slot_columns(slot, contract, at)
        )
    ArtifactRole.objects.bulk_create(
        ArtifactRole(
            contract=contract,
            position=position,
            key=role["role"],
            media_types=role["media_types"],
            max_bytes=role["max_bytes"],
        )
        for position, role in enumerate(document["submission_requirements"]["required_artifacts"])
    )
    for position, stage in enumerate(document["stages"]):
        row = ContractStage.objects.create(contract=contract, position=position, **_stage_columns(stage))
        if stage["kind"] == "sandbox":
            optional = stage["optional_reference_slots"]
            StageSlot.objects.bulk_create(
                StageSlot(
                    stage=row,
                    slot=slots[key],
                    position=place,
                    optional_position=optional.index(key) if key in optional else None,
                )
                # In the order in which the document names them, which its hash counts.
                for place, key in enumerate(stage["reference_input_slots"] or selected_slots(document, stage))
            )


def _slot_columns(slot: dict[str, Any], contract: VerifierContract, at: datetime) -> dict[str, Any]:
    columns = {name: slot[name] for name in ("key", "required", "media_types", "max_bytes", "description", "sealed")}
    validator = slot["validator"]
    if validator is None:
        return columns
    if "builtin" in validator:
        return columns | {"validator_builtin": validator["builtin"]}
    program = validator["program"]
    return columns | {
        "validator_runtime": validator["runtime"],
        "validator_filename": program["filename"],
        "validator_program": _hold(
            program, "validator", f"{contract.pk}/{slot['key']}", at, f"/reference_inputs/{slot['key']}/validator"
        ),
    }


def _stage_columns(stage: dict[str, Any]) -> dict[str, Any]:
    columns = {name: stage[name] for name in ("key", "kind", "title", "description_md")}
    if stage["kind"] == "sandbox":
        return columns | {
            "selects_slots": stage["reference_input_slots"] is not None,
            "result_kind": stage["result_kind"] or "",
            "evidence_schema": stage["evidence_schema"],
        }
    if stage["kind"] == "review":
        return columns | {"review_protocol": _usable_protocols().get(protocol_hash=stage["protocol_hash"])}
    rule = stage["partner_rule"] or {"title": "", "url": ""}
    return columns | {
        "external_system": stage["external_system"],
        "rule_owner": stage["rule_owner"],
        "evidence_schema": stage["evidence_schema"],
        "acceptance": stage["acceptance"],
        "partner_rule_title": rule["title"],
        "partner_rule_url": rule["url"],
        "deadline_s": stage["deadline_s"],
    }


def _usable_protocols() -> Any:
    # Protocols live on a floor above; the foreign key, written as a string, is the one way there.
    protocols = ContractStage._meta.get_field("review_protocol").related_model._default_manager
    return protocols.filter(yanked_at=None)


def _protocol_findings(document: dict[str, Any]) -> list[Finding]:
    named = [stage["protocol_hash"] for stage in document["stages"] if stage["kind"] == "review"]
    published = _usable_protocols().filter(protocol_hash__in=named)
    return protocol_findings(document, {row.protocol_hash: json.loads(row.canonical) for row in published})


def _check_author(verifier: Verifier, author: User) -> None:
    """Return if that person may add to the Verifier (SPEC 2); reusing what stands is everybody's."""
    if not verifier.authors.filter(pk=author.pk).exists():
        names = ", ".join(verifier.authors.order_by("username").values_list("username", flat=True))
        message = f"Only authors of {verifier} add to it: {names}. Ask one of them, or use a Verifier of your own."
        raise ContractRefused([Finding("not_an_author", "", message)])


def _append_fixtures(
    contract: VerifierContract, fixtures: Sequence[dict[str, Any]], author: User, at: datetime
) -> None:
    stages = {stage.key: stage for stage in contract.stages.all()}
    slots = {slot.key: slot for slot in contract.slots.all()}
    roles = {role.key: role for role in contract.roles.all()}
    standing = {fixture.key: fixture for fixture in contract.fixtures.all()}
    position = max((fixture.position for fixture in standing.values()), default=-1)
    touched: dict[int, ContractStage] = {}
    for fixture in fixtures:
        # A retired one is its Contract's story; where that story is not told, there is nothing to append.
        if "retirement" in fixture or _stands_already(standing, stages, fixture):
            continue
        if not touched:
            _check_author(contract.verifier, author)
        position += 1
        stage = stages[fixture["stage_key"]]
        row = ConformanceFixture.objects.create(
            contract=contract,
            stage=stage,
            key=fixture["key"],
            position=position,
            title=fixture["title"],
            summary_md=fixture.get("summary_md", ""),
            expected_result=fixture["expected_result"],
            expected_score=fixture["expected_score"],
            inputs_hash=fixture_inputs_hash(fixture),
            created_at=at,
            created_by=author,
        )
        _write_files(row, fixture, slots, roles, at)
        touched[stage.pk] = stage
    for stage in touched.values():
        renew_fixture_set(stage=stage, at=at)


def _stands_already(
    standing: Mapping[str, ConformanceFixture], stages: Mapping[str, ContractStage], fixture: dict[str, Any]
) -> bool:
    """True if this very fixture is there; refused where its key or its inputs stand for something else."""
    inputs_hash = fixture_inputs_hash(fixture)
    for row in standing.values():
        same_inputs = row.inputs_hash == inputs_hash and row.stage_id == stages[fixture["stage_key"]].pk
        same_expectation = (row.expected_result, row.expected_score) == (
            fixture["expected_result"],
            fixture["expected_score"],
        )
        if row.key == fixture["key"] and same_inputs and same_expectation:
            return True
        if row.key == fixture["key"]:
            raise _fixture_refused(fixture, f"the key {row.key} stands for another fixture; choose a new key")
        if same_inputs and row.retired_at is None:
            raise _fixture_refused(fixture, f"the same inputs stand as fixture {row.key}; retire that one first")
    return False


def _fixture_refused(fixture: dict[str, Any], message: str) -> ContractRefused:
    return ContractRefused([Finding("fixture_contradicts", f"/conformance_fixtures/{fixture['key']}", message)])


def _write_files(
    row: ConformanceFixture,
    fixture: dict[str, Any],
    slots: Mapping[str, ReferenceSlot],
    roles: Mapping[str, ArtifactRole],
    at: datetime,
) -> None:
    places = [("slot", slots, "reference"), ("role", roles, "artifacts")]
    for column, rows, member in places:
        for key, file in fixture[member].items():
            pointer = f"/conformance_fixtures/{row.key}/{member}/{key}"
            blob = _hold(file, "fixture", f"{row.contract_id}/{row.key}/{key}", at, pointer)
            FixtureFile.objects.create(
                fixture=row,
                blob=blob,
                filename=file["filename"],
                media_type=file["media_type"],
                **{column: rows[key]},
            )


def _hold(file: Mapping[str, Any], kind: str, holder_id: str, at: datetime, pointer: str) -> Any:
    try:
        blob = hold_blob(content_hash=file["content_hash"], holder_kind=kind, holder_id=holder_id, at=at)
    except BytesGone as gone:
        raise ContractRefused([Finding("bytes_missing", pointer, str(gone))]) from gone
    if blob.size_bytes != file["size_bytes"]:
        message = f"stated {file['size_bytes']} bytes, stored are {blob.size_bytes}"
        raise ContractRefused([Finding("size_differs", pointer, message)])
    return blob
