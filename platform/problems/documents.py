"""A ProblemRevision as the document that people exchange, rebuilt from rows."""

from typing import Any

from problems.models import ProblemRevision, SlotBinding
from verification.contracts.documents import written_time

REVISION_RELATIONS: tuple[str, ...] = ("bindings__slot",)


def revision_document(revision: ProblemRevision, *, with_sealed: bool = False) -> dict[str, Any]:
    """The ProblemRevision document.

    Args:
        revision: with its Contract and Skill.
        with_sealed: also tell hash and size of sealed bindings, which only managers may read before release.
    """
    contract, skill = revision.verifier_contract, revision.skill
    document: dict[str, Any] = {
        "schema": "tfp.problem-revision/v1",
        "statement_md": revision.statement_md,
        "verifier_contract_id": None if contract is None else contract.pk,
        "normative_hash": None if contract is None else contract.normative_hash,
        "skill_id": None if skill is None else skill.pk,
        "skill_content_hash": None if skill is None else skill.content_hash,
        "verifier_input_bindings": [
            binding_document(binding, with_sealed=with_sealed) for binding in revision.bindings.all()
        ],
    }
    if revision.published_at is not None:
        document |= {
            "id": revision.pk,
            "problem_id": revision.problem_id,
            "number": revision.number,
            "published_at": written_time(revision.published_at),
            "content_hash": revision.content_hash,
        }
    return document


def binding_document(binding: SlotBinding, *, with_sealed: bool = False) -> dict[str, Any]:
    """One binding; a sealed one by its commitment, and by hash and size only where `with_sealed`."""
    hides = bool(binding.commitment) and not with_sealed
    document: dict[str, Any] = {
        "key": binding.slot.key,
        "kind": binding.kind,
        "url": binding.url or None,
        "content_hash": None if hides else binding.content_hash,
        "size_bytes": None if hides else binding.size_bytes,
        "media_type": binding.media_type,
        "filename": binding.filename,
    }
    if binding.commitment:
        document["commitment"] = binding.commitment
    return document
