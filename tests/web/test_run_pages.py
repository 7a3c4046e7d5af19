"""Run pages: every state's words, live parts, inert findings, readers and cost."""

from datetime import UTC

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from tests.factories.contracts import pending_implementation
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.problems import published_problem
from tests.factories.run_states import log_address, page, rerun, running, signed_in
from tests.factories.work import (
    claimed_run,
    finished_run,
    open_attempt_with,
    queued_run,
    recorded_run,
    stage_done,
    upload,
)
from verification.engine.reasons import ReasonCode
from verification.runs.execution import execute_run
from verification.runs.models import VerificationRun
from verification.runs.services import (
    append_stage_result,
    finish_run,
    record_fault,
    revoke_run,
    submit_work,
)
from web.moments import moment_words

pytestmark = pytest.mark.django_db


def verdict_of(html: str) -> tuple[str, str]:
    """State word and sentence of the banner."""
    word = html.split('id="verdict-word">')[1].split("<")[0]
    return word, html.split('class="sentence">')[1].split("</p>")[0]


# --- Words of every state


def test_a_queued_run_says_how_many_are_ahead_and_what_waits_were_lately(client: Client) -> None:
    revision = published_problem()
    recorded_run(revision=revision)
    queued_run(revision=revision)

    html = page(client, queued_run(revision=revision))

    word, sentence = verdict_of(html)
    assert word == "Queued"
    assert sentence.startswith("Waiting for a free runner since ")
    assert "<p>1 run ahead; lately " in html


def test_a_queued_run_without_company_is_next_in_line(client: Client) -> None:
    html = page(client, queued_run())

    assert "<p>Next in line; no run waited lately.</p>" in html


def test_a_run_whose_machinery_failed_says_that_it_tries_again(client: Client) -> None:
    run = queued_run()
    record_fault(claim=claimed_run(run), reason_code=ReasonCode.IMAGE_MISSING, at=database_now())

    html = page(client, run)

    assert verdict_of(html)[1].endswith("and tries again by itself.")
    assert "Your place is kept." in html


def test_a_claimed_run_says_that_its_inputs_are_read_again(client: Client) -> None:
    run = queued_run()
    claimed_run(run)

    assert verdict_of(page(client, run)) == (
        "Running",
        "A runner has it and reads every input again before it checks anything.",
    )


def test_a_running_stage_says_how_long_it_has_run_of_its_limit(client: Client) -> None:
    run = queued_run()
    running(run)

    html = page(client, run)

    word, sentence = verdict_of(html)
    assert word == "Running"
    assert sentence in [f"Stage 1 of 1, Assignment check. {second} s of 20 s." for second in range(5)]
    assert 'aria-current="step"' in html


def test_a_run_that_waits_for_conformance_says_for_what_and_until_when(client: Client) -> None:
    revision = published_problem(has_implementation=False)
    assert revision.verifier_contract is not None
    pending_implementation(revision.verifier_contract)
    run = queued_run(revision=revision)
    execute_run(run_id=run.pk, holder="worker")

    html = page(client, run)

    assert verdict_of(html) == (
        "Waiting",
        "Waiting for an Implementation of Assignment check to pass its conformance fixtures.",
    )
    assert "the run ends inconclusive." in html


def test_a_verified_run_says_who_checked_and_what_is_not_established(client: Client) -> None:
    html = page(client, finished_run())

    assert verdict_of(html) == ("Verified", "Its one stage, Assignment check, passed: checked by the platform.")
    assert "What this does not establish: " in html


def test_a_refuted_run_names_stage_and_cause_and_tells_its_submitter_what_to_do(client: Client) -> None:
    run = finished_run("refuted")

    word, sentence = verdict_of(page(client, run))
    own = page(signed_in(run.submission.created_by), run)

    assert (word, sentence) == (
        "Refuted",
        "Assignment check: the assignment is not complete (variable 4 of 39 has no value).",
    )
    assert "mend the work, and submit again." in own
    assert ">Submit again</a>" in own
    assert "mend the work" not in page(client, run)


def test_an_inconclusive_run_says_that_nothing_is_shown(client: Client) -> None:
    word, sentence = verdict_of(page(client, finished_run("inconclusive")))

    assert word == "Inconclusive"
    assert sentence.startswith("Nothing is shown either way: the assignment file is not of the agreed form (line 1")


def test_a_run_that_lacks_something_names_the_requirement_and_runs_no_stage(client: Client) -> None:
    revision = published_problem()
    attempt = open_attempt_with(revision=revision)
    file = upload(attempt, b"v 1 0\n", media_type="image/png")
    run = submit_work(
        participant=attempt.participant, attempt_id=attempt.pk, artifact_ids=[file.pk], summary_md="", at=database_now()
    ).runs.get()
    execute_run(run_id=run.pk, holder="worker")

    html = page(client, run)

    assert verdict_of(html)[1] == (
        "Nothing is shown either way: “assignment” must be declared as text/plain, and is not: "
        "upload it with that media type."
    )
    assert "Not run: the run ended before it." in html


def test_an_error_says_that_it_is_no_finding_about_the_work(client: Client) -> None:
    run = recorded_run("error")

    html = page(client, run)
    own = page(signed_in(run.submission.created_by), run)

    assert verdict_of(html) == (
        "Verification error",
        "The machinery failed, ours or the checker&#x27;s; no finding about the work.",
    )
    assert "a re-examination is a new run." in html
    assert "no finding about your work." in own


def test_a_revoked_run_says_what_it_was_until_when_and_why(client: Client) -> None:
    run = recorded_run()
    revoke_run(run_id=run.pk, revoked_by=make_operator(), reason_md="<b>Fixture 7</b> was wrong.", at=database_now())

    html = page(client, run)

    day = moment_words(database_now(), UTC, "day")
    word, sentence = verdict_of(html)
    assert word == "Revoked"
    assert sentence == f"Was Verified from {day} to {day}. No longer counts."
    assert "Reason: “&lt;b&gt;Fixture 7&lt;/b&gt; was wrong.”" in html


def test_a_later_error_leaves_the_verdict_and_is_told_beneath_it(client: Client) -> None:
    run = recorded_run()
    rerun(run, "error")

    html = page(client, run)
    submission = client.get(f"/submissions/{run.submission_id}/").content.decode()

    assert verdict_of(html)[0] == "Verified"
    assert "A later re-check ended in error. The verdict stands." in html
    assert verdict_of(submission)[0] == "Verified"
    assert "latest re-check " in submission
    assert "verification error. The verdict stands." in submission


def test_own_work_is_marked_beside_the_verdict(client: Client) -> None:
    revision = published_problem()
    run = recorded_run(revision=revision, participant=revision.problem.created_by)

    assert "<strong>Own work.</strong> By a manager of this Problem or an author of its Contract." in page(client, run)


# --- Hostile words


def test_findings_and_names_of_the_checker_and_the_submitter_are_inert(client: Client) -> None:
    run = queued_run()
    claim = running(run)
    done = stage_done(run, "refuted", findings=("<img src=x onerror=alert(1)>", {"line": 3, "text": "</p><script>"}))
    append_stage_result(claim=claim, done=done, at=database_now())
    finish_run(claim=claim, at=database_now(), reason_code=ReasonCode.CHECKER_REFUTED)

    html = page(client, run)

    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "line: 3, text: &lt;/p&gt;&lt;script&gt;" in html
    assert (html.count("<img"), html.count("<script src=")) == (0, 2)


# --- Live


def test_nothing_new_is_204(client: Client) -> None:
    run = recorded_run()

    assert client.get(f"/verifications/{run.pk}/live?v={run.events.count()}").status_code == 204


def test_a_change_sends_a_new_poll_and_the_changed_parts_only(client: Client) -> None:
    run = queued_run()
    running(run)

    html = page(client, run, "live?v=1")

    assert html.count('id="poll"') == 1
    assert 'hx-trigger="every 2s, refresh"' in html
    assert f'hx-get="/verifications/{run.pk}/live?v=2&amp;until=' in html
    assert (
        'id="stage-1" class="stage" data-result="active" data-state="running" aria-current="step" hx-swap-oob="true"'
        in html
    )
    assert 'data-say="Stage 1, Assignment check: Running."' in html
    assert "<title>Running: run 1 of Submission 1, " in html
    assert 'id="inputs"' not in html


def test_the_end_stops_the_polling_and_announces_the_result(client: Client) -> None:
    run = recorded_run()

    html = page(client, run, "live?v=2")

    assert "hx-trigger" not in html
    assert 'data-say="Stage 1, Assignment check: Verified. The run is finished: Verified."' in html
    for part in ("verdict", "acts", "notes", "facts", "usage", "check", "inputs", "record"):
        assert html.count(f'id="{part}"') == 1


def test_the_pace_is_the_servers_and_slows_after_a_minute(client: Client) -> None:
    run = queued_run()
    begun = run.created_at.timestamp()

    early = client.get(f"/verifications/{run.pk}/live?v=1&until={int(begun) + 60}")
    late = client.get(f"/verifications/{run.pk}/live?v=1&until={int(begun) - 5}")

    assert early.status_code == 204
    assert late.status_code == 200
    assert late.content.decode().count("hx-swap-oob") == 0


@pytest.mark.parametrize("number", ["", "-1", "x", "9" * 30, "1 or 1=1", "٣"])
def test_any_event_number_is_read_as_one(client: Client, number: str) -> None:
    run = recorded_run()

    assert client.get(f"/verifications/{run.pk}/live", {"v": number}).status_code == 200


# --- Who may read


def addresses(run: VerificationRun) -> list[str]:
    base = f"/verifications/{run.pk}/"
    return [
        base,
        f"{base}live?v=0",
        f"{base}record.json",
        base + log_address(run),
        f"/submissions/{run.submission_id}/",
    ]


@pytest.mark.parametrize("visibility", ["public", "private"])
@pytest.mark.parametrize("role", ["visitor", "participant", "submitter", "manager", "operator"])
def test_results_are_read_by_whom_the_problem_lets(role: str, visibility: str) -> None:
    revision = published_problem(results_visibility=visibility)
    run = recorded_run(revision=revision)
    people = {
        "visitor": Client,
        "participant": lambda: signed_in(make_user()),
        "submitter": lambda: signed_in(run.submission.created_by),
        "manager": lambda: signed_in(make_manager(revision.problem)),
        "operator": lambda: signed_in(make_operator()),
    }
    client = people[role]()

    codes = {client.get(address).status_code for address in addresses(run)}

    may_read = visibility == "public" or role not in ("visitor", "participant")
    assert codes == ({200} if may_read else {404})


def test_a_hidden_run_answers_like_one_that_never_was(client: Client) -> None:
    run = recorded_run(revision=published_problem(results_visibility="private"))

    hidden = client.get(f"/verifications/{run.pk}/").content
    missing = client.get("/verifications/vrn_00000000000000000000000000/").content

    assert hidden.replace(run.pk.encode(), b"") == missing.replace(b"vrn_00000000000000000000000000", b"")


def test_private_files_are_named_and_not_offered_to_others(client: Client) -> None:
    run = recorded_run()

    others, own = page(client, run), page(signed_in(run.submission.created_by), run)

    artifact = run.artifacts.get().artifact_id
    assert f"/artifacts/{artifact}/download" not in others
    assert "For the people concerned only" in others
    assert f"/artifacts/{artifact}/download" in own


# --- Cost


def queries(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_a_run_page_costs_the_same_with_one_and_with_three_runs_of_its_submission() -> None:
    run = recorded_run()
    client = signed_in(run.submission.created_by)
    run_page, submission_page = f"/verifications/{run.pk}/", f"/submissions/{run.submission_id}/"
    before = [queries(client, run_page), queries(client, submission_page)]
    for _ in range(2):
        rerun(run, "verified")

    after = [queries(client, run_page), queries(client, submission_page)]

    assert after == before
    assert max(after) <= 12


def test_a_queued_and_a_running_page_stay_cheap() -> None:
    queued, begun = queued_run(), queued_run()
    running(begun)

    counts = [queries(signed_in(run.submission.created_by), f"/verifications/{run.pk}/") for run in (queued, begun)]

    assert max(counts) <= 12
