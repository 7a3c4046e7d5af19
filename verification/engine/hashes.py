"""What each hash covers: the parts of a document that must not change, and the commitment that hides bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from verification.engine.documents import document_hash

_SALT_BYTES: Final = 32
_NORMATIVE_MEMBERS: Final = (
    "statement_md",
    "reference_inputs",
    "submission_requirements",
    "result_kind",
    "score",
    "sealing",
)


class CommitmentRefused(ValueError):
    """The salt or the stated length cannot give a commitment that anybody could check."""


def normative_part(contract: Mapping[str, Any]) -> dict[str, Any]:
    """What a Contract accepts: statement, plan, slots, requirements, kind, score and sealing, and nothing else.

    A review stage counts by the hash of its protocol; the id under which one deployment stores it does not count.
    Fixtures are regression evidence and no part of it.
    """
    part = {name: contract[name] for name in _NORMATIVE_MEMBERS}
    part["stages"] = [
        {name: value for name, value in stage.items() if name != "review_protocol_id"} for stage in contract["stages"]
    ]
    return part


def normative_hash(contract: Mapping[str, Any]) -> str:
    """The name of what a Contract accepts, equal in every deployment that holds the same one."""
    return document_hash(normative_part(contract))


def fixture_inputs_hash(fixture: Mapping[str, Any]) -> str:
    """The name of what a fixture feeds to its stage: two fixtures that share it must expect the same.

    Only bytes and summary count: another file name or media type does not make the same bytes another input.
    """
    return document_hash(
        {
            "stage_key": fixture["stage_key"],
            "reference": {key: file["content_hash"] for key, file in fixture["reference"].items()},
            "artifacts": {role: file["content_hash"] for role, file in fixture["artifacts"].items()},
            "summary_md": fixture.get("summary_md"),
        }
    )


def fixture_set_hash(fixtures: Iterable[Mapping[str, Any]]) -> str:
    """The name of the live fixtures of one stage, whatever their order; retired ones are left out.

    Title and size do not count: the one is for readers, the other follows from the bytes.
    """
    live = [fixture for fixture in fixtures if not fixture.get("retirement")]
    return document_hash([_counted_fixture(fixture) for fixture in sorted(live, key=lambda fixture: fixture["key"])])


def implementation_content_hash(implementation: Mapping[str, Any]) -> str:
    """The name of an executable for a stage: image, program, limits and source; not its id, record or yank.

    The Contract's local id is left out, so that the same package imported elsewhere has the same name.
    """
    counted = ("stage_key", "runtime", "program", "limits", "source")
    return document_hash({name: implementation[name] for name in counted})


def revision_content_hash(revision: Mapping[str, Any]) -> str:
    """The name of a frozen revision; the same for a manager, who sees hashes of sealed bytes, and for everybody else.

    Contract and Skill count by content, not by local id. A sealed binding counts by its commitment alone.
    """
    bindings = sorted(revision["verifier_input_bindings"], key=lambda binding: str(binding["key"]))
    return document_hash(
        {
            "statement_md": revision["statement_md"],
            "normative_hash": revision["normative_hash"],
            "skill_content_hash": revision["skill_content_hash"],
            "verifier_input_bindings": [_counted_binding(binding) for binding in bindings],
        }
    )


def validator_key(validator: Mapping[str, Any]) -> str:
    """The name under which a reference validator's verdict on some bytes is recorded."""
    return document_hash(dict(validator))


def commitment(salt: bytes, key: str, content: bytes) -> str:
    """Salted commitment to the bytes of a sealed slot; see `commitment_of_chunks`."""
    return commitment_of_chunks(salt, key, len(content), [content])


def commitment_of_chunks(salt: bytes, key: str, size_bytes: int, chunks: Iterable[bytes]) -> str:
    """SHA-256 of salt, NUL, slot key, NUL, length (eight bytes, big-endian), content; as `sha256:…`.

    Without the salt, which release reveals, nobody can test a guess of the content, however few are possible.

    Args:
        salt: 32 random bytes, used for this one binding.
        key: the slot's key.
        size_bytes: of the whole content.
        chunks: the content in order.

    Raises:
        CommitmentRefused: the salt has another length, or the chunks do not add up to `size_bytes`.
    """
    if len(salt) != _SALT_BYTES:
        raise CommitmentRefused(f"expected a salt of {_SALT_BYTES} bytes, found {len(salt)}; draw a fresh one")
    digest = hashlib.sha256(salt + b"\0" + key.encode() + b"\0" + size_bytes.to_bytes(8, "big"))
    found = 0
    for chunk in chunks:
        found += len(chunk)
        digest.update(chunk)
    if found != size_bytes:
        raise CommitmentRefused(f"expected {size_bytes} bytes of content, found {found}; measure it again")
    return f"sha256:{digest.hexdigest()}"


def _counted_fixture(fixture: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": fixture["key"],
        "stage_key": fixture["stage_key"],
        "reference": {key: _counted_file(file) for key, file in fixture["reference"].items()},
        "artifacts": {role: _counted_file(file) for role, file in fixture["artifacts"].items()},
        "summary_md": fixture.get("summary_md"),
        "expected_result": fixture["expected_result"],
        "expected_score": fixture["expected_score"],
    }


def _counted_file(file: Mapping[str, Any]) -> dict[str, Any]:
    return {name: file[name] for name in ("filename", "content_hash", "media_type")}


def _counted_binding(binding: Mapping[str, Any]) -> dict[str, Any]:
    counted: tuple[str, ...] = ("key", "kind", "url", "content_hash", "size_bytes", "media_type", "filename")
    if binding.get("commitment"):
        counted = ("key", "kind", "media_type", "filename", "commitment")
    return {name: binding[name] for name in counted}
