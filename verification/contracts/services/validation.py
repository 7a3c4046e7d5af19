"""Reference validators: what they say of bytes is recorded once per (bytes, validator)."""

import json
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.ids import new_id
from verification.contracts.documents import slot_validator
from verification.contracts.execution import backends, builtin_digest, input_folder, place_bytes
from verification.contracts.models import ReferenceAcceptance, ReferenceSlot
from verification.engine.hashes import validator_key
from verification.engine.manifest import ManifestReference, build_manifest, reference_path
from verification.engine.outcome import StageExpectation, interpret
from verification.engine.reasons import Result
from verification.engine.sandbox.base import BackendUnavailable, InputFile, Invocation, Limits, select

# Validators read one slot's bytes; these bounds are the platform's own.
VALIDATOR_LIMITS = Limits(vcpu=1, memory_mb=4096, disk_mb=64, timeout_seconds=120, pids=16)


@dataclass(frozen=True)
class ReferenceFile:
    """Stored bytes as a binding names them."""

    content_hash: str
    size_bytes: int
    filename: str
    media_type: str


class NoAnswer(BackendUnavailable):
    """The validator itself failed, so nothing is recorded about the bytes; to be tried again."""


def acceptance_of(slot: ReferenceSlot, content_hash: str) -> ReferenceAcceptance | None:
    """What the slot's validator said of the bytes; None where it has not spoken. See `needs_acceptance`."""
    validator = slot_validator(slot)
    if validator is None:
        return None
    return ReferenceAcceptance.objects.filter(validator_key=validator_key(validator), blob_id=content_hash).first()


def needs_acceptance(slot: ReferenceSlot) -> bool:
    """True if bytes for this slot must be accepted by a validator first."""
    return slot_validator(slot) is not None


def validate_reference(*, slot: ReferenceSlot, file: ReferenceFile, at: datetime) -> ReferenceAcceptance | None:
    """The recorded answer of the slot's validator on the bytes, asking it where it has not spoken.

    Raises:
        SandboxFailure: the machinery failed, or the validator did; nothing is recorded.
    """
    validator = slot_validator(slot)
    if validator is None:
        return None
    known = acceptance_of(slot, file.content_hash)
    if known is not None:
        return known
    if "builtin" not in validator:
        raise BackendUnavailable("expected a backend for script validators, found none on this worker")
    digest = builtin_digest(validator["builtin"])
    with input_folder() as folder:
        source = place_bytes(folder, file.content_hash, size_bytes=file.size_bytes)
        invocation = Invocation(
            manifest=_manifest(slot, file),
            inputs=(InputFile(reference_path(slot.key, file.filename), source),),
            image_digest=digest,
            limits=VALIDATOR_LIMITS,
        )
        execution = select(backends(), digest).execute(invocation)
    outcome = interpret(execution, StageExpectation(result_kind="pass_fail"))
    if outcome.result not in (Result.VERIFIED, Result.REFUTED):
        raise NoAnswer(f"the validator of slot {slot.key} ended {outcome.result.value}")
    reason = outcome.reason or (json.dumps(outcome.findings[0]) if outcome.findings else "")
    return _record(
        validator_key(validator), file, outcome.result is Result.VERIFIED, reason, digest, execution.backend, at
    )


@transaction.atomic
def _record(
    key: str, file: ReferenceFile, is_accepted: bool, reason: str, digest: str, backend: str, at: datetime
) -> ReferenceAcceptance:
    ReferenceAcceptance.objects.bulk_create(
        [
            ReferenceAcceptance(
                validator_key=key,
                blob_id=file.content_hash,
                is_accepted=is_accepted,
                reason="" if is_accepted else reason[:2000],
                image_digest=digest,
                backend=backend,
                checked_at=at,
            )
        ],
        ignore_conflicts=True,
    )
    return ReferenceAcceptance.objects.get(validator_key=key, blob_id=file.content_hash)


def _manifest(slot: ReferenceSlot, file: ReferenceFile) -> dict[str, object]:
    return build_manifest(
        run_id=new_id("cfx"),
        verifier_contract_id=slot.contract_id,
        stage_key=slot.key,
        problem_revision_id=new_id("cfx"),
        submission_id=new_id("cfx"),
        summary_md=None,
        accepts_summary=False,
        artifacts=[],
        reference=[
            ManifestReference(
                key=slot.key,
                filename=file.filename,
                content_hash=file.content_hash,
                size_bytes=file.size_bytes,
                media_type=file.media_type,
            )
        ],
        prior_stage_results=[],
        result_kind="pass_fail",
        limits=VALIDATOR_LIMITS,
    )
