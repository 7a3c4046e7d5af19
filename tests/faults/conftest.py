"""Runs that break while they are under way: their revisions, their workers, and waiting for how they end."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from problems.models import ProblemRevision
from tests.factories.contracts import LIMITS, passed_implementation, sat_contract, sat_document
from tests.factories.people import make_author
from tests.factories.problems import make_problem, published_revision
from tests.factories.work import queued_run
from tests.faults.backend import PATIENT, WORKER
from tests.services import ChildProcess
from verification.engine.checkers.registry import Builtin
from verification.runs.models import RunStatus, StageResult, VerificationRun


@pytest.fixture(autouse=True)
def all_lost_after_the_test(transactional_db: None) -> None:
    """Rows that other processes see are really committed, so the whole database is emptied afterwards."""


def revision_checked_by(builtin: Builtin, **limits: int) -> ProblemRevision:
    """A published revision whose only stage this checker executes; it asks for no evidence."""
    stages = [stage | {"evidence_schema": None} for stage in sat_document()["stages"]]
    contract = sat_contract(make_author(), stages=stages)
    passed_implementation(
        contract,
        runtime={"image_ref": builtin.image_ref, "image_digest": builtin.image_digest},
        limits=LIMITS | {"pids": 64} | limits,
    )
    return published_revision(make_problem(contract.created_by), contract)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the patient checker leaves its process id."""
    return tmp_path / "checker"


def patient_run(place: Path) -> VerificationRun:
    """A queued run that the patient checker will examine, for up to ten minutes."""
    return queued_run(revision=revision_checked_by(PATIENT, timeout_seconds=600), content=f"{place}\n".encode())


def patient_process(place: Path) -> int:
    """The process id of the patient checker, once it is in the middle of its work."""
    return int(eventually(lambda: place.exists() and place.read_text().strip(), within_s=30))


@pytest.fixture
def start_runner(celery_worker_process: Callable[..., ChildProcess]) -> Callable[..., ChildProcess]:
    """Starts a worker that executes runs and does nothing else."""

    def start(**wanted: Any) -> ChildProcess:
        return celery_worker_process(**{"queues": "sandbox", "concurrency": 1, "env": WORKER} | wanted)

    return start


@pytest.fixture
def sweeping(celery_worker_process: Callable[..., ChildProcess]) -> ChildProcess:
    """A worker that sweeps by its own clock, as beside every deployment's runners."""
    return celery_worker_process(queues="default", concurrency=1, beat=True, env=WORKER)


def eventually(is_so: Callable[[], Any], *, within_s: float) -> Any:
    """What `is_so` answers once it is true; the time only bounds a failing test."""
    give_up_at = time.monotonic() + within_s
    while not (answer := is_so()):
        assert time.monotonic() < give_up_at, "did not come to be within the time that the platform promises"
        time.sleep(0.05)
    return answer


def finished(run: VerificationRun, *, within_s: float) -> VerificationRun:
    """The run, once it is finished."""
    found = VerificationRun.objects.filter(pk=run.pk, status=RunStatus.FINISHED).select_related("execution")
    answer: VerificationRun = eventually(found.first, within_s=within_s)
    return answer


def story(run: VerificationRun) -> list[str]:
    """The kinds of the run's events in order."""
    return list(run.events.order_by("number").values_list("kind", flat=True))


def recorded_results(run: VerificationRun) -> list[str]:
    """The results of the run's stages in plan order."""
    return list(StageResult.objects.filter(run=run).order_by("position").values_list("result", flat=True))
