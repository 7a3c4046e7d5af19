"""What viewers may know of runs and Submissions, derived in a constant number of queries."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from submissions.models import Submission
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.problems import published_problem
from tests.factories.sql import write
from tests.factories.work import recorded_run, submission
from verification.engine.reasons import ReasonCode, Result
from verification.runs.models import RunTrigger
from verification.runs.selectors import (
    derived_states,
    readable_submissions,
    run_for,
    runs_of_submission,
)
from verification.runs.services import claim_run, create_run, finish_run, revoke_run

pytestmark = pytest.mark.django_db


def state_of(made: Submission):
    listed = Submission.objects.select_related("attempt__revision").filter(pk=made.pk)
    return derived_states(listed)[made.pk]


def rerun(made: Submission, code: ReasonCode):
    run = create_run(
        submission=made, trigger=RunTrigger.RERUN, requested_by=make_operator(), at=database_now(), rerun_reason="x"
    )
    claim = claim_run(run_id=run.pk, holder="worker", at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=code)


def test_a_public_problems_submissions_are_everybodys_to_read():
    made = submission(revision=published_problem())

    for viewer in (AnonymousUser(), make_user(), made.created_by, make_operator()):
        assert list(readable_submissions(viewer)) == [made]


def test_a_private_problems_submissions_are_for_the_people_concerned():
    revision = published_problem(results_visibility="private")
    run = recorded_run("verified", revision=revision)
    made = run.submission
    readers = [made.created_by, make_manager(revision.problem), make_operator()]
    others = [AnonymousUser(), make_user(), make_user(is_staff=True)]

    assert [list(readable_submissions(viewer)) for viewer in readers] == [[made]] * 3
    assert [list(readable_submissions(viewer)) for viewer in others] == [[]] * 3
    assert [run_for(viewer, run.pk) for viewer in others] == [None] * 3
    assert [runs_of_submission(viewer, made.pk) for viewer in others] == [[]] * 3


def test_an_unfinished_run_leaves_no_verdict():
    state = state_of(submission(revision=published_problem()))

    assert (state.is_eligible, state.current_verdict, state.latest_run.status) == (True, None, "queued")


def test_a_later_error_stands_beneath_the_verdict_and_does_not_replace_it():
    made = recorded_run("verified").submission
    later = rerun(made, ReasonCode.BACKEND_UNAVAILABLE)

    state = state_of(made)

    assert state.current_verdict.result == Result.VERIFIED
    assert [run.id for run in state.later] == [later.pk]


def test_a_revoked_run_leaves_the_verdict_and_becomes_no_refutation():
    run = recorded_run("verified")
    revoke_run(run_id=run.pk, revoked_by=make_operator(), reason_md="Wrong formula.", at=database_now())

    state = state_of(run.submission)

    assert (state.current_verdict, state.latest_run.id) == (None, run.pk)
    assert run_for(AnonymousUser(), run.pk).result == Result.VERIFIED
    assert run_for(AnonymousUser(), run.pk).is_revoked


@pytest.mark.parametrize("table", ["submissions_submission", "submissions_artifact"])
def test_what_was_withdrawn_is_no_longer_eligible(table):
    run = recorded_run("verified")
    write(f"UPDATE {table} SET withdrawn_at = now()")

    state = state_of(run.submission)

    assert (state.is_eligible, state.current_verdict) == (False, None)


def queries(call) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        call()
    return len(captured)


def test_lists_take_as_many_queries_for_one_as_for_three():
    revision = published_problem()
    runs = [recorded_run(result, revision=revision) for result in ("verified", "refuted", "inconclusive")]
    for _ in range(2):
        rerun(runs[0].submission, ReasonCode.BACKEND_UNAVAILABLE)
    viewer = make_user()
    rows = Submission.objects.select_related("attempt__revision").order_by("pk")

    derived = [queries(lambda n=n: derived_states(rows[:n])) for n in (1, 3)]
    projected = [queries(lambda run=run: runs_of_submission(viewer, run.submission_id)) for run in runs[:2]]

    assert derived[0] == derived[1]
    assert projected[0] == projected[1]
