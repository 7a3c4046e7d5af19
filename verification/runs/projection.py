"""What a viewer may see of a run: one function of run, viewer and release, which every surface goes through.

Protected outputs are read here and nowhere else outside the services. Before release they are withheld from
everybody, staff and managers included (SPEC 6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from accounts.models import User
from accounts.roles import Viewer, is_operator, is_participant
from problems.models import Problem, Release, Visibility
from verification.contracts.models import ContractStage
from verification.engine.reasons import LABELS, ReasonCode, Result
from verification.runs.models import EvidenceFile, ProtectedOutput, RunStatus, StageResult, VerificationRun
from verification.runs.models.output import Output
from verification.runs.stages.base import executor_of


@dataclass(frozen=True)
class ProjectedLog:
    """A stage's log as far as it may be told; `redaction` is the reason where the content was removed."""

    content_hash: str
    size_bytes: int
    kept_bytes: int
    is_truncated: bool
    redaction: str | None = None
    redaction_code: str = ""
    redacted_at: datetime | None = None
    redacted_by_id: str = ""


@dataclass(frozen=True)
class ProjectedStage:
    """One stage of the plan in one run. Fields that are withheld, or not there yet, are None."""

    key: str
    number: int
    title: str
    kind: str
    state: str
    is_withheld: bool = False
    result: Result | None = None
    reason_code: ReasonCode | None = None
    findings: Sequence[Any] = ()
    summary: dict[str, Any] | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    wall_s: float | None = None
    limit_s: int | None = None
    peak_memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    exit_code: int | None = None
    enforced: Sequence[str] = ()
    log: ProjectedLog | None = None
    evidence_digest: str | None = None
    evidence_files: Sequence[tuple[str, str, int]] = ()
    implementation_id: str | None = None
    implementation_content_hash: str | None = None
    fixture_set_hash: str | None = None
    image_ref: str | None = None
    image_digest: str | None = None
    backend: str | None = None
    # The mechanism's own members of a review or external stage, as its document names them.
    mechanism: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ProjectedInput:
    """One frozen input. A sealed one shows its commitment instead of hash and size.

    `public_commitment` is set while the input is sealed, for managers too: public documents are computed over it.
    """

    kind: str
    key: str
    filename: str
    content_hash: str
    size_bytes: int | None
    media_type: str
    artifact_id: str | None = None
    url: str | None = None
    is_commitment: bool = False
    is_withdrawn: bool = False
    public_commitment: str = ""
    has_role: bool = True


@dataclass(frozen=True)
class ProjectedWait:
    """What a run waits for; `kind` is `runner` while it only waits for its turn."""

    kind: str
    text: str
    since: datetime
    until: datetime | None = None


@dataclass(frozen=True)
class ProjectedRun:
    """A run as one viewer may see it."""

    id: str
    number: int
    submission_id: str
    submission_number: int
    revision_id: str
    revision_number: int
    problem_slug: str
    problem_title: str
    contract_id: str
    contract_name: str
    contract_normative_hash: str
    trigger: str
    mode: str
    rerun_reason: str
    status: str
    result: Result | None
    label: str
    reason_code: ReasonCode | None
    reason_detail: str
    score: str | None
    evidence_md: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    wait: ProjectedWait | None
    stages: Sequence[ProjectedStage]
    inputs: Sequence[ProjectedInput]
    events: Sequence[tuple[datetime, str, str]] = field(default=())
    event_number: int = 0
    is_revoked: bool = False
    revoked_at: datetime | None = None
    revocation_reason_md: str = ""
    own_work: str = ""
    submitter_name: str = ""
    may_read_artifacts: bool = False
    is_submitter: bool = False
    is_withheld: bool = False
    score_value: float | None = None
    requested_by_id: str = ""
    revoked_by_id: str = ""
    withdrawn_at: datetime | None = None
    attempt_id: str = ""


def may_read_results(viewer: Viewer, *, problem: Problem, submitter_id: str, manager_ids: frozenset[str]) -> bool:
    """True if the Submission, its runs and public stages are the viewer's to read (SPEC 2)."""
    if problem.results_visibility == Visibility.PUBLIC:
        return True
    return _is_concerned(viewer, submitter_id=submitter_id, manager_ids=manager_ids)


def may_read_artifacts(viewer: Viewer, *, problem: Problem, submitter_id: str, manager_ids: frozenset[str]) -> bool:
    """True if the submitted bytes are the viewer's to read (SPEC 2)."""
    if problem.artifacts_visibility == Visibility.PUBLIC:
        return True
    return _is_concerned(viewer, submitter_id=submitter_id, manager_ids=manager_ids)


def _is_concerned(viewer: Viewer, *, submitter_id: str, manager_ids: frozenset[str]) -> bool:
    if not is_participant(viewer):
        return False
    return viewer.pk == submitter_id or viewer.pk in manager_ids or is_operator(viewer)


def project(run: VerificationRun, viewer: Viewer, release: Release | None) -> ProjectedRun:
    """The run as this viewer may see it now.

    Args:
        run: from `selectors.full_runs`: with stages, results, outputs, inputs and events prefetched.
        viewer: signed in or not.
        release: the Problem's release, None before it.
    """
    return project_all([(run, release)], viewer)[0]


def project_all(
    runs: Iterable[tuple[VerificationRun, Release | None]], viewer: Viewer, *, has_evidence: bool = True
) -> list[ProjectedRun]:
    """Many runs as this viewer may see them now, in as many queries as one run takes.

    Without `has_evidence` the names of evidence files are left out, for lists that do not show them.
    """
    listed = list(runs)
    outputs: dict[int, Output] = {}
    for is_released in (False, True):
        of_these = [
            r for run, release in listed if (release is not None) is is_released for r in run.stage_results.all()
        ]
        outputs |= _outputs(of_these, is_released=is_released)
    evidence = _evidence(list(outputs)) if has_evidence else {}
    return [_project(run, viewer, release, outputs, evidence) for run, release in listed]


def _project(
    run: VerificationRun,
    viewer: Viewer,
    release: Release | None,
    outputs: Mapping[int, Output],
    evidence: Mapping[int, list[tuple[str, str, int]]],
) -> ProjectedRun:
    problem = run.revision.problem
    manager_ids = frozenset(run.manager_ids)  # type: ignore[attr-defined]
    submitter = run.submission.created_by
    results = {result.stage_id: result for result in run.stage_results.all()}
    hides = release is None and any(result.is_protected for result in results.values())
    defers = release is None and hides and run.contract.verdict_release == "with_labels"
    hides_score = defers or (release is None and run.contract.score_release == "with_labels")
    stages = _stages(run, results, outputs, evidence, is_released=release is not None, defers_verdict=defers)
    result = Result(run.result) if run.result and not defers else None
    events = list(run.events.all())
    return ProjectedRun(
        id=run.pk,
        number=run.number,
        submission_id=run.submission_id,
        submission_number=run.submission.number,
        revision_id=run.revision_id,
        revision_number=run.revision.number,
        problem_slug=problem.slug,
        problem_title=problem.title,
        contract_id=run.contract_id,
        contract_name=str(run.contract),
        contract_normative_hash=run.contract_normative_hash,
        trigger=run.trigger,
        mode=run.mode,
        rerun_reason=run.rerun_reason,
        status=run.status,
        result=result,
        label=_label(run, result, defers),
        reason_code=ReasonCode(run.reason_code) if run.reason_code and not hides else None,
        reason_detail="" if hides else run.reason_detail,
        score=None if hides_score else _shown_score(run),
        evidence_md=None if hides else run.evidence_md or None,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=None if hides else run.finished_at,
        wait=_wait(run),
        stages=stages,
        inputs=_inputs(run, is_released=release is not None, is_manager=_is_manager(viewer, manager_ids)),
        events=[(event.at, event.kind, event.stage_key) for event in events if not (hides and _discloses(event.kind))],
        event_number=max((event.number for event in events), default=0),
        **_revocation(run),
        own_work=run.submission.own_work,
        submitter_name=str(submitter),
        may_read_artifacts=may_read_artifacts(
            viewer, problem=problem, submitter_id=submitter.pk, manager_ids=manager_ids
        ),
        is_submitter=is_participant(viewer) and viewer.pk == submitter.pk,
        is_withheld=hides,
        score_value=None if hides_score or run.score is None else round(run.score, run.contract.score_decimals or 0),
        requested_by_id=run.requested_by_id,
        withdrawn_at=run.submission.withdrawn_at,
        attempt_id=run.submission.attempt_id,
    )


def _revocation(run: VerificationRun) -> dict[str, Any]:
    revocation = getattr(run, "revocation", None)
    if revocation is None:
        return {}
    return {
        "is_revoked": True,
        "revoked_at": revocation.revoked_at,
        "revoked_by_id": revocation.revoked_by_id,
        "revocation_reason_md": revocation.reason_md,
    }


def _is_manager(viewer: Viewer, manager_ids: frozenset[str]) -> bool:
    return isinstance(viewer, User) and viewer.pk in manager_ids


def _discloses(kind: str) -> bool:
    """True for events whose time or kind tells how a protected stage went."""
    return kind.startswith("stage_") or kind == "finished"


def _label(run: VerificationRun, result: Result | None, is_deferred: bool) -> str:
    if result is not None:
        return LABELS[result]
    if is_deferred and run.status == RunStatus.FINISHED:
        return "Withheld until release"
    return RunStatus(run.status).label


def _shown_score(run: VerificationRun) -> str | None:
    """The score rounded for display; the exact one stays stored."""
    if run.score is None:
        return None
    unit = f" {run.contract.score_unit}" if run.contract.score_unit else ""
    return f"{run.score:.{run.contract.score_decimals or 0}f}{unit}"


def _wait(run: VerificationRun) -> ProjectedWait | None:
    if run.status == RunStatus.FINISHED:
        return None
    execution = run.execution
    if execution.waiting_for and execution.waiting_since is not None:
        stage = _next_stage(run)
        executor = None if stage is None else executor_of(stage.kind)
        text = execution.waiting_for if executor is None or stage is None else executor.waiting_text(stage)
        return ProjectedWait(execution.waiting_for, text, execution.waiting_since, execution.waiting_until)
    if execution.lease_until is None:
        return ProjectedWait("runner", "Waiting for a free runner.", run.created_at)
    return None


def _next_stage(run: VerificationRun) -> ContractStage | None:
    done = len(run.stage_results.all())
    stages = list(run.contract.stages.all())
    return stages[done] if done < len(stages) else None


def _stages(
    run: VerificationRun,
    results: dict[int, StageResult],
    outputs: Mapping[int, Output],
    evidence: Mapping[int, list[tuple[str, str, int]]],
    *,
    is_released: bool,
    defers_verdict: bool,
) -> list[ProjectedStage]:
    plan = list(run.contract.stages.all())
    projected = []
    deferred = False
    for number, stage in enumerate(plan, start=1):
        result = results.get(stage.pk)
        base: dict[str, Any] = {"key": stage.key, "number": number, "title": stage.title, "kind": stage.kind}
        if result is None or deferred:
            state = "withheld" if deferred else _state_without_result(run, number - 1)
            started = run.execution.stage_started_at if state == "running" else None
            projected.append(ProjectedStage(**base, state=state, started_at=started))
            continue
        is_withheld = result.is_protected and not is_released
        deferred = deferred or (is_withheld and defers_verdict)
        output = outputs.get(result.pk)
        projected.append(
            ProjectedStage(
                **base,
                state="withheld" if deferred else result.result,
                result=None if deferred else Result(result.result),
                is_withheld=is_withheld,
                **_mechanism(result),
                **({} if output is None else _output_fields(result, output, evidence.get(result.pk, []))),
            )
        )
    return projected


def _state_without_result(run: VerificationRun, position: int) -> str:
    if run.status == RunStatus.FINISHED:
        return "not_run"
    if position != len(run.stage_results.all()):
        return "not_started"
    if run.execution.waiting_for:
        return "waiting"
    return "running" if run.execution.stage_started_at is not None else "not_started"


def _mechanism(result: StageResult) -> dict[str, Any]:
    implementation = result.implementation
    if implementation is None:
        return {"mechanism": _outside_mechanism(result)}
    return {
        "implementation_id": implementation.pk,
        "implementation_content_hash": result.implementation_content_hash,
        "fixture_set_hash": None if result.fixture_set is None else result.fixture_set.content_hash,
        "image_ref": implementation.image_ref,
        "image_digest": result.image_digest,
        "backend": result.backend,
        "limit_s": implementation.timeout_seconds,
        "memory_limit_bytes": implementation.memory_mb * 1024 * 1024,
    }


def _outside_mechanism(result: StageResult) -> dict[str, Any]:
    if result.kind == "review":
        return {
            "review_process_id": result.review_process_id,
            "review_protocol_id": result.review_protocol_id,
            "protocol_hash": result.protocol_hash,
            "casefile_hash": result.casefile_hash or None,
            "evidence_hash": result.review_evidence_hash or None,
        }
    return {
        "external_system": result.external_system,
        "reference": result.durable_reference or None,
        "rule_owner": result.rule_owner,
        "evidence_hash": result.external_evidence_hash or None,
        "attested_by_user_id": result.attested_by_id,
        "attested_at": result.attested_at,
    }


def _outputs(results: Iterable[StageResult], *, is_released: bool) -> dict[int, Output]:
    listed = list(results)
    found: dict[int, Output] = {r.pk: r.output for r in listed if not r.is_protected and hasattr(r, "output")}
    protected = [result.pk for result in listed if result.is_protected]
    if is_released and protected:
        found |= {output.pk: output for output in ProtectedOutput.objects.filter(pk__in=protected)}
    return found


def _evidence(result_ids: Sequence[int]) -> dict[int, list[tuple[str, str, int]]]:
    files: dict[int, list[tuple[str, str, int]]] = {}
    for file in EvidenceFile.objects.filter(stage_result__in=result_ids):
        files.setdefault(file.stage_result_id, []).append((file.path, file.blob_id, file.size_bytes))
    return files


def _output_fields(result: StageResult, output: Output, files: Sequence[tuple[str, str, int]]) -> dict[str, Any]:
    redaction = getattr(result, "log_redaction", None)
    log = None
    if output.log_hash or redaction is not None:
        log = ProjectedLog(
            content_hash=output.log_hash,
            size_bytes=output.log_size_bytes,
            kept_bytes=output.log_kept_bytes,
            is_truncated=output.log_truncated,
            redaction=None if redaction is None else redaction.get_reason_display(),
            redaction_code="" if redaction is None else redaction.reason,
            redacted_at=None if redaction is None else redaction.redacted_at,
            redacted_by_id="" if redaction is None else redaction.redacted_by_id,
        )
    return {
        "reason_code": ReasonCode(output.reason_code) if output.reason_code else None,
        "findings": tuple(output.findings),
        "summary": output.summary,
        "started_at": output.started_at,
        "finished_at": output.finished_at,
        "wall_s": output.wall_s,
        "peak_memory_bytes": output.peak_memory_bytes,
        "exit_code": output.exit_code,
        "enforced": tuple(output.enforced),
        "log": log,
        "evidence_digest": output.evidence_digest or None,
        "evidence_files": tuple(files),
    }


def _inputs(run: VerificationRun, *, is_released: bool, is_manager: bool) -> list[ProjectedInput]:
    inputs = [
        ProjectedInput(
            kind="artifact",
            key=artifact.role or f"file {artifact.position + 1}",
            filename=artifact.filename,
            content_hash=artifact.content_hash,
            size_bytes=artifact.size_bytes,
            media_type=artifact.media_type,
            artifact_id=artifact.artifact_id,
            is_withdrawn=artifact.artifact.withdrawn_at is not None,
            has_role=bool(artifact.role),
        )
        for artifact in run.artifacts.all()
    ]
    for reference in run.references.all():
        hides = reference.is_sealed and not is_released and not is_manager
        inputs.append(
            ProjectedInput(
                kind="reference",
                key=reference.key,
                filename=reference.filename,
                content_hash=reference.commitment if hides else reference.content_hash,
                size_bytes=None if hides else reference.size_bytes,
                media_type=reference.media_type,
                url=reference.url or None,
                is_commitment=hides,
                public_commitment=reference.commitment if reference.is_sealed and not is_released else "",
            )
        )
    return inputs
