"""Choosing, checking, sending once, the receipt; the Submission's page and its files."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from accounts.models import User
from problems.models import Problem
from submissions.models import Artifact, Attempt, Submission
from submissions.services import close_attempt
from tests.factories.contracts import sat_contract
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.problems import make_problem, published_problem, published_revision, revision_without_contract
from tests.factories.work import finished_run, open_attempt_with, queued_run, recorded_run, submission, upload
from verification.runs.models import VerificationRun

pytestmark = pytest.mark.django_db
ANSWER = b"v 1 -2 0\n"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def owner_of(attempt: Attempt) -> Client:
    return signed_in(attempt.participant)


def chosen(client: Client, attempt: Attempt, **fields: Any) -> Any:
    newest = attempt.artifacts.order_by("-pk")[0]
    return client.post(f"/attempts/{attempt.pk}/submit/", {"role_assignment": newest.pk} | fields)


def token_of(html: str) -> str:
    return html.split('name="token" value="')[1].split('"')[0]


def check(client: Client, attempt: Attempt) -> str:
    return client.get(f"/attempts/{attempt.pk}/check/").content.decode()


def sent(client: Client, attempt: Attempt) -> Any:
    return client.post(f"/attempts/{attempt.pk}/check/", {"token": token_of(check(client, attempt))})


# --- Choosing


def test_the_newest_fitting_file_is_chosen_already() -> None:
    attempt = open_attempt_with(ANSWER)
    wrong_type = upload(attempt, b"{}", media_type="application/json")

    html = owner_of(attempt).get(f"/attempts/{attempt.pk}/submit/").content.decode()

    first = Artifact.objects.exclude(pk=wrong_type.pk).get(attempt=attempt)
    assert f'<option value="{first.pk}" selected>' in html


def test_choosing_nothing_says_so_and_costs_no_upload() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)

    answer = chosen(client, attempt, role_assignment="none")

    html = answer.content.decode()
    assert answer.status_code == 422
    assert html.count("Choose at least one file.") == 2
    assert "<title>Error: Choose what to submit" in html
    assert 'href="#id_role_assignment"' in html
    assert Artifact.objects.count() == 1


def test_a_file_of_another_attempt_cannot_be_chosen() -> None:
    attempt, other = open_attempt_with(ANSWER), open_attempt_with(ANSWER)

    answer = chosen(owner_of(attempt), attempt, role_assignment=other.artifacts.get().pk)

    assert answer.status_code == 422


def test_an_attempt_without_files_leads_back_to_uploading() -> None:
    attempt = open_attempt_with()

    html = owner_of(attempt).get(f"/attempts/{attempt.pk}/submit/").content.decode()

    assert "No file is uploaded yet." in html
    assert "Go on to the check" not in html


def test_a_summary_that_is_too_long_keeps_what_was_chosen() -> None:
    attempt = open_attempt_with(ANSWER)

    answer = chosen(owner_of(attempt), attempt, summary="x" * 20_001)

    assert answer.status_code == 422
    assert "x" * 20_001 in answer.content.decode()


# --- Checking


def test_the_check_page_shows_file_digest_size_and_the_way_back() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)

    answer = chosen(client, attempt, summary="**Found** by hand.")
    html = check(client, attempt)

    assert answer.headers["Location"] == f"/attempts/{attempt.pk}/check/"
    assert attempt.artifacts.get().blob_id in html
    assert "9 bytes" in html
    assert "<strong>Found</strong> by hand." in html
    assert html.count(f'href="/attempts/{attempt.pk}/submit/') == 2
    assert not Submission.objects.exists()


def test_going_back_to_change_keeps_what_was_chosen() -> None:
    attempt = open_attempt_with(ANSWER, b"v 3 0\n")
    client = owner_of(attempt)
    first = attempt.artifacts.order_by("pk")[0]
    chosen(client, attempt, role_assignment=first.pk, summary="Kept.")

    html = client.get(f"/attempts/{attempt.pk}/submit/").content.decode()

    assert f'<option value="{first.pk}" selected>' in html
    assert "Kept.</textarea>" in html


def test_nothing_chosen_leads_to_choosing() -> None:
    attempt = open_attempt_with(ANSWER)

    answer = owner_of(attempt).get(f"/attempts/{attempt.pk}/check/")

    assert answer.headers["Location"] == f"/attempts/{attempt.pk}/submit/"


def test_an_unmet_requirement_is_said_before_and_may_still_be_sent() -> None:
    attempt = open_attempt_with()
    upload(attempt, b"x" * 1_048_577)
    client = owner_of(attempt)
    chosen(client, attempt)

    html = check(client, attempt)
    answer = sent(client, attempt)

    assert "As it stands, the run will end inconclusive, and no stage will run." in html
    assert "may have at most 1048576 bytes and has 1048577" in html
    assert answer.status_code == 302
    assert Submission.objects.count() == 1


def test_a_missing_role_is_named() -> None:
    roles = [{"role": name, "media_types": ["text/plain"], "max_bytes": 1000} for name in ("assignment", "proof")]
    contract = sat_contract(submission_requirements={"required_artifacts": roles, "summary": "required"})
    attempt = open_attempt_with(ANSWER, revision=published_revision(make_problem(), contract))
    client = owner_of(attempt)

    gap = chosen(client, attempt, role_assignment="none", role_proof=attempt.artifacts.get().pk, summary="s")
    twice = chosen(client, attempt, role_proof=attempt.artifacts.get().pk, summary="s")
    chosen(client, attempt, role_proof="none", summary="s")

    assert "so assignment cannot be left out before it." in gap.content.decode()
    assert "This file is chosen for another role already." in twice.content.decode()
    assert "add “proof”." in check(client, attempt)


def test_the_quota_left_is_said_and_a_used_one_takes_the_button_away() -> None:
    attempt = open_attempt_with(ANSWER, revision=published_problem(quota_per_day=2))
    client = owner_of(attempt)
    chosen(client, attempt)
    before = check(client, attempt)
    sent(client, attempt)
    chosen(client, attempt)
    token = token_of(check(client, attempt))
    sent(client, attempt)
    chosen(client, attempt)

    used_up = check(client, attempt)
    answer = client.post(f"/attempts/{attempt.pk}/check/", {"token": token_of(used_up)})

    assert "It uses one of the 2 Submissions you have left today, of 2." in before
    assert "All 2 Submissions of today are used." in used_up
    assert '<button type="submit" class="primary">' not in used_up
    assert answer.status_code == 429
    assert "All 2 Submissions of today are used." in answer.content.decode()
    assert Submission.objects.count() == 2
    assert token != token_of(used_up)


def test_own_work_is_said_before_it_is_sent() -> None:
    revision = published_problem()
    attempt = open_attempt_with(ANSWER, revision=revision, participant=revision.problem.created_by)
    client = owner_of(attempt)
    chosen(client, attempt)

    assert "The Submission will be marked so beside its verdict, for good." in check(client, attempt)


def test_who_will_read_what_is_said() -> None:
    attempt = open_attempt_with(ANSWER, revision=published_problem(results_visibility="private"))
    client = owner_of(attempt)
    chosen(client, attempt)

    html = check(client, attempt)

    assert "Only you, the Problem's managers and staff can read the result." in html


# --- Sending


def test_sending_makes_a_submission_with_its_run_and_leads_to_the_receipt() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)

    answer = sent(client, attempt)
    html = client.get(answer.headers["Location"]).content.decode()

    made = Submission.objects.get()
    run = VerificationRun.objects.get()
    assert answer.headers["Location"] == f"/attempts/{attempt.pk}/receipt/?number=1"
    assert made.content_hash in html
    assert f'href="/verifications/{run.pk}/"' in html
    assert f'href="/submissions/{made.pk}/"' in html


def test_posting_the_check_page_twice_makes_one_submission() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)
    token = token_of(check(client, attempt))

    answers = [client.post(f"/attempts/{attempt.pk}/check/", {"token": token}) for _ in range(3)]

    assert {answer.headers["Location"] for answer in answers} == {f"/attempts/{attempt.pk}/receipt/?number=1"}
    assert (Submission.objects.count(), VerificationRun.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_posting_the_check_page_twice_at_once_makes_one_submission() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)
    token = token_of(check(client, attempt))
    cookies = client.cookies
    codes: list[int] = []

    def post() -> None:
        again = Client()
        again.cookies = cookies
        codes.append(again.post(f"/attempts/{attempt.pk}/check/", {"token": token}).status_code)
        connections.close_all()

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert codes == [302] * 4
    assert (Submission.objects.count(), VerificationRun.objects.count()) == (1, 1)


def test_a_token_of_an_older_choice_sends_nothing() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)
    token = token_of(check(client, attempt))
    chosen(client, attempt, summary="Changed in another tab.")

    answer = client.post(f"/attempts/{attempt.pk}/check/", {"token": token}, follow=True)

    assert "What you sent was put together differently meanwhile." in answer.content.decode()
    assert not Submission.objects.exists()


@pytest.mark.parametrize("token", ["", "x" * 65, "no such token"])
def test_a_made_up_token_sends_nothing(token: str) -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)

    client.post(f"/attempts/{attempt.pk}/check/", {"token": token})

    assert not Submission.objects.exists()


def test_an_attempt_closed_meanwhile_takes_nothing_and_says_why() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)
    token = token_of(check(client, attempt))
    close_attempt(attempt_id=attempt.pk, participant=attempt.participant, at=database_now())

    page = client.post(f"/attempts/{attempt.pk}/check/", {"token": token})
    told = client.post(f"/attempts/{attempt.pk}/check/", {"token": token}, headers={"Accept": "application/json"})

    assert page.status_code == 409
    assert "This Attempt is closed." in page.content.decode()
    assert told.json()["code"] == "attempt_closed"
    assert not Submission.objects.exists()


def test_a_window_that_ended_meanwhile_takes_nothing() -> None:
    attempt = open_attempt_with(ANSWER)
    client = owner_of(attempt)
    chosen(client, attempt)
    token = token_of(check(client, attempt))
    Problem.objects.filter(pk=attempt.revision.problem_id).update(closes_at=database_now() - timedelta(hours=1))

    assert "Nothing can be submitted." in check(client, attempt)
    assert client.post(f"/attempts/{attempt.pk}/check/", {"token": token}).status_code == 409
    assert not Submission.objects.exists()


def test_there_is_no_receipt_before_a_submission() -> None:
    attempt = open_attempt_with(ANSWER)

    assert owner_of(attempt).get(f"/attempts/{attempt.pk}/receipt/").status_code == 404


# --- The page


def test_the_page_names_the_run_that_the_verdict_rests_on(client: Client) -> None:
    run = recorded_run()

    html = client.get(f"/submissions/{run.submission_id}/").content.decode()

    assert '<h2 id="verdict-word">Verified</h2>' in html
    assert f'This verdict rests on <a href="/verifications/{run.pk}/">run 1</a>' in html


@pytest.mark.parametrize(
    ("result", "word"), [("refuted", "Refuted"), ("inconclusive", "Inconclusive"), ("error", "Verification error")]
)
def test_every_result_is_said(client: Client, result: str, word: str) -> None:
    run = recorded_run(result)

    assert f'<h2 id="verdict-word">{word}</h2>' in client.get(f"/submissions/{run.submission_id}/").content.decode()


def test_an_unfinished_submission_leads_to_its_run(client: Client) -> None:
    run = queued_run()

    html = client.get(f"/submissions/{run.submission_id}/").content.decode()

    assert '<h2 id="verdict-word">Queued</h2>' in html
    assert "Watch the run" in html


def test_without_a_contract_it_is_recorded_and_not_checked(client: Client) -> None:
    made = submission(revision=revision_without_contract())

    html = client.get(f"/submissions/{made.pk}/").content.decode()

    assert '<h2 id="verdict-word">Recorded, not checked</h2>' in html
    assert "No run examines this Submission." in html


def test_submitting_without_a_contract_takes_the_files_in_order(client: Client) -> None:
    attempt = open_attempt_with(b"one", b"two", revision=revision_without_contract())
    files = [artifact.pk for artifact in attempt.artifacts.order_by("pk")]
    client.force_login(attempt.participant)

    client.post(f"/attempts/{attempt.pk}/submit/", {"artifacts": files, "summary": ""})
    answer = sent(client, attempt)

    places = Submission.objects.get().places.order_by("position")
    assert [place.artifact_id for place in places] == files
    assert "recorded and not checked." in client.get(answer.headers["Location"]).content.decode()


def test_a_summary_is_inert(client: Client) -> None:
    made = submission(summary_md="<script>alert(1)</script> [x](javascript:alert(1)) ![p](https://evil.example/p.png)")

    html = client.get(f"/submissions/{made.pk}/").content.decode()

    assert (html.count("<script>"), html.count('href="javascript:'), html.count("<img")) == (0, 0, 0)


# --- Files


@pytest.mark.parametrize("files", ["private", "public"])
@pytest.mark.parametrize("role", ["visitor", "participant", "submitter", "manager", "operator"])
def test_files_are_read_by_whom_the_problem_lets(role: str, files: str) -> None:
    revision = published_problem(artifacts_visibility=files)
    run = recorded_run(revision=revision)
    people = {
        "visitor": Client,
        "participant": lambda: signed_in(make_user()),
        "submitter": lambda: signed_in(run.submission.created_by),
        "manager": lambda: signed_in(make_manager(revision.problem)),
        "operator": lambda: signed_in(make_operator()),
    }
    artifact = run.artifacts.get().artifact_id
    client = people[role]()

    page, download = client.get(f"/artifacts/{artifact}/"), client.get(f"/artifacts/{artifact}/download")

    may_read = files == "public" or role not in ("visitor", "participant")
    assert (page.status_code, download.status_code) == (200, 200 if may_read else 404)


def test_a_file_that_was_never_submitted_is_its_participants_alone() -> None:
    attempt = open_attempt_with(ANSWER)
    address = f"/artifacts/{attempt.artifacts.get().pk}/"

    codes = [
        owner_of(attempt).get(address).status_code,
        Client().get(address).status_code,
        signed_in(make_operator()).get(address).status_code,
        signed_in(attempt.revision.problem.created_by).get(address).status_code,
    ]

    assert codes == [200, 404, 404, 404]


def test_a_withdrawn_file_leaves_a_tombstone_and_its_record() -> None:
    run = finished_run()
    artifact = Artifact.objects.get(pk=run.artifacts.get().artifact_id)
    Artifact.objects.filter(pk=artifact.pk).move(withdrawn_at=database_now())
    client = signed_in(run.submission.created_by)

    download = client.get(f"/artifacts/{artifact.pk}/download")
    page = client.get(f"/artifacts/{artifact.pk}/").content.decode()
    submission_page = client.get(f"/submissions/{run.submission_id}/").content.decode()
    run_page = client.get(f"/verifications/{run.pk}/").content.decode()

    assert download.status_code == 410
    assert artifact.blob_id in download.content.decode()
    assert "Withdrawn by the submitter." in page
    assert '<h2 id="verdict-word">Withdrawn</h2>' in submission_page
    assert "A file was withdrawn by the submitter." in run_page
    assert '<h2 id="verdict-word">Verified</h2>' in run_page


# --- Cost


def test_the_pages_of_submitting_cost_at_most_twelve_queries_with_one_and_with_three_files() -> None:
    attempt = open_attempt_with(ANSWER, revision=published_problem(quota_per_day=9))
    client = owner_of(attempt)
    one = counts(client, attempt)
    for content in (b"v 2 0\n", b"v 3 0\n"):
        upload(attempt, content)

    three = counts(client, attempt)

    assert three == one
    assert max(one) <= 12


def counts(client: Client, attempt: Attempt) -> list[int]:
    chosen(client, attempt)
    found = []
    for path in ("submit", "check"):
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/attempts/{attempt.pk}/{path}/")
        found.append(len(captured))
    sent(client, attempt)
    with CaptureQueriesContext(connection) as captured:
        client.get(f"/attempts/{attempt.pk}/receipt/")
    return [*found, len(captured)]
