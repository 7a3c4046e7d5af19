"""Every write of Problems, revisions, bindings and Skills; publication is one transaction that freezes or refuses."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max

from accounts.models import User
from blobs.models import BlobHold
from blobs.services import CHUNK_BYTES, StagedBytes, end_hold, hold_staged, open_blob
from problems.documents import REVISION_RELATIONS, binding_document, revision_document
from problems.models import Problem, ProblemRevision, Skill, SlotBinding
from verification.contracts import dispatch
from verification.contracts.documents import contract_document
from verification.contracts.models import ReferenceSlot, VerifierContract
from verification.contracts.selectors import full_contracts
from verification.contracts.services.validation import acceptance_of, needs_acceptance
from verification.engine.documents import Finding, validate_document
from verification.engine.hashes import commitment_of_chunks, revision_content_hash
from verification.engine.plan import binding_findings
from verification.engine.plan.addresses import is_https_url

BINDING_HOLD = "binding"


class PublicationRefused(Exception):
    """The revision may not be published; `findings` lists every violated rule."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(f"{f.pointer or 'revision'}: {f.message}" for f in findings))
        self.findings = tuple(findings)


class BindingRefused(Exception):
    """What is to be bound could not be written down; `findings` name the members."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(f"{f.pointer or 'binding'}: {f.message}" for f in findings))
        self.findings = tuple(findings)


class RevisionIsFrozen(Exception):
    """A published revision was to be changed; draft the next one instead."""


@transaction.atomic
def create_problem(
    *, slug: str, title: str, summary: str, manager: User, at: datetime, policies: dict[str, Any] | None = None
) -> Problem:
    """A new Problem with its first manager."""
    problem = Problem.objects.create(
        slug=slug, title=title, summary=summary, created_at=at, created_by=manager, **(policies or {})
    )
    problem.managers.add(manager)
    return problem


@transaction.atomic
def draft_revision(
    *,
    problem: Problem,
    statement_md: str,
    contract: VerifierContract | None,
    skill: Skill | None,
    author: User,
    at: datetime,
) -> ProblemRevision:
    """The next revision of a Problem, as a draft."""
    Problem.objects.select_for_update(no_key=True).get(pk=problem.pk)
    number = (problem.revisions.aggregate(last=Max("number"))["last"] or 0) + 1
    return ProblemRevision.objects.create(
        problem=problem,
        number=number,
        statement_md=statement_md,
        verifier_contract=contract,
        skill=skill,
        created_at=at,
        created_by=author,
    )


@transaction.atomic
def create_skill(*, title: str, body_md: str, at: datetime) -> Skill:
    """A Skill: never changed once a published revision may pin it."""
    digest = hashlib.sha256(body_md.encode()).hexdigest()
    return Skill.objects.create(title=title, body_md=body_md, content_hash=f"sha256:{digest}", created_at=at)


@transaction.atomic
def bind_stored(
    *,
    revision: ProblemRevision,
    slot: ReferenceSlot,
    staged: StagedBytes,
    media_type: str,
    filename: str,
    at: datetime,
) -> SlotBinding:
    """Give a slot of a draft exact bytes; its reference validator is asked about them right away.

    Raises:
        BindingRefused: media type or file name cannot be written down.
        RevisionIsFrozen: the revision is published.
    """
    draft = _draft(revision)
    _check_shape(draft, slot, staged.content_hash, staged.size_bytes, media_type, filename)
    _unbind(draft, slot, at)
    blob = hold_staged(
        staged=staged, holder_kind=BINDING_HOLD, holder_id=f"{draft.pk}/{slot.key}/{secrets.token_hex(8)}", at=at
    )
    salt, committed = None, ""
    if slot.sealed:
        salt = secrets.token_bytes(32)
        staged.file.seek(0)
        chunks = iter(lambda: staged.file.read(CHUNK_BYTES), b"")
        committed = commitment_of_chunks(salt, slot.key, staged.size_bytes, chunks)
    binding = SlotBinding.objects.create(
        revision=draft,
        slot=slot,
        kind="stored",
        blob=blob,
        content_hash=blob.content_hash,
        size_bytes=blob.size_bytes,
        media_type=media_type,
        filename=filename,
        salt=salt,
        commitment=committed,
    )
    if needs_acceptance(slot) and acceptance_of(slot, blob.content_hash) is None:
        dispatch.validate_reference(slot.pk, blob.content_hash, blob.size_bytes)
    return binding


@transaction.atomic
def bind_link(
    *,
    revision: ProblemRevision,
    slot: ReferenceSlot,
    url: str,
    content_hash: str,
    size_bytes: int,
    media_type: str,
    filename: str,
    at: datetime,
) -> SlotBinding:
    """Give a slot of a draft a link; hash and size are the author's statement and are never checked.

    Raises:
        BindingRefused: the link is not https, or another member cannot be written down.
        RevisionIsFrozen: the revision is published.
    """
    draft = _draft(revision)
    _check_shape(draft, slot, content_hash, size_bytes, media_type, filename, url=url)
    _unbind(draft, slot, at)
    return SlotBinding.objects.create(
        revision=draft,
        slot=slot,
        kind="linked",
        url=url,
        content_hash=content_hash,
        size_bytes=size_bytes,
        media_type=media_type,
        filename=filename,
    )


def publication_findings(revision: ProblemRevision) -> list[Finding]:
    """Every publication rule that the revision violates now, each with the slot or field it concerns (SPEC 3)."""
    revision = _full_revision(revision.pk)
    findings = (
        [] if revision.statement_md.strip() else [Finding("statement_empty", "/statement_md", "Write a statement.")]
    )
    if revision.verifier_contract_id is None:
        return findings
    contract = full_contracts().get(pk=revision.verifier_contract_id)
    if contract.yanked_at is not None:
        message = f"The Contract was yanked: {contract.yank_reason} Choose another one."
        findings.append(Finding("contract_yanked", "/verifier_contract_id", message))
    if contract.published_at is None:
        findings.append(Finding("contract_draft", "/verifier_contract_id", "The Contract is not published yet."))
    bindings = list(revision.bindings.all())
    documents = [binding_document(binding, with_sealed=True) for binding in bindings]
    findings += binding_findings(contract_document(contract), documents)
    for binding in bindings:
        findings += _byte_findings(binding, f"/verifier_input_bindings/{binding.slot.key}")
    return findings


@transaction.atomic
def publish_revision(*, revision: ProblemRevision, published_by: User, at: datetime) -> ProblemRevision:
    """Freeze a draft for good, or refuse with every violated rule; nothing in between.

    Raises:
        PublicationRefused: with all findings.
        RevisionIsFrozen: it is published already.
    """
    draft = _draft(revision)
    findings = publication_findings(draft)
    if findings:
        raise PublicationRefused(findings)
    document = revision_document(_full_revision(draft.pk))
    shape = validate_document("problem-revision", document)
    if shape:
        raise PublicationRefused(shape)
    draft.published_at = at
    draft.published_by = published_by
    draft.content_hash = revision_content_hash(document)
    draft.save(update_fields=["published_at", "published_by", "content_hash"])
    return draft


def _byte_findings(binding: SlotBinding, pointer: str) -> list[Finding]:
    """What is wrong with stored bytes: gone, other than stated, or not accepted by the slot's validator."""
    if binding.kind != "stored":
        return []
    key, blob = binding.slot.key, binding.blob
    if blob is None or blob.purged_at is not None:
        return [Finding("bytes_missing", pointer, f"The bytes of slot {key} are not stored; upload them again.")]
    digest, size_bytes = hashlib.sha256(), 0
    with open_blob(blob.content_hash) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
    if f"sha256:{digest.hexdigest()}" != binding.content_hash or size_bytes != binding.size_bytes:
        return [Finding("bytes_differ", pointer, f"The stored bytes of slot {key} are not the ones stated.")]
    if not needs_acceptance(binding.slot):
        return []
    acceptance = acceptance_of(binding.slot, binding.content_hash)
    if acceptance is None:
        message = f"The validator of slot {key} has not looked at the bytes yet; try again in a moment."
        return [Finding("not_validated", pointer, message)]
    if not acceptance.is_accepted:
        return [Finding("refused_by_validator", pointer, f"The validator of slot {key} refused: {acceptance.reason}")]
    return []


def _check_shape(
    draft: ProblemRevision,
    slot: ReferenceSlot,
    content_hash: str,
    size_bytes: int,
    media_type: str,
    filename: str,
    *,
    url: str | None = None,
) -> None:
    """Return if such a binding can be written down; whether it fits its slot is asked at publication."""
    contract = draft.verifier_contract
    document = {
        "key": slot.key,
        "kind": "stored" if url is None else "linked",
        "url": url,
        "content_hash": content_hash,
        "size_bytes": size_bytes,
        "media_type": media_type,
        "filename": filename,
    }
    frame = {
        "schema": "tfp.problem-revision/v1",
        "statement_md": "-",
        "verifier_contract_id": slot.contract_id,
        "normative_hash": content_hash if contract is None else contract.normative_hash,
        "skill_id": None,
        "skill_content_hash": None,
        "verifier_input_bindings": [document],
    }
    place = "/verifier_input_bindings/0"
    findings = [replace(f, pointer=f.pointer.removeprefix(place)) for f in validate_document("problem-revision", frame)]
    if not findings and url is not None and not is_https_url(url):
        findings = [Finding("binding_link_not_https", "/url", "Expected an absolute https:// address; correct it.")]
    if slot.contract_id != draft.verifier_contract_id:
        findings.append(Finding("binding_unknown_slot", "/key", "This slot is not one of the revision's Contract."))
    if findings:
        raise BindingRefused(findings)


def _draft(revision: ProblemRevision) -> ProblemRevision:
    locked = ProblemRevision.objects.select_for_update(no_key=True, of=("self",)).get(pk=revision.pk)
    if locked.published_at is not None:
        raise RevisionIsFrozen(f"Revision {locked.number} is published and never changes. Draft the next one.")
    return locked


def _full_revision(revision_id: str) -> ProblemRevision:
    return (
        ProblemRevision.objects.select_related("problem", "verifier_contract", "skill")
        .prefetch_related(*REVISION_RELATIONS, "bindings__blob", "bindings__slot__validator_program")
        .get(pk=revision_id)
    )


def _unbind(draft: ProblemRevision, slot: ReferenceSlot, at: datetime) -> None:
    for old in SlotBinding.objects.filter(revision=draft, slot=slot):
        blob_id = old.blob_id
        old.delete()
        if blob_id is not None:
            _end_binding_holds(draft, slot, blob_id, at)


def _end_binding_holds(draft: ProblemRevision, slot: ReferenceSlot, content_hash: str, at: datetime) -> None:
    prefix = f"{draft.pk}/{slot.key}/"
    holds = BlobHold.objects.filter(
        blob_id=content_hash, holder_kind=BINDING_HOLD, holder_id__startswith=prefix, ended_at=None
    )
    for hold in holds:
        end_hold(content_hash=content_hash, holder_kind=BINDING_HOLD, holder_id=hold.holder_id, at=at)
