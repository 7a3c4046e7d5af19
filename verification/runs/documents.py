"""The VerificationRun document, built from the projection: whatever is withheld there is null here."""

from typing import Any

from verification.contracts.documents import written_time
from verification.engine.documents import canonical_bytes
from verification.engine.reasons import ATTRIBUTION, ReasonCode
from verification.runs.models import RunStatus, RunTrigger
from verification.runs.projection import ProjectedInput, ProjectedLog, ProjectedRun, ProjectedStage

_WAITS = ("conformance", "review", "external")


def run_document(run: ProjectedRun) -> dict[str, Any]:
    """The document of one run as its viewer may see it; the same for everybody who sees the run's results."""
    waiting = run.wait if run.wait is not None and run.wait.kind in _WAITS else None
    return {
        "schema": "tfp.verification-run/v1",
        "id": run.id,
        "submission_id": run.submission_id,
        "problem_revision_id": run.revision_id,
        "verifier_contract_id": run.contract_id,
        "trigger": run.trigger,
        "rerun": {"requested_by_user_id": run.requested_by_id, "reason_md": run.rerun_reason}
        if run.trigger == RunTrigger.RERUN
        else None,
        "status": run.status,
        "result": None if run.result is None else run.result.value,
        "reason_code": _code(run.reason_code),
        "attribution": _attribution(run.reason_code),
        "score": run.score_value if run.result == "verified" else None,
        "evidence_md": run.evidence_md,
        "is_own_work": bool(run.own_work),
        "is_withheld": run.is_withheld,
        "created_at": written_time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "waiting": None
        if waiting is None
        else {"for": waiting.kind, "since": written_time(waiting.since), "until": _time(waiting.until)},
        "inputs": _inputs(run),
        "stage_results": [_stage_result(stage) for stage in run.stages if _has_result(stage)],
        "revocation": None
        if run.revoked_at is None
        else {
            "revoked_at": written_time(run.revoked_at),
            "revoked_by_user_id": run.revoked_by_id,
            "reason_md": run.revocation_reason_md,
        },
    }


def record_bytes(run: ProjectedRun) -> bytes:
    """The document in its one canonical form: the file that people download, whose SHA-256 is the record digest."""
    return canonical_bytes(run_document(run))


def is_settled(run: ProjectedRun) -> bool:
    """True once nothing but a revocation, a redaction or a release can change the document."""
    return run.status == RunStatus.FINISHED


def _has_result(stage: ProjectedStage) -> bool:
    # A deferred stage that nothing may be told of is left out, like one that was not executed.
    return stage.result is not None


def _inputs(run: ProjectedRun) -> dict[str, Any]:
    artifacts = [given for given in run.inputs if given.kind == "artifact"]
    return {
        "problem_revision_id": run.revision_id,
        "verifier_contract_id": run.contract_id,
        "normative_hash": run.contract_normative_hash,
        "fixture_sets": {s.key: s.fixture_set_hash for s in run.stages if s.fixture_set_hash and _has_result(s)},
        "artifacts": [_artifact(given, position) for position, given in enumerate(artifacts)],
        "reference": [_binding(given) for given in run.inputs if given.kind == "reference"],
    }


def _artifact(given: ProjectedInput, position: int) -> dict[str, Any]:
    return {
        "role": given.key if given.has_role else f"artifact_{position}",
        "artifact_id": given.artifact_id,
        "content_hash": given.content_hash,
        "size_bytes": given.size_bytes,
        "filename": given.filename,
        "media_type": given.media_type,
    }


def _binding(given: ProjectedInput) -> dict[str, Any]:
    document: dict[str, Any] = {
        "key": given.key,
        "kind": "linked" if given.url else "stored",
        "url": given.url,
        "content_hash": None if given.public_commitment else given.content_hash,
        "size_bytes": None if given.public_commitment else given.size_bytes,
        "media_type": given.media_type,
        "filename": given.filename,
    }
    return document | {"commitment": given.public_commitment} if given.public_commitment else document


def _stage_result(stage: ProjectedStage) -> dict[str, Any]:
    return {
        "stage_key": stage.key,
        "kind": stage.kind,
        "result": None if stage.result is None else stage.result.value,
        "reason_code": _code(stage.reason_code),
        "attribution": _attribution(stage.reason_code),
        "findings": None if stage.is_withheld else list(stage.findings),
        "started_at": _time(stage.started_at),
        "finished_at": _time(stage.finished_at),
        "log": None if stage.log is None else _log(stage.log),
        "mechanism": {"sandbox": None, "review": None, "external": None} | {stage.kind: _mechanism(stage)},
        "is_withheld": stage.is_withheld,
    }


def _log(log: ProjectedLog) -> dict[str, Any]:
    return {
        "content_hash": log.content_hash or None,
        "size_bytes": log.size_bytes,
        "truncated": log.is_truncated,
        "redaction": None
        if not log.redaction_code
        else {
            "original_content_hash": log.content_hash,
            "original_size_bytes": log.size_bytes,
            "redacted_at": _time(log.redacted_at),
            "redacted_by_user_id": log.redacted_by_id,
            "reason": log.redaction_code,
        },
    }


def _mechanism(stage: ProjectedStage) -> dict[str, Any]:
    if stage.kind != "sandbox":
        members = dict(stage.mechanism or {})
        if "attested_at" in members:
            members["attested_at"] = _time(members["attested_at"])
        return members
    return {
        "verifier_implementation_id": stage.implementation_id,
        "content_hash": stage.implementation_content_hash,
        "runtime_image_digest": stage.image_digest,
        "backend": stage.backend,
        "exit_code": stage.exit_code,
        "wall_s": stage.wall_s,
        "peak_memory_bytes": stage.peak_memory_bytes,
        "evidence_digest": stage.evidence_digest,
    }


def _code(code: ReasonCode | None) -> str | None:
    return None if code is None else code.value


def _attribution(code: ReasonCode | None) -> str | None:
    return None if code is None else ATTRIBUTION[code].value


def _time(moment: Any) -> str | None:
    return None if moment is None else written_time(moment)
