"""T03: whoever holds a run dies in the middle of a stage that may take ten minutes."""

import os
import signal
from pathlib import Path

import pytest

from accounts.clock import database_now
from tests.faults.conftest import finished, patient_process, patient_run, recorded_results, story
from tests.verification.engine.sandbox.hostile.executions import ends
from verification.runs.models import RunExecution
from verification.runs.services import LEASE
from verification.runs.sweeps import sweep_runs

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

PROMISED_S = 60.0


def run_in_the_middle_of_its_stage(place: Path):
    run = patient_run(place)
    return run, patient_process(place)


def holder_of(run) -> int:
    return int(RunExecution.objects.get(pk=run.pk).holder.rpartition("|")[0].rpartition("|")[2])


def test_a_run_whose_executor_is_killed_is_taken_over_by_its_worker(start_runner, sweeping, place):
    start_runner()
    run, checker = run_in_the_middle_of_its_stage(place)

    os.kill(holder_of(run), signal.SIGKILL)

    run = finished(run, within_s=PROMISED_S)
    assert (run.result, recorded_results(run), run.execution.faults) == ("verified", ["verified"], 1)
    assert story(run) == ["queued", "stage_started", "stage_started", "stage_verified", "finished"]
    assert ends(checker)


def test_a_run_whose_whole_worker_is_killed_is_taken_over_by_another(start_runner, sweeping, place):
    worker = start_runner()
    run, checker = run_in_the_middle_of_its_stage(place)

    worker.kill()
    start_runner()

    run = finished(run, within_s=PROMISED_S)
    assert (run.result, recorded_results(run), run.execution.faults) == ("verified", ["verified"], 1)
    assert ends(checker)


def test_an_executor_that_died_without_a_neighbour_to_notice_is_missed_when_its_lease_ends(place, start_runner):
    """The sweep runs on another machine here: only the lease tells."""
    worker = start_runner()
    run, checker = run_in_the_middle_of_its_stage(place)
    worker.kill()
    held = RunExecution.objects.filter(pk=run.pk)
    held.move(holder=f"elsewhere|{held.get().holder.partition('|')[2]}")

    assert sweep_runs(at=database_now())["dead_executor"] == 0
    held.move(lease_until=database_now())
    assert sweep_runs(at=database_now() + LEASE)["lease_expired"] == 1
    start_runner()

    run = finished(run, within_s=PROMISED_S)
    assert (run.result, recorded_results(run)) == ("verified", ["verified"])
    assert ends(checker)
