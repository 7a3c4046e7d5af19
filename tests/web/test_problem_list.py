"""The list of Problems: search, states, pages, and counts that tell nobody what is not theirs to know."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.clock import database_now
from accounts.models import User
from problems.models import ProblemRevision
from problems.services import draft_revision, publish_revision
from submissions.models import Artifact, Submission
from tests.factories.pages import (
    VIEWERS,
    finished,
    html_of,
    main_text,
    queries_of,
    recorded_sealed_run,
    release,
    sealed_revision,
    signed_in,
    titled,
)
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.problems import (
    make_draft,
    make_problem,
    published_problem,
    published_revision,
)
from tests.factories.work import recorded_run, stage_done
from verification.runs.models import RunTrigger, VerificationRun
from verification.runs.selectors import derived_states, readable_submissions
from verification.runs.services import create_run, revoke_run
from verification.runs.tallies import submission_counts

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("x")</script>'


def titles(html: str) -> list[str]:
    return [part.split("</a>")[0].split(">")[-1] for part in html.split("<h2><a ")[1:]]


# The list


def test_the_list_shows_published_problems_only() -> None:
    titled(published_problem(), "Published one")
    make_draft(make_problem(), None)

    html = html_of(Client(), "/problems/")

    assert titles(html) == ["Published one"]


@pytest.mark.parametrize("query", ["NEEDLE", "needle formula", "haystack"])
def test_the_search_looks_in_title_summary_and_current_statement(query: str) -> None:
    titled(published_problem(), "A Needle here", summary="in the haystack")
    titled(published_problem(), "Something else", summary="of another sort")

    html = html_of(Client(), f"/problems/?q={query}")

    assert titles(html) == ["A Needle here"]


def test_the_search_ignores_statements_that_were_replaced() -> None:
    problem = make_problem()
    for statement in ("Prove the walrus.", "Prove the carpenter."):
        draft = draft_revision(
            problem=problem, statement_md=statement, contract=None, skill=None, author=problem.created_by,
            at=database_now(),
        )  # fmt: skip
        publish_revision(revision=draft, published_by=problem.created_by, at=database_now())

    found = [len(titles(html_of(Client(), f"/problems/?q={word}"))) for word in ("walrus", "carpenter")]

    assert found == [0, 1]


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("q=xyzzy&state=open", "Drop the state, or some of the words."),
        ("q=xyzzy", "Each word must occur in the title, the summary or the statement. Drop one."),
        ("state=closed", "Drop the state to see the others."),
    ],
)
def test_an_empty_list_says_what_to_drop(query: str, advice: str) -> None:
    published_problem()

    html = html_of(Client(), f"/problems/?{query}")

    assert titles(html) == []
    assert html.count(advice) == 1


def test_an_empty_platform_says_what_will_appear() -> None:
    assert html_of(Client(), "/problems/").count("No Problem is published yet.") == 1


def test_the_state_filter_tells_open_from_everything_else() -> None:
    now = database_now()
    titled(published_problem(), "Open")
    titled(published_problem(), "Later", opens_at=now + timedelta(days=1))
    titled(published_problem(), "Over", closes_at=now - timedelta(days=1))
    titled(published_problem(), "Archived", archived_at=now)

    found = {state: sorted(titles(html_of(Client(), f"/problems/?state={state}"))) for state in ("open", "closed", "")}

    assert found == {
        "open": ["Open"],
        "closed": ["Archived", "Later", "Over"],
        "": ["Archived", "Later", "Open", "Over"],
    }


@pytest.mark.parametrize("query", ["q=" + "x" * 201, "q=%00", "state=elsewhere", "page=0", "page=99999999999999999999"])
def test_bad_input_to_the_list_is_answered_in_words(query: str) -> None:
    titled(published_problem(), "Still here")

    html = html_of(Client(), f"/problems/?{query}")

    assert titles(html) == ["Still here"]


def test_the_list_has_pages_that_keep_the_search() -> None:
    first = published_problem()
    for _ in range(20):
        published_revision(make_problem(first.problem.created_by), None)

    html = html_of(Client(), "/problems/?q=the")
    second = html_of(Client(), "/problems/?q=the&page=2")

    assert (len(titles(html)), len(titles(second))) == (20, 1)
    assert html.count('href="?q=the&amp;page=2"') == 1


# Counts


def counts_told(viewer: User | None, revision: ProblemRevision) -> str:
    text = main_text(html_of(signed_in(viewer), f"/problems/?q={revision.problem.title}"))
    return text.split(" Open ", 2)[-1].split(" · ")[0].strip()


def test_counts_of_a_private_problem_are_told_to_those_who_may_read_them() -> None:
    revision = titled(published_problem(results_visibility="private"), "Secretive")
    participant = make_user()
    recorded_run(revision=revision, participant=participant)
    recorded_run(revision=revision)

    told = {
        name: counts_told(viewer, revision)
        for name, viewer in {
            "visitor": None,
            "other": make_user(),
            "participant": participant,
            "manager": make_manager(revision.problem),
            "operator": make_operator(),
        }.items()
    }

    assert told == {
        "visitor": "Results are private",
        "other": "Results are private",
        "participant": "1 Submission that you may read, 1 verified",
        "manager": "2 Submissions that you may read, 2 verified",
        "operator": "2 Submissions that you may read, 2 verified",
    }


def test_a_deferred_verdict_is_counted_after_the_release_only() -> None:
    revision = sealed_revision(verdict_release="with_labels")
    recorded_sealed_run(revision)
    operator = make_operator()

    before = submission_counts(operator, [revision.problem_id])[revision.problem_id]
    release(revision.problem)
    after = submission_counts(operator, [revision.problem_id])[revision.problem_id]

    assert (before.readable, before.verified) == (1, 0)
    assert (after.readable, after.verified) == (1, 1)


def rerun(first: VerificationRun, result: str) -> None:
    operator = make_operator()
    submissions = Submission.objects.select_related("attempt__revision__verifier_contract")
    run = create_run(
        submission=submissions.get(pk=first.submission_id),
        trigger=RunTrigger.RERUN,
        requested_by=operator,
        rerun_reason="again",
        at=database_now(),
    )
    finished(run, stage_done(run, result))


HISTORIES: dict[str, Callable[[Any], None]] = {
    "as it was": lambda _: None,
    "refuted later": lambda run: rerun(run, "refuted"),
    "inconclusive later": lambda run: rerun(run, "inconclusive"),
    "error later": lambda run: rerun(run, "error"),
    "revoked": lambda run: revoke_run(run_id=run.pk, revoked_by=make_operator(), reason_md="Wrong.", at=database_now()),
    "withdrawn": lambda run: Submission.objects.filter(pk=run.submission_id).move(withdrawn_at=database_now()),
    "file withdrawn": lambda run: Artifact.objects.filter(attempt__submissions=run.submission_id).move(
        withdrawn_at=database_now()
    ),
}


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("result", ["verified", "refuted"])
def test_the_count_of_verified_is_what_deriving_each_one_gives(history: str, result: str) -> None:
    run = recorded_run(result)
    HISTORIES[history](run)
    rows = readable_submissions(make_operator()).select_related("attempt__revision")
    states = derived_states(rows)

    counted = submission_counts(make_operator(), [run.revision.problem_id])[run.revision.problem_id]

    derived = sum(s.current_verdict is not None and s.current_verdict.result == "verified" for s in states.values())
    assert (counted.readable, counted.verified) == (1, derived)


@pytest.mark.parametrize("role", VIEWERS)
def test_the_list_asks_as_often_for_three_problems_as_for_one(role: str) -> None:
    first = published_problem()
    recorded_run(revision=first)
    client = signed_in(VIEWERS[role](first.problem))

    one = queries_of(client, "/problems/?q=problem&state=open")
    for _ in range(2):
        recorded_run(revision=published_problem())
    three = queries_of(client, "/problems/?q=problem&state=open")

    assert one == three
    assert three <= 12
