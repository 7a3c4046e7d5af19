"""Contracts and Implementations as the documents that people exchange, rebuilt from rows."""

from datetime import UTC, datetime
from typing import Any

from verification.contracts.models import (
    ConformanceFixture,
    ConformanceRecord,
    ContractStage,
    FixtureFile,
    ReferenceSlot,
    VerifierContract,
    VerifierImplementation,
)

NORMATIVE_RELATIONS: tuple[str, ...] = (
    "slots__validator_program",
    "roles",
    "stages__stage_slots__slot",
    "stages__review_protocol",
)
FIXTURE_RELATIONS: tuple[str, ...] = (
    "fixtures__files__blob",
    "fixtures__files__slot",
    "fixtures__files__role",
    "fixtures__stage",
)


def written_time(moment: datetime) -> str:
    """A moment as documents write it: UTC, ISO 8601, ending in Z."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def contract_document(contract: VerifierContract) -> dict[str, Any]:
    """The VerifierContract document, ids and fixtures included."""
    document = plan_document(contract)
    document["conformance_fixtures"] = [fixture_document(fixture) for fixture in contract.fixtures.all()]
    if contract.published_at is not None:
        document |= {
            "id": contract.pk,
            "verifier_id": contract.verifier_id,
            "version": contract.number,
            "normative_hash": contract.normative_hash,
            "published_at": written_time(contract.published_at),
        }
    if contract.yanked_at is not None:
        document["yank"] = _yank(contract)
    return document


def plan_document(contract: VerifierContract) -> dict[str, Any]:
    """The part of the document that publication freezes: everything but ids, fixtures and a yank."""
    return {
        "schema": "tfp.verifier-contract/v1",
        "statement_md": contract.statement_md,
        "reference_inputs": [_slot(slot) for slot in contract.slots.all()],
        "stages": [_stage(stage) for stage in contract.stages.all()],
        "submission_requirements": {
            "required_artifacts": [
                {"role": role.key, "media_types": role.media_types, "max_bytes": role.max_bytes}
                for role in contract.roles.all()
            ],
            "summary": contract.summary,
        },
        "result_kind": contract.result_kind,
        "score": _score(contract),
        "sealing": {"verdict_release": contract.verdict_release, "score_release": contract.score_release},
    }


def fixture_document(fixture: ConformanceFixture) -> dict[str, Any]:
    """One fixture as a Contract document carries it."""
    document: dict[str, Any] = {
        "key": fixture.key,
        "stage_key": fixture.stage.key,
        "title": fixture.title,
        "reference": {f.slot.key: _file(f) for f in fixture.files.all() if f.slot is not None},
        "artifacts": {f.role.key: _file(f) for f in fixture.files.all() if f.role is not None},
        "expected_result": fixture.expected_result,
        "expected_score": fixture.expected_score,
    }
    if fixture.summary_md:
        document["summary_md"] = fixture.summary_md
    if fixture.retired_at is not None:
        document["retirement"] = {
            "retired_at": written_time(fixture.retired_at),
            "retired_by_user_id": fixture.retired_by_id,
            "reason_md": fixture.retire_reason,
        }
    return document


def implementation_document(
    implementation: VerifierImplementation, record: ConformanceRecord | None = None
) -> dict[str, Any]:
    """The VerifierImplementation document, with a conformance record where one is given."""
    program = implementation.program
    document: dict[str, Any] = {
        "schema": "tfp.verifier-implementation/v1",
        "id": implementation.pk,
        "verifier_contract_id": implementation.contract_id,
        "content_hash": implementation.content_hash,
        "created_at": written_time(implementation.created_at),
        "stage_key": implementation.stage.key,
        "runtime": {"image_ref": implementation.image_ref, "image_digest": implementation.image_digest},
        "program": None
        if program is None
        else {
            "filename": implementation.program_filename,
            "content_hash": program.content_hash,
            "size_bytes": program.size_bytes,
        },
        "limits": {
            "vcpu": implementation.vcpu,
            "memory_mb": implementation.memory_mb,
            "disk_mb": implementation.disk_mb,
            "timeout_seconds": implementation.timeout_seconds,
            "pids": implementation.pids,
            "network": implementation.network,
        },
        "source": {
            "uri": implementation.source_uri,
            "revision": implementation.source_revision,
            "license": implementation.license,
        },
    }
    if record is not None:
        document["conformance"] = _conformance(record)
    if implementation.yanked_at is not None:
        document["yank"] = _yank(implementation)
    return document


def _conformance(record: ConformanceRecord) -> dict[str, Any]:
    failures = [run for run in record.runs.all() if run.claim_number == record.claim_number and not run.matches]
    return {
        "status": record.status,
        "fixture_set_hash": record.fixture_set.content_hash,
        "fixtures_total": record.fixtures_total,
        "fixtures_passed": record.fixtures_passed,
        "failures": [
            {
                "fixture_key": run.fixture.key,
                "is_disguised": run.is_disguised,
                "expected_result": run.fixture.expected_result,
                "expected_score": run.fixture.expected_score,
                "actual_result": run.actual_result,
                "actual_score": run.actual_score,
                "reason_code": run.reason_code or None,
            }
            for run in failures
        ],
        "differential_against_implementation_id": None,
    }


def _yank(row: VerifierContract | VerifierImplementation) -> dict[str, Any]:
    if row.yanked_at is None:
        raise ValueError("expected a yanked row")
    return {
        "yanked_at": written_time(row.yanked_at),
        "yanked_by_user_id": row.yanked_by_id,
        "reason_md": row.yank_reason,
    }


def _file(file: FixtureFile) -> dict[str, Any]:
    return {
        "filename": file.filename,
        "content_hash": file.blob.content_hash,
        "size_bytes": file.blob.size_bytes,
        "media_type": file.media_type,
    }


def slot_validator(slot: ReferenceSlot) -> dict[str, Any] | None:
    """The slot's reference validator as the Contract document names it."""
    if slot.validator_builtin:
        return {"builtin": slot.validator_builtin}
    if slot.validator_program is None:
        return None
    return {
        "runtime": slot.validator_runtime,
        "program": {
            "filename": slot.validator_filename,
            "content_hash": slot.validator_program.content_hash,
            "size_bytes": slot.validator_program.size_bytes,
        },
    }


def _slot(slot: ReferenceSlot) -> dict[str, Any]:
    return {
        "key": slot.key,
        "required": slot.required,
        "media_types": slot.media_types,
        "max_bytes": slot.max_bytes,
        "description": slot.description,
        "sealed": slot.sealed,
        "validator": slot_validator(slot),
    }


def _score(contract: VerifierContract) -> dict[str, Any] | None:
    if contract.result_kind != "score":
        return None
    return {
        "name": contract.score_name,
        "unit": contract.score_unit,
        "direction": contract.score_direction,
        "minimum": contract.score_minimum,
        "maximum": contract.score_maximum,
        "decimals": contract.score_decimals,
        "release_step": contract.score_release_step,
    }


def _stage(stage: ContractStage) -> dict[str, Any]:
    document: dict[str, Any] = {
        "key": stage.key,
        "kind": stage.kind,
        "title": stage.title,
        "description_md": stage.description_md,
    }
    if stage.kind == "sandbox":
        selected = list(stage.stage_slots.all())
        optional = sorted(
            (s for s in selected if s.optional_position is not None), key=lambda s: s.optional_position or 0
        )
        return document | {
            "reference_input_slots": [s.slot.key for s in selected] if stage.selects_slots else None,
            "optional_reference_slots": [s.slot.key for s in optional],
            "result_kind": stage.result_kind or None,
            "evidence_schema": stage.evidence_schema,
        }
    if stage.kind == "review":
        if stage.review_protocol is None:
            raise ValueError("expected a review stage with its protocol")
        return document | {
            "review_protocol_id": stage.review_protocol_id,
            "protocol_hash": stage.review_protocol.protocol_hash,
        }
    partner_rule = {"title": stage.partner_rule_title, "url": stage.partner_rule_url}
    return document | {
        "external_system": stage.external_system,
        "rule_owner": stage.rule_owner,
        "evidence_schema": stage.evidence_schema,
        "acceptance": stage.acceptance,
        "partner_rule": partner_rule if stage.partner_rule_url else None,
        "deadline_s": stage.deadline_s,
    }
