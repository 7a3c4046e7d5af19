"""What a finished run says for good: the digest of an evidence tree, and `evidence_md` (SPEC 7)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from verification.engine.documents import document_hash
from verification.engine.ids import is_key
from verification.engine.reasons import ATTRIBUTION, LABELS, ReasonCode, Result, check_reason
from verification.engine.sandbox.base import EvidenceFile

_ID = re.compile(r"[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}\Z")
_HASH = re.compile(r"sha256:[0-9a-f]{64}\Z")
_STAGE_KINDS = frozenset({"sandbox", "review", "external"})
_RULE_OWNERS = frozenset({"contract", "partner"})
_BACKEND = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")


class NotForTheRecord(ValueError):
    """A value is not a code, key, count, time or digest, and may not enter a text that can never be redacted."""


@dataclass(frozen=True)
class RecordedInput:
    """One input of a run. A sealed one is told by its commitment, and without its size."""

    kind: str
    key: str
    content_hash: str
    size_bytes: int | None
    artifact_id: str | None = None
    is_commitment: bool = False
    is_linked: bool = False


@dataclass(frozen=True)
class SandboxMechanism:
    """How the platform itself executed a stage."""

    implementation_id: str
    implementation_content_hash: str
    image_digest: str
    backend: str
    exit_code: int | None
    wall_s: float
    peak_memory_bytes: int
    evidence_digest: str | None


@dataclass(frozen=True)
class ReviewMechanism:
    """Which review decided a stage."""

    process_id: str
    protocol_id: str
    protocol_hash: str
    casefile_hash: str
    evidence_hash: str


@dataclass(frozen=True)
class ExternalMechanism:
    """Which attestation a stage rests on; the system's own words stay in the stage result."""

    rule_owner: str
    evidence_hash: str
    attested_at: datetime


@dataclass(frozen=True)
class RecordedStage:
    """One executed stage, in plan order."""

    stage_key: str
    kind: str
    result: Result
    reason_code: ReasonCode | None
    started_at: datetime
    finished_at: datetime
    findings_total: int
    mechanism: SandboxMechanism | ReviewMechanism | ExternalMechanism


@dataclass(frozen=True)
class RunRecord:
    """Everything that `evidence_md` tells."""

    run_id: str
    submission_id: str
    problem_revision_id: str
    contract_id: str
    contract_hash: str
    result: Result
    reason_code: ReasonCode | None
    created_at: datetime
    finished_at: datetime
    stages_planned: int
    inputs: tuple[RecordedInput, ...]
    stages: tuple[RecordedStage, ...]


def tree_digest(files: Iterable[EvidenceFile]) -> str:
    """Digest over path, hash and size of every file, whatever order they come in.

    Raises:
        ValueError: a path comes twice.
    """
    entries = sorted((file.path, file.content_hash, file.size_bytes) for file in files)
    if len({path for path, _hash, _size in entries}) != len(entries):
        raise ValueError("expected every evidence path once, found one twice; collect the tree again")
    return document_hash(
        [{"path": path, "content_hash": content_hash, "size_bytes": size} for path, content_hash, size in entries]
    )


def compose_evidence_md(record: RunRecord) -> str:
    """The run's account in Markdown, from codes, keys, counts, times and digests alone.

    It can never be redacted, so nothing that a checker or a participant wrote may enter it: every value is checked
    for its form on the way in.

    Raises:
        NotForTheRecord: a value has another form.
    """
    lines = [f"# Run {_id(record.run_id)}", ""]
    lines += [f"**{_told(record.result, record.reason_code)}**", ""]
    lines += [
        f"- Submission: `{_id(record.submission_id)}`",
        f"- Revision: `{_id(record.problem_revision_id)}`",
        f"- Contract: `{_id(record.contract_id)}`, normative hash `{_hash(record.contract_hash)}`",
        f"- Created: {_time(record.created_at)}",
        f"- Finished: {_time(record.finished_at)}",
        f"- Stages: {_count(len(record.stages))} executed of {_count(record.stages_planned)} planned",
        "",
        "## Inputs",
        "",
    ]
    lines += [_input_line(entry) for entry in record.inputs] or ["None."]
    for number, stage in enumerate(record.stages, start=1):
        lines += ["", *_stage_lines(number, stage)]
    return "\n".join(lines) + "\n"


def _input_line(entry: RecordedInput) -> str:
    if entry.kind not in {"artifact", "reference"}:
        raise NotForTheRecord(f"expected the input kind artifact or reference, found {entry.kind!r:.80}")
    told = f"- {entry.kind} `{_key(entry.key)}`"
    if entry.artifact_id is not None:
        told += f" (`{_id(entry.artifact_id)}`)"
    told += f": {'commitment ' if entry.is_commitment else ''}`{_hash(entry.content_hash)}`"
    if entry.size_bytes is not None and not entry.is_commitment:
        told += f", {_count(entry.size_bytes)} bytes"
    return f"{told}; as its author states, not fetched" if entry.is_linked else told


def _stage_lines(number: int, stage: RecordedStage) -> list[str]:
    if stage.kind not in _STAGE_KINDS:
        raise NotForTheRecord(f"expected a stage kind among {sorted(_STAGE_KINDS)}, found {stage.kind!r:.80}")
    return [
        f"## Stage {number}: `{_key(stage.stage_key)}` ({stage.kind})",
        "",
        f"**{_told(stage.result, stage.reason_code)}**",
        "",
        f"- From {_time(stage.started_at)} to {_time(stage.finished_at)}",
        f"- Findings: {_count(stage.findings_total)}",
        *_mechanism_lines(stage.mechanism),
    ]


def _mechanism_lines(mechanism: SandboxMechanism | ReviewMechanism | ExternalMechanism) -> list[str]:
    if isinstance(mechanism, SandboxMechanism):
        backend = _formed(mechanism.backend, _BACKEND, "the name of a backend")
        exit_code = "none" if mechanism.exit_code is None else str(int(mechanism.exit_code))
        evidence = "none" if mechanism.evidence_digest is None else f"`{_hash(mechanism.evidence_digest)}`"
        return [
            f"- Examined by the platform, executing the Implementation `{_id(mechanism.implementation_id)}`",
            f"- Implementation: content hash `{_hash(mechanism.implementation_content_hash)}`",
            f"- Image: `{_hash(mechanism.image_digest)}`, backend {backend}",
            f"- Exit status {exit_code} after {float(mechanism.wall_s):.3f} s",
            f"- Peak memory: {_count(mechanism.peak_memory_bytes)} bytes",
            f"- Evidence: {evidence}",
        ]
    if isinstance(mechanism, ReviewMechanism):
        return [
            f"- Examined by reviewers in `{_id(mechanism.process_id)}`",
            f"- Protocol: `{_id(mechanism.protocol_id)}`, hash `{_hash(mechanism.protocol_hash)}`",
            f"- Casefile: `{_hash(mechanism.casefile_hash)}`",
            f"- Evidence: `{_hash(mechanism.evidence_hash)}`",
        ]
    if mechanism.rule_owner not in _RULE_OWNERS:
        raise NotForTheRecord(f"expected the rule owner contract or partner, found {mechanism.rule_owner!r:.80}")
    return [
        f"- Examined by an outside system; the {mechanism.rule_owner}'s rule decided",
        f"- Attested: {_time(mechanism.attested_at)}",
        f"- Evidence: `{_hash(mechanism.evidence_hash)}`",
    ]


def _told(result: Result, reason_code: ReasonCode | None) -> str:
    check_reason(result, reason_code)
    if reason_code is None:
        return LABELS[result]
    return f"{LABELS[result]}: `{reason_code.value}`, attributed to {ATTRIBUTION[reason_code].value}"


def _id(text: str) -> str:
    return _formed(text, _ID, "an id")


def _hash(text: str) -> str:
    return _formed(text, _HASH, "sha256: and 64 hex digits")


def _formed(text: str, form: re.Pattern[str], expected: str) -> str:
    if not form.match(text):
        raise NotForTheRecord(f"expected {expected}, found {text!r:.80}")
    return text


def _key(text: str) -> str:
    if not is_key(text):
        raise NotForTheRecord(f"expected a key of the Contract, found {text!r:.80}")
    return text


def _count(number: int) -> str:
    if isinstance(number, bool) or number < 0:
        raise NotForTheRecord(f"expected a count, found {number!r:.80}")
    return f"{int(number)}"


def _time(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise NotForTheRecord("expected a moment with its time zone, found one without")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
