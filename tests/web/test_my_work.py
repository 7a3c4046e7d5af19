"""My work and notices: whose turn it is, what is under way, what is finished, what is new."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from accounts.models import User
from notices.models import Notice, NoticeKind
from notices.services import tell
from problems.models import Problem
from tests.factories.people import make_operator, make_user
from tests.factories.problems import published_problem, revision_without_contract
from tests.factories.work import open_attempt_with, queued_run, recorded_run, submission
from verification.runs.services import revoke_run

pytestmark = pytest.mark.django_db


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def parts(user: User) -> dict[str, str]:
    """The three sections of the page."""
    html = signed_in(user).get("/my/").content.decode()
    return {
        name: html.split(f'id="{name}"')[1].split("</section>")[0] for name in ("needs-you", "under-way", "finished")
    }


def test_one_who_did_nothing_yet_is_told_what_will_appear() -> None:
    found = parts(make_user())

    assert "Nothing waits for you." in found["needs-you"]
    assert "Nothing of yours is being checked." in found["under-way"]
    assert "Nothing is finished yet." in found["finished"]


def test_an_attempt_without_a_submission_needs_its_participant() -> None:
    attempt = open_attempt_with(b"v 1 0\n", b"v 2 0\n")

    found = parts(attempt.participant)

    assert f'href="/attempts/{attempt.pk}/"' in found["needs-you"]
    assert "2 files uploaded, nothing submitted yet." in found["needs-you"]


def test_an_attempt_that_can_take_nothing_more_needs_nobody() -> None:
    attempt = open_attempt_with(b"v 1 0\n")
    Problem.objects.filter(pk=attempt.revision.problem_id).update(closes_at=database_now() - timedelta(hours=1))

    assert "Nothing waits for you." in parts(attempt.participant)["needs-you"]


def test_a_submission_is_under_way_until_its_run_is_finished() -> None:
    participant = make_user()
    revision = published_problem()
    queued = queued_run(revision=revision, participant=participant)
    finished = recorded_run("refuted", revision=revision, participant=participant)

    found = parts(participant)

    assert f'href="/submissions/{queued.submission_id}/"' in found["under-way"]
    assert "Queued" in found["under-way"]
    assert f'href="/submissions/{finished.submission_id}/"' in found["finished"]
    assert "Refuted" in found["finished"]
    assert queued.submission_id not in found["finished"]


def test_what_is_not_checked_is_finished_and_says_so() -> None:
    made = submission(revision=revision_without_contract())

    assert "Recorded, not checked" in parts(made.created_by)["finished"]


def test_nobody_sees_the_work_of_others() -> None:
    run = recorded_run()

    assert run.submission_id not in parts(make_user())["finished"]


def test_a_visitor_signs_in_first(client: Client) -> None:
    assert client.get("/my/").headers["Location"] == "/account/login/?next=/my/"
    assert client.get("/account/notices/").headers["Location"] == "/account/login/?next=/account/notices/"


def test_finished_work_is_paged() -> None:
    participant = make_user()
    revision = published_problem()
    oldest = submission(revision=revision_without_contract(), participant=participant)
    for _ in range(20):
        recorded_run(revision=revision, participant=participant)
    client = signed_in(participant)

    first, second = client.get("/my/").content.decode(), client.get("/my/?page=2").content.decode()

    assert "Page 1 of 2" in first
    assert oldest.pk not in first
    assert oldest.pk in second


def test_a_finished_run_leaves_a_notice_until_it_is_marked_read() -> None:
    run = recorded_run()
    tell(
        user=run.submission.created_by,
        kind=NoticeKind.RUN_FINISHED,
        subject_id=run.pk,
        at=database_now(),
    )
    client = signed_in(run.submission.created_by)

    before = client.get("/account/notices/").content.decode()
    my_work = client.get("/my/").content.decode()
    answer = client.post("/account/notices/")
    after = client.get("/account/notices/").content.decode()

    assert f'href="/verifications/{run.pk}/"' in before
    assert "Verified" in before
    assert "Notices, 1 unread" in my_work
    assert answer.headers["Location"] == "/account/notices/"
    assert "All read" in after
    assert Notice.objects.get(user=run.submission.created_by).read_at is not None


def test_a_notice_tells_what_the_page_would_tell_now() -> None:
    run = recorded_run()
    participant = run.submission.created_by
    tell(user=participant, kind=NoticeKind.RUN_FINISHED, subject_id=run.pk, at=database_now())
    revoke_run(run_id=run.pk, revoked_by=make_operator(), reason_md="Wrong fixture.", at=database_now())

    assert "Revoked" in signed_in(participant).get("/account/notices/").content.decode()


def test_a_notice_of_something_that_is_not_visible_names_nothing() -> None:
    run = recorded_run(revision=published_problem(results_visibility="private"))
    stranger = make_user()
    tell(user=stranger, kind=NoticeKind.RUN_FINISHED, subject_id=run.pk, at=database_now())

    html = signed_in(stranger).get("/account/notices/").content.decode()

    assert run.pk not in html
    assert "It concerned something that is not visible to you any more." in html


def test_both_lists_cost_the_same_with_one_and_with_three_rows() -> None:
    participant = make_user()
    revision = published_problem()
    add_row(participant, revision)
    one = counts(participant)
    add_row(participant, revision)
    add_row(participant, revision)

    three = counts(participant)

    assert three == one
    assert max(one) <= 12


def add_row(participant: User, revision: object) -> None:
    run = recorded_run(revision=revision, participant=participant)
    queued_run(revision=revision, participant=participant)
    tell(user=participant, kind=NoticeKind.RUN_FINISHED, subject_id=run.pk, at=database_now())


def counts(participant: User) -> list[int]:
    client = signed_in(participant)
    found = []
    for path in ("/my/", "/account/notices/"):
        with CaptureQueriesContext(connection) as captured:
            client.get(path)
        found.append(len(captured))
    return found
