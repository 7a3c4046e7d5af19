"""Strict reading of a ReviewProtocol: its content, its canonical text and the hash that names it."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from verification.engine.documents import (
    DocumentRefused,
    Finding,
    canonical_bytes,
    capped,
    parse_json,
    pointer_to,
    shown,
    validate_document,
)

MAX_PROTOCOL_BYTES: Final = 262_144
# What the protocol's table of codes calls by one name, and the reader of JSON by two.
_CANONICAL: Final = frozenset({"lone_surrogate", "integer_range"})
_LINE_CHARACTERS: Final = frozenset("\n\t")


@dataclass(frozen=True)
class ReviewProtocol:
    """A protocol as it was read: `canonical` is the RFC 8785 text that is stored, `protocol_hash` is over its bytes."""

    content: dict[str, Any]
    canonical: str
    protocol_hash: str


def read_protocol(data: bytes) -> ReviewProtocol:
    """The protocol that these bytes spell.

    Only the text and the shape are judged here: strict JSON, integers only, text in Unicode's form NFC without
    control characters other than line feed and tab (instructions are Markdown), and the published schema.

    Raises:
        DocumentRefused: with every finding; codes of the text are `canonical`, `float`, `nfc` and `control`.
    """
    try:
        content = parse_json(data, max_bytes=MAX_PROTOCOL_BYTES)
    except DocumentRefused as refusal:
        raise DocumentRefused(_renamed(finding) for finding in refusal.findings) from refusal
    findings = protocol_shape_findings(content)
    if findings:
        raise DocumentRefused(findings)
    assert isinstance(content, dict)
    canonical = canonical_bytes(content)
    return ReviewProtocol(content, canonical.decode(), "sha256:" + hashlib.sha256(canonical).hexdigest())


def protocol_shape_findings(content: object) -> list[Finding]:
    """Why this value is no protocol by its text and shape; empty when it is. Total and bounded."""
    shape = [_renamed(finding) for finding in validate_document("review-protocol", content)]
    if any(finding.code in {"too_deep", "too_large", "not_json"} for finding in shape):
        # Not bounded, so not walked again.
        return shape
    # The schema's door names a control character in its own way; the walk below names it in the protocol's.
    return capped([*_text_findings(content), *(f for f in shape if f.code != "control_character")])


def _renamed(finding: Finding) -> Finding:
    return Finding("canonical", finding.pointer, finding.message) if finding.code in _CANONICAL else finding


def _text_findings(content: object) -> Iterator[Finding]:
    pending: list[tuple[object, tuple[str | int, ...]]] = [(content, ())]
    while pending:
        node, path = pending.pop()
        if isinstance(node, dict):
            for key in node:
                yield from _string_findings(key, (*path, key))
            pending.extend((child, (*path, key)) for key, child in reversed(node.items()))
        elif isinstance(node, list):
            pending.extend((node[index], (*path, index)) for index in range(len(node) - 1, -1, -1))
        elif isinstance(node, str):
            yield from _string_findings(node, path)
        elif isinstance(node, float):
            message = f"expected integers only, found {shown(node)}; write basis points, seconds or weights"
            yield Finding("float", pointer_to(*path), message)


def _string_findings(text: str, path: tuple[str | int, ...]) -> Iterator[Finding]:
    if not unicodedata.is_normalized("NFC", text):
        yield Finding("nfc", pointer_to(*path), "expected text in Unicode's form NFC; normalise it before hashing")
    if any(unicodedata.category(character) == "Cc" and character not in _LINE_CHARACTERS for character in text):
        yield Finding("control", pointer_to(*path), "expected no control characters but line feed and tab; remove them")
