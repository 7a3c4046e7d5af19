"""Attempts, Artifacts, Submissions and runs, made as a participant and a worker make them."""

import functools
from typing import Any

from pysat.solvers import Cadical153

from accounts.clock import database_now
from accounts.models import User
from problems.models import ProblemRevision
from submissions.models import Artifact, Attempt, Submission
from submissions.services import add_artifact, open_attempt
from tests.factories.contracts import sandbox_stage, sat_package
from tests.factories.people import make_user
from tests.factories.problems import published_problem, staged
from verification.contracts.selectors import stage_capacity
from verification.engine.reasons import ReasonCode, Result
from verification.runs.execution import execute_run
from verification.runs.models import VerificationRun
from verification.runs.services import append_stage_result, begin_stage, claim_run, finish_run, submit_work
from verification.runs.services.claims import Claim
from verification.runs.stages.base import SandboxMechanism, StageDone, StageOutputs

JUNK = b"this is not an answer\n"
LIAR = b"s SATISFIABLE\nv 1 2 3 0\n"


@functools.lru_cache
def right_answer() -> bytes:
    """An assignment, found by a solver, that satisfies the small package's formula."""
    lines = sat_package().files["reference/instance"].read_text().splitlines()
    clauses = [[int(word) for word in line.split()][:-1] for line in lines if line and line[0] not in "cp"]
    with Cadical153(bootstrap_with=clauses) as solver:
        solver.solve()
        return f"s SATISFIABLE\nv {' '.join(map(str, solver.get_model()))} 0\n".encode()


# What has to be submitted for a result, and the reason that goes with it.
ANSWERS: dict[str, tuple[Any, ReasonCode | None]] = {
    "verified": (right_answer, None),
    "refuted": (lambda: LIAR, ReasonCode.CHECKER_REFUTED),
    "inconclusive": (lambda: JUNK, ReasonCode.CHECKER_INCONCLUSIVE),
}


def upload(
    attempt: Attempt, content: bytes, *, filename: str = "answer.txt", media_type: str = "text/plain"
) -> Artifact:
    """A file added to the Attempt by its participant."""
    with staged(content) as bytes_:
        return add_artifact(
            attempt_id=attempt.pk,
            staged=bytes_,
            filename=filename,
            media_type=media_type,
            participant=attempt.participant,
            at=database_now(),
        )


def open_attempt_with(
    *contents: bytes, revision: ProblemRevision | None = None, participant: User | None = None
) -> Attempt:
    """An open Attempt with these files uploaded, in order."""
    revision = revision or published_problem()
    attempt = open_attempt(participant=participant or make_user(), revision=revision, at=database_now())
    for content in contents:
        upload(attempt, content)
    return attempt


def submission(
    content: bytes | None = None,
    *,
    revision: ProblemRevision | None = None,
    participant: User | None = None,
    summary_md: str = "",
) -> Submission:
    """A Submission of one file (by default a right answer) with its queued run, where the revision pins a Contract."""
    attempt = open_attempt_with(revision=revision, participant=participant)
    artifact = upload(attempt, right_answer() if content is None else content)
    return submit_work(
        participant=attempt.participant,
        attempt_id=attempt.pk,
        artifact_ids=[artifact.pk],
        summary_md=summary_md,
        at=database_now(),
    )


def queued_run(**wanted: Any) -> VerificationRun:
    """The queued run of a new Submission; arguments as for `submission`."""
    return submission(**wanted).runs.get()


def finished_run(result: str = "verified", **wanted: Any) -> VerificationRun:
    """A run that the worker's own code executed on the process backend (some 0.1 s); `result` chooses the bytes."""
    answer, _ = ANSWERS[result]
    run = queued_run(content=answer(), **wanted)
    execute_run(run_id=run.pk, holder="worker")
    run = VerificationRun.objects.get(pk=run.pk)
    assert run.result == result, (run.status, run.result, run.reason_code)
    return run


def claimed_run(run: VerificationRun, *, holder: str = "worker") -> Claim:
    """A claim on the run."""
    claim = claim_run(run_id=run.pk, holder=holder, at=database_now())
    assert claim is not None
    return claim


def stage_done(run: VerificationRun, result: str = "verified", **output: Any) -> StageDone:
    """What a sandbox executor answers after its stage, without executing anything."""
    stage = sandbox_stage(run.contract)
    capacity = stage_capacity(stage)
    assert capacity.current is not None
    assert capacity.fixture_set is not None
    reasons = {"error": ReasonCode.EXIT_NONZERO} | {name: code for name, (_, code) in ANSWERS.items()}
    return StageDone(
        stage_id=stage.pk,
        stage_key=stage.key,
        position=stage.position,
        kind="sandbox",
        result=Result(result),
        mechanism=SandboxMechanism(
            implementation_id=capacity.current.pk,
            implementation_content_hash=capacity.current.content_hash,
            fixture_set_id=capacity.fixture_set.pk,
            image_digest=capacity.current.image_digest,
            backend="process",
        ),
        output=StageOutputs(started_at=database_now(), reason_code=reasons[result], exit_code=0, wall_s=0.1, **output),
    )


def recorded_run(result: str = "verified", **wanted: Any) -> VerificationRun:
    """A finished run written through the services with nothing executed: for lists, where only the rows matter."""
    run = queued_run(**wanted)
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key=sandbox_stage(run.contract).key, at=database_now())
    done = stage_done(run, result)
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code)
