"""How the machinery stands, told to everyone without telling whose runs those are."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client

from accounts.clock import database_now
from tests.factories.contracts import (
    passed_implementation,
)
from tests.factories.pages import html_of, main_text, signed_in
from tests.factories.people import make_operator
from tests.factories.plans import contract_of, sealed_document
from tests.factories.problems import make_problem, published_problem, published_revision
from tests.factories.work import claimed_run, finished_run, queued_run, recorded_run, stage_done
from verification.runs.models import SweepTally
from verification.runs.services import append_stage_result, begin_stage, finish_run

pytestmark = pytest.mark.django_db


def test_the_status_counts_queue_results_and_mending() -> None:
    revision = published_problem()
    finished_run(revision=revision)
    recorded_run("refuted", revision=revision)
    queued_run(revision=revision)
    claimed_run(queued_run(revision=revision))
    SweepTally.objects.create(kind="message_lost", day_date=database_now().date(), fired=3)
    SweepTally.objects.create(kind="run_missing", day_date=database_now().date() - timedelta(days=1), fired=7)

    text = main_text(html_of(Client(), "/status/"))

    assert "1 run waits for a runner; the oldest for" in text
    assert "1 run is being checked" in text
    assert (
        "Finished in the last 24 hours, 2 Result Runs Verified 1 Refuted 1 Inconclusive 0 Verification error 0" in text
    )
    assert "A message to the runners was lost; it was sent again. 3" in text
    assert "A Submission had no run yet" not in text
    assert "Runner Runs Conformance 1 1 0" in text


def test_the_status_tells_no_result_of_private_problems_or_deferred_verdicts() -> None:
    private = published_problem(results_visibility="private")
    recorded_run(revision=private)
    sealed = contract_of(sealed_document(verdict_release="with_labels"), private.problem.created_by)
    passed_implementation(sealed)
    run = queued_run(revision=published_revision(make_problem(sealed.created_by), sealed))
    claim = claimed_run(run)
    done = replace(stage_done(run), is_protected=True)
    begin_stage(claim=claim, stage_key=done.stage_key, at=database_now())
    append_stage_result(claim=claim, done=done, at=database_now())
    finish_run(claim=claim, at=database_now(), reason_code=None)

    text = main_text(html_of(signed_in(make_operator()), "/status/"))

    assert "Verified 0 Refuted 0 Inconclusive 0 Verification error 0" in text
    assert "Of private Problems, or not told before release 2" in text
