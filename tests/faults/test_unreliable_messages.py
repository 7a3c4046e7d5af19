"""Every message comes twice, a third of those about new work never: no run is lost, none is done twice.

`make test` does this with 200 Submissions. TFP_FAULTS_RUNS=1000 does it with 1,000, which takes minutes on a busy
machine.
"""

import itertools
import os
import random
import warnings
from pathlib import Path

import pytest
from celery import Celery
from django.db.models import Count, F

from accounts.clock import database_now
from notices.models import Notice
from tests.factories.work import open_attempt_with, right_answer
from tests.faults.backend import WORKER
from tests.faults.conftest import eventually
from verification.runs.models import RunEvent, RunExecution, RunStatus, StageResult, SweepTally, VerificationRun
from verification.runs.services import submit_work

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

ASKED = 1000
RUNS = int(os.environ.get("TFP_FAULTS_RUNS", "200"))
REPEATING = Path(__file__).parent / "repeating"


@pytest.fixture
def repeating(child_environment):
    """What makes a child send everything twice."""
    return WORKER | {"PYTHONPATH": os.pathsep.join([str(REPEATING), child_environment["PYTHONPATH"]])}


@pytest.fixture
def unreliable_sender(broker, monkeypatch):
    """Of every three messages that this process sends one is lost, a different one each time; the others come twice."""
    send, chance, number, lost = Celery.send_task, random.Random(3), itertools.count(), [0]

    def send_unreliably(self, *args, **kwargs):
        place = next(number) % 3
        if place == 0:
            lost[0] = chance.randrange(3)
        if place != lost[0]:
            send(self, *args, **kwargs)
            send(self, *args, **kwargs)

    monkeypatch.setattr(Celery, "send_task", send_unreliably)


def test_every_submission_gets_one_finished_run_however_messages_behave(
    celery_worker_process, repeating, unreliable_sender
):
    if RUNS < ASKED:
        warnings.warn(f"only {RUNS} of {ASKED} Submissions; for all of them: TFP_FAULTS_RUNS={ASKED}", stacklevel=1)
    celery_worker_process(queues="sandbox", concurrency=2, env=repeating)
    celery_worker_process(queues="default", concurrency=1, beat=True, env=repeating)
    attempt = open_attempt_with(right_answer())
    artifact_ids = list(attempt.artifacts.values_list("pk", flat=True))

    for _ in range(RUNS):
        submit_work(
            participant=attempt.participant,
            attempt_id=attempt.pk,
            artifact_ids=artifact_ids,
            summary_md="",
            at=database_now(),
        )
    eventually(lambda: VerificationRun.objects.filter(status=RunStatus.FINISHED).count() == RUNS, within_s=RUNS)

    assert VerificationRun.objects.filter(result="verified").count() == RUNS
    assert StageResult.objects.count() == RUNS
    assert RunExecution.objects.filter(claim_number=1, faults=0).count() == RUNS
    doubled = RunEvent.objects.values("run", "kind").annotate(times=Count("pk")).filter(times__gt=1)
    assert doubled.count() == 0
    assert RunEvent.objects.filter(kind="finished", at=F("run__finished_at")).count() == RUNS
    assert Notice.objects.count() == RUNS
    assert SweepTally.objects.get(kind="message_lost").fired >= RUNS // 4
