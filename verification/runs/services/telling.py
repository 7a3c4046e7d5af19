"""The run's record as the engine tells it: rows in, `evidence_md` out."""

from verification.contracts.execution import frozen_contract
from verification.engine.evidence import (
    ExternalMechanism,
    RecordedInput,
    RecordedStage,
    ReviewMechanism,
    RunRecord,
    SandboxMechanism,
    compose_evidence_md,
)
from verification.engine.reasons import ReasonCode, Result
from verification.runs.models import ProtectedOutput, StageResult, VerificationRun
from verification.runs.models.output import Output


def evidence_text(run: VerificationRun) -> str:
    """`evidence_md` of a run whose outcome is set on the instance; codes, counts, times and digests only."""
    if run.finished_at is None:
        raise ValueError("expected a run whose finished_at is set")
    results = list(run.stage_results.select_related("stage", "output").order_by("position"))
    protected = [result.pk for result in results if result.is_protected]
    hidden = {o.stage_result_id: o for o in ProtectedOutput.objects.filter(pk__in=protected)} if protected else {}
    inputs = [
        RecordedInput(
            kind="artifact",
            key=artifact.role or f"artifact_{artifact.position}",
            content_hash=artifact.content_hash,
            size_bytes=artifact.size_bytes,
            artifact_id=artifact.artifact_id,
        )
        for artifact in run.artifacts.all()
    ]
    inputs += [
        RecordedInput(
            kind="reference",
            key=reference.key,
            content_hash=reference.commitment if reference.is_sealed else reference.content_hash,
            size_bytes=None if reference.is_sealed else reference.size_bytes,
            is_commitment=reference.is_sealed,
            is_linked=reference.kind == "linked",
        )
        for reference in run.references.all()
    ]
    return compose_evidence_md(
        RunRecord(
            run_id=run.pk,
            submission_id=run.submission_id,
            problem_revision_id=run.revision_id,
            contract_id=run.contract_id,
            contract_hash=run.contract_normative_hash,
            result=Result(run.result),
            reason_code=ReasonCode(run.reason_code) if run.reason_code else None,
            created_at=run.created_at,
            finished_at=run.finished_at,
            stages_planned=len(frozen_contract(run.contract_id).stages.all()),
            inputs=tuple(inputs),
            stages=tuple(
                _stage(result, hidden[result.pk] if result.is_protected else result.output) for result in results
            ),
        )
    )


def _stage(result: StageResult, output: Output) -> RecordedStage:
    return RecordedStage(
        stage_key=result.stage.key,
        kind=result.kind,
        result=Result(result.result),
        reason_code=ReasonCode(output.reason_code) if output.reason_code else None,
        started_at=output.started_at,
        finished_at=output.finished_at,
        findings_total=len(output.findings),
        mechanism=_mechanism(result, output),
    )


def _mechanism(result: StageResult, output: Output) -> SandboxMechanism | ReviewMechanism | ExternalMechanism:
    if result.kind == "sandbox":
        return SandboxMechanism(
            implementation_id=str(result.implementation_id),
            implementation_content_hash=result.implementation_content_hash,
            image_digest=result.image_digest,
            backend=result.backend,
            exit_code=output.exit_code,
            wall_s=output.wall_s or 0.0,
            peak_memory_bytes=output.peak_memory_bytes or 0,
            evidence_digest=output.evidence_digest or None,
        )
    if result.kind == "review":
        return ReviewMechanism(
            process_id=result.review_process_id,
            protocol_id=str(result.review_protocol_id),
            protocol_hash=result.protocol_hash,
            casefile_hash=result.casefile_hash,
            evidence_hash=result.review_evidence_hash,
        )
    if result.attested_at is None:
        raise ValueError("expected an external stage with the time of its attestation")
    return ExternalMechanism(
        rule_owner=result.rule_owner,
        evidence_hash=result.external_evidence_hash,
        attested_at=result.attested_at,
    )
