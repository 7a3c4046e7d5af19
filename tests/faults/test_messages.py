"""T01, T02, T04: messages come twice, to two workers, too early, or not at all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection, transaction

from accounts.clock import database_now
from config import services
from config.celery import app
from notices.models import Notice
from tests.factories.work import claimed_run, open_attempt_with, queued_run, right_answer, stage_done
from tests.faults.conftest import eventually, finished, patient_process, patient_run, recorded_results, story
from tests.services import _use_broker as use_broker
from verification.contracts.dispatch import SANDBOX_QUEUE, messages_waiting
from verification.runs.models import RunExecution, RunStatus, VerificationRun
from verification.runs.services import ClaimLost, append_stage_result, claim_run, finish_run, submit_work

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]


def send_again(run, *, times: int) -> None:
    for _ in range(times):
        app.send_task("runs.execute_run", kwargs={"run_id": run.pk}, queue=SANDBOX_QUEUE)


def all_taken() -> bool:
    return messages_waiting(SANDBOX_QUEUE) == 0


def test_a_message_that_comes_again_after_success_changes_nothing(start_runner):
    start_runner()
    run = finished(queued_run(), within_s=30)
    before = (run.execution.claim_number, run.finished_at, story(run), recorded_results(run))

    send_again(run, times=3)
    last = queued_run(revision=run.revision)
    finished(last, within_s=30)

    again = finished(run, within_s=1)
    assert (again.execution.claim_number, again.finished_at, story(run), recorded_results(run)) == before
    assert Notice.objects.filter(subject_id=run.pk).count() == 1


def test_one_run_on_two_workers_is_executed_by_one(start_runner, place):
    start_runner()
    start_runner()
    run = patient_run(place)
    patient_process(place)

    send_again(run, times=4)
    eventually(all_taken, within_s=30)
    Path(f"{place}.go").touch()

    run = finished(run, within_s=30)
    assert (run.execution.claim_number, run.execution.faults) == (1, 0)
    assert story(run) == ["queued", "stage_started", "stage_verified", "finished"]


def test_of_many_claims_at_once_one_holds():
    run = queued_run()

    def claim(number: int):
        try:
            return claim_run(run_id=run.pk, holder=f"worker {number}", at=database_now())
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        claims = [held for held in pool.map(claim, range(24)) if held is not None]

    assert [(held.number, held.holder) for held in claims] == [
        (1, RunExecution.objects.get(pk=run.pk).holder),
    ]


def test_what_an_executor_found_after_losing_its_claim_is_refused():
    run = queued_run()
    late = claimed_run(run, holder="late")
    RunExecution.objects.filter(pk=run.pk).move(lease_until=database_now())
    claimed_run(run, holder="present")

    with pytest.raises(ClaimLost):
        append_stage_result(claim=late, done=stage_done(run), at=database_now())
    with pytest.raises(ClaimLost):
        finish_run(claim=late, at=database_now())

    assert recorded_results(run) == []
    assert VerificationRun.objects.get(pk=run.pk).status == RunStatus.QUEUED


def test_no_message_leaves_before_the_row_is_committed(broker):
    attempt = open_attempt_with(right_answer())
    artifact_ids = list(attempt.artifacts.values_list("pk", flat=True))
    before = messages_waiting(SANDBOX_QUEUE)

    with transaction.atomic():
        submit_work(
            participant=attempt.participant,
            attempt_id=attempt.pk,
            artifact_ids=artifact_ids,
            summary_md="",
            at=database_now(),
        )
        during = messages_waiting(SANDBOX_QUEUE)

    assert (during, messages_waiting(SANDBOX_QUEUE)) == (before, before + 1)


@pytest.fixture
def mortal_broker(broker, service_directory, tmp_path):
    """A broker of this test's own that can be stopped and started, with this process connected to it."""
    server = services.Valkey(service_directory / "mortal", is_durable=False, identity=services.unprivileged_identity())
    use_broker(app, server.url)
    yield lambda: services.running(server, log=tmp_path / "mortal.log")
    use_broker(app, broker)


def test_work_is_taken_while_the_broker_is_away_and_checked_once_it_is_back(mortal_broker, celery_worker_process):
    env = {"TFP_BROKER_URL": app.conf.broker_url, "CELERY_SKIP_CHECKS": "1"}
    with mortal_broker():
        celery_worker_process(queues="sandbox", concurrency=1, env=env)
        celery_worker_process(queues="default", concurrency=1, beat=True, env=env)

    run = queued_run()

    assert run.status == RunStatus.QUEUED
    with mortal_broker():
        run = finished(run, within_s=60)
    assert (run.result, run.execution.claim_number, recorded_results(run)) == ("verified", 1, ["verified"])
