"""The sandbox stage: the platform executes the stage's current Implementation on the frozen inputs."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from verification.contracts.documents import plan_document
from verification.contracts.execution import execute, expectation_of, limits_of
from verification.contracts.models import ContractStage, VerifierImplementation
from verification.contracts.selectors import stage_capacity
from verification.engine.manifest import (
    ManifestArtifact,
    ManifestReference,
    PriorStageResult,
    artifact_path,
    build_manifest,
    reference_path,
)
from verification.engine.outcome import SUMMARY_NAME, StageOutcome, interpret
from verification.engine.plan import effective_result_kind, is_protected
from verification.engine.reasons import Result
from verification.engine.sandbox.base import Execution, InputFile
from verification.runs.models import RunReference, VerificationRun
from verification.runs.stages.base import (
    SandboxMechanism,
    StageAnswer,
    StageContext,
    StageDone,
    StageOutputs,
    StageUnavailable,
    StageWaits,
)

CONFORMANCE_BOUND = timedelta(hours=24)
WAITS_FOR = "conformance"


class SandboxExecutor:
    """Runs sandbox stages on this worker's backends."""

    def validate_at_publication(self, stage: ContractStage) -> list[str]:
        """Nothing beyond the plan rules: an Implementation may come later, and runs wait for its conformance."""
        del stage
        return []

    def is_ready(self, stage: ContractStage) -> bool:
        """True if a run at this stage would not wait now: something can execute it, or nothing ever will."""
        capacity = stage_capacity(stage)
        return capacity.current is not None or capacity.pending == 0

    def cancel(self, run: VerificationRun, stage: ContractStage) -> None:
        """Nothing to close: a sandbox stage ends with its executor."""

    def waiting_text(self, stage: ContractStage) -> str:
        """What a page says while a run waits here."""
        return f"Waiting for an Implementation of {stage.title} to pass its conformance fixtures."

    def start(self, context: StageContext) -> StageAnswer:
        """Execute the stage, or say that it waits for conformance or that nothing can execute it."""
        capacity = stage_capacity(context.stage)
        if capacity.current is None or capacity.fixture_set is None:
            if capacity.pending:
                return StageWaits(WAITS_FOR, str(context.stage.pk), CONFORMANCE_BOUND)
            return StageUnavailable(f"No Implementation of stage {context.stage.key} passed its conformance fixtures.")
        implementation = capacity.current
        started_at = context.begin(implementation.timeout_seconds)
        document = plan_document(context.run.contract)
        stage_document = document["stages"][context.stage.position]
        kind = effective_result_kind(document, stage_document)
        manifest, inputs = _manifest_and_inputs(context, implementation, kind)
        execution = execute(
            implementation=implementation,
            manifest=manifest,
            inputs=inputs,
            folder=context.folder,
            is_cancelled=context.is_cancelled,
        )
        expectation = expectation_of(
            context.run.contract, result_kind=kind, evidence_schema=context.stage.evidence_schema
        )
        outcome = interpret(execution, expectation)
        return StageDone(
            stage_id=context.stage.pk,
            stage_key=context.stage.key,
            position=context.position,
            kind="sandbox",
            result=outcome.result,
            is_protected=is_protected(document, stage_document),
            mechanism=SandboxMechanism(
                implementation_id=implementation.pk,
                implementation_content_hash=implementation.content_hash,
                fixture_set_id=capacity.fixture_set.pk,
                image_digest=implementation.image_digest,
                backend=execution.backend,
            ),
            output=_outputs(outcome, execution, started_at=started_at),
        )


def _manifest_and_inputs(
    context: StageContext, implementation: VerifierImplementation, kind: str
) -> tuple[dict[str, Any], list[InputFile]]:
    run, stage = context.run, context.stage
    selected = {stage_slot.slot.key for stage_slot in stage.stage_slots.all()}
    artifacts = [artifact for artifact in run.artifacts.all() if artifact.role]
    references = [r for r in run.references.all() if r.key in selected and r.kind == "stored"]
    manifest = build_manifest(
        run_id=run.pk,
        verifier_contract_id=run.contract_id,
        stage_key=stage.key,
        problem_revision_id=run.revision_id,
        submission_id=run.submission_id,
        summary_md=run.submission.summary_md or None,
        accepts_summary=run.contract.summary != "refused",
        artifacts=[
            ManifestArtifact(
                role=artifact.role,
                artifact_id=artifact.artifact_id,
                filename=artifact.filename,
                content_hash=artifact.content_hash,
                size_bytes=artifact.size_bytes,
                media_type=artifact.media_type,
            )
            for artifact in artifacts
        ],
        reference=[_reference(reference) for reference in references],
        prior_stage_results=[
            PriorStageResult(key, prior, Result(result)) for key, prior, result in context.prior_results
        ],
        result_kind=kind,
        limits=limits_of(implementation),
    )
    inputs = [InputFile(artifact_path(a.role, a.filename), context.inputs[a.content_hash]) for a in artifacts]
    inputs += [InputFile(reference_path(r.key, r.filename), context.inputs[r.content_hash]) for r in references]
    return manifest, inputs


def _reference(reference: RunReference) -> ManifestReference:
    return ManifestReference(
        key=reference.key,
        filename=reference.filename,
        content_hash=reference.content_hash,
        size_bytes=reference.size_bytes,
        media_type=reference.media_type,
    )


def _outputs(outcome: StageOutcome, execution: Execution, *, started_at: Any) -> StageOutputs:
    summary = next((file.content for file in outcome.evidence_files if file.path == SUMMARY_NAME), None)
    findings: Sequence[Any] = outcome.findings
    if outcome.reason is not None:
        findings = (outcome.reason, *findings)
    return StageOutputs(
        started_at=started_at,
        reason_code=outcome.reason_code,
        findings=findings,
        exit_code=execution.exit_code if execution.signal is None else -execution.signal,
        wall_s=execution.wall_s,
        cpu_s=execution.cpu_s,
        peak_memory_bytes=execution.peak_memory_bytes,
        score=outcome.score,
        summary=_parsed(summary),
        enforced=frozenset(guard.value for guard in execution.enforced),
        log_content=execution.log.content,
        log_size_bytes=execution.log.size_bytes,
        log_truncated=execution.log.truncated,
        evidence_digest=outcome.evidence_digest,
        evidence=[(file.path, file.content) for file in outcome.evidence_files],
    )


def _parsed(summary: bytes | None) -> Any:
    """The evidence summary for display, where it is small and plain JSON; the file itself is kept in any case."""
    if summary is None or len(summary) > 16_384 or b"\\u0000" in summary:
        return None
    try:
        parsed = json.loads(summary, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None
