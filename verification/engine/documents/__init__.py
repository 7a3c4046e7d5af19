"""The JSON documents: strict reading, one canonical form, hashes, and the shapes that JSON Schemas state."""

from verification.engine.documents.evidence_schemas import evidence_schema_findings
from verification.engine.documents.findings import (
    MAX_FINDINGS,
    DocumentRefused,
    Finding,
    JsonValue,
    capped,
    listed,
    pointer_to,
    shown,
    within,
)
from verification.engine.documents.reading import (
    MAX_DOCUMENT_DEPTH,
    MAX_SAFE_INTEGER,
    canonical_bytes,
    document_hash,
    parse_json,
    value_findings,
)
from verification.engine.documents.shapes import KINDS, shipped_schema, validate_against, validate_document

__all__ = [
    "KINDS",
    "MAX_DOCUMENT_DEPTH",
    "MAX_FINDINGS",
    "MAX_SAFE_INTEGER",
    "DocumentRefused",
    "Finding",
    "JsonValue",
    "canonical_bytes",
    "capped",
    "document_hash",
    "evidence_schema_findings",
    "listed",
    "parse_json",
    "pointer_to",
    "shipped_schema",
    "shown",
    "validate_against",
    "validate_document",
    "value_findings",
    "within",
]
