"""Sweeps mend what messages and executors lost: once each, and counted."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest

from accounts.clock import database_now
from submissions.services import create_submission
from tests.factories.contracts import open_record, pending_implementation, write_passed_conformance
from tests.factories.problems import published_problem
from tests.factories.sql import write
from tests.factories.work import claimed_run, finished_run, open_attempt_with, queued_run
from verification.runs.execution import execute_run
from verification.runs.holders import is_dead, this_process
from verification.runs.models import SweepTally, VerificationRun
from verification.runs.services import claim_run
from verification.runs.sweeps import sweep_runs

pytestmark = pytest.mark.django_db

SOON = timedelta(seconds=6)


def fired(at) -> dict[str, int]:
    return {kind: count for kind, count in sweep_runs(at=at).items() if count}


def dead_process() -> str:
    """The holder's name of a process that lived on this machine and was killed."""
    tell = "import sys; sys.path[:0] = ['.', 'platform']; from verification.runs.holders import this_process; "
    tell += "print(this_process(), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", tell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        holder = child.stdout.readline().strip()
        assert not is_dead(holder)
        os.kill(child.pid, signal.SIGKILL)
    return holder


def test_a_killed_process_on_this_machine_is_known_to_be_dead():
    assert is_dead(dead_process())
    assert not is_dead(this_process())


@pytest.mark.parametrize("holder", ["", "worker", "elsewhere|1234|pid:[1]|7|99", "||", "a|b|c"])
def test_of_holders_elsewhere_nothing_is_said(holder):
    assert not is_dead(holder)


def test_a_process_that_has_a_dead_ones_number_is_not_taken_for_it():
    machine, number, _started = this_process().rsplit("|", 2)

    assert is_dead(f"{machine}|{number}|1")


def test_the_normal_path_needs_no_sweep():
    finished_run("verified")

    assert fired(database_now() + timedelta(hours=1)) == {}
    assert SweepTally.objects.count() == 0


@pytest.mark.faults
def test_t03_a_dead_executors_run_is_sent_on_once():
    run = queued_run()
    holder = dead_process()
    claimed_run(run, holder=holder)
    now = database_now()

    first, second = fired(now), fired(now)

    assert (first, second) == ({"dead_executor": 1}, {})
    assert claim_run(run_id=run.pk, holder="next", at=now).number == 2
    assert SweepTally.objects.get().fired == 1


@pytest.mark.faults
def test_a_lease_that_ended_elsewhere_is_sent_on_once():
    run = queued_run()
    claimed_run(run, holder="elsewhere")
    later = database_now() + timedelta(minutes=2)

    first, second = fired(later), fired(later)

    assert (first, second) == ({"lease_expired": 1}, {})
    assert run.execution.faults == 0


def test_a_wait_over_its_bound_is_sent_on_and_ends():
    revision = published_problem(has_implementation=False)
    pending_implementation(revision.verifier_contract)
    run = queued_run(revision=revision)
    execute_run(run_id=run.pk, holder="worker")
    late = database_now() + timedelta(hours=25)

    assert fired(late) == {"wait_over": 1}
    claim_run(run_id=run.pk, holder="worker", at=late)
    assert VerificationRun.objects.get(pk=run.pk).result == "inconclusive"


def test_a_wake_that_was_lost_is_made_up_for():
    revision = published_problem(has_implementation=False)
    implementation = pending_implementation(revision.verifier_contract)
    run = queued_run(revision=revision)
    execute_run(run_id=run.pk, holder="worker")
    still_pending = fired(database_now() + SOON)
    write_passed_conformance(open_record(implementation))
    later = database_now() + SOON

    assert (still_pending, fired(later), fired(later)) == ({}, {"wake_lost": 1}, {})


@pytest.mark.faults
def test_a_submission_whose_run_was_never_created_gets_it_once():
    attempt = open_attempt_with(b"x", revision=published_problem())
    create_submission(
        participant=attempt.participant, attempt_id=attempt.pk,
        artifact_ids=[artifact.pk for artifact in attempt.artifacts.all()], summary_md="", at=database_now(),
    )  # fmt: skip
    early = fired(database_now())
    later = database_now() + timedelta(minutes=1)

    first, second = sweep_runs(at=later)["run_missing"], sweep_runs(at=later)["run_missing"]

    assert (early, first, second) == ({}, 1, 0)
    assert VerificationRun.objects.get().trigger == "submission"


def test_a_withdrawn_submission_gets_no_run():
    attempt = open_attempt_with(b"x", revision=published_problem())
    create_submission(
        participant=attempt.participant, attempt_id=attempt.pk, artifact_ids=[], summary_md="x", at=database_now()
    )
    write("UPDATE submissions_submission SET withdrawn_at = now()")

    assert sweep_runs(at=database_now() + timedelta(minutes=1))["run_missing"] == 0
