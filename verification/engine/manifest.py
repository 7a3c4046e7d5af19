"""What a checker is told about its run: the paths inside a sandbox, and the manifest document (SPEC 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verification.engine.names import safe_filename
from verification.engine.reasons import Result
from verification.engine.sandbox.base import Limits

VERSION = "tfp.verification-manifest/v0.1"

INPUT_ROOT = "/input"
MANIFEST_PATH = "/input/manifest.json"
ARTIFACTS_ROOT = "/input/artifacts"
REFERENCE_ROOT = "/input/reference"
CHECKER_PATH = "/input/checker/checker.py"
OUTPUT_ROOT = "/output"
RESULT_PATH = "/output/result.json"
EVIDENCE_ROOT = "/output/evidence"


@dataclass(frozen=True)
class ManifestArtifact:
    """One file of the Submission; `filename` as the participant gave it."""

    role: str
    artifact_id: str
    filename: str
    content_hash: str
    size_bytes: int
    media_type: str


@dataclass(frozen=True)
class ManifestReference:
    """One stored binding that the stage selects; `filename` as the manager gave it."""

    key: str
    filename: str
    content_hash: str
    size_bytes: int
    media_type: str


@dataclass(frozen=True)
class PriorStageResult:
    """What an earlier stage of the plan came to."""

    stage_key: str
    kind: str
    result: Result


def artifact_path(role: str, filename: str) -> str:
    """Where the checker finds the artifact of that role; the role's own directory keeps roles apart."""
    return f"{ARTIFACTS_ROOT}/{role}/{safe_filename(filename, fallback=role)}"


def reference_path(key: str, filename: str) -> str:
    """Where the checker finds the stored binding of that slot."""
    return f"{REFERENCE_ROOT}/{key}/{safe_filename(filename, fallback=key)}"


def build_manifest(
    *,
    run_id: str,
    verifier_contract_id: str,
    stage_key: str,
    problem_revision_id: str,
    submission_id: str,
    summary_md: str | None,
    accepts_summary: bool,
    artifacts: Sequence[ManifestArtifact],
    reference: Sequence[ManifestReference],
    prior_stage_results: Sequence[PriorStageResult],
    result_kind: str,
    limits: Limits,
) -> dict[str, Any]:
    """The manifest document of one stage, with exactly the members of SPEC 9.

    Args:
        summary_md: what the Submission gave, None or empty where it gave none.
        accepts_summary: the Contract requires a summary or leaves it open. A refused one never reaches a checker.
        artifacts: in the order of the Contract's roles.
        reference: the stage's selected stored bindings. Linked ones are never mounted and never listed.
        result_kind: the stage's effective kind.
    """
    summary = summary_md if accepts_summary and summary_md else None
    return {
        "version": VERSION,
        "run_id": run_id,
        "verifier_contract_id": verifier_contract_id,
        "stage_key": stage_key,
        "problem_revision_id": problem_revision_id,
        "submission": {"id": submission_id, "summary_md": summary, "summary_included": summary is not None},
        "artifacts": [_artifact_entry(artifact) for artifact in artifacts],
        "reference": [_reference_entry(entry) for entry in reference],
        "prior_stage_results": [
            {"stage_key": prior.stage_key, "kind": prior.kind, "result": prior.result.value}
            for prior in prior_stage_results
        ],
        "result_kind": result_kind,
        "limits": limits_document(limits),
    }


def limits_document(limits: Limits) -> dict[str, Any]:
    """The limits as documents write them; the network is always none."""
    return {
        "vcpu": limits.vcpu,
        "memory_mb": limits.memory_mb,
        "disk_mb": limits.disk_mb,
        "timeout_seconds": limits.timeout_seconds,
        "pids": limits.pids,
        "network": "none",
    }


def _artifact_entry(artifact: ManifestArtifact) -> dict[str, Any]:
    return {
        "role": artifact.role,
        "artifact_id": artifact.artifact_id,
        "path": artifact_path(artifact.role, artifact.filename),
        "filename": safe_filename(artifact.filename, fallback=artifact.role),
        "content_hash": artifact.content_hash,
        "size_bytes": artifact.size_bytes,
        "media_type": artifact.media_type,
    }


def _reference_entry(entry: ManifestReference) -> dict[str, Any]:
    return {
        "key": entry.key,
        "path": reference_path(entry.key, entry.filename),
        "filename": safe_filename(entry.filename, fallback=entry.key),
        "content_hash": entry.content_hash,
        "size_bytes": entry.size_bytes,
        "media_type": entry.media_type,
    }
