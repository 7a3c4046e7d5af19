"""The page of a revision: who sees it, what is accepted, what was submitted, what stays sealed."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.html import escape

from accounts.clock import database_now
from accounts.models import User
from problems.models import ProblemRevision
from problems.services import create_skill, draft_revision, publish_revision
from tests.factories.contracts import file_of, open_record, sat_contract, sat_document
from tests.factories.pages import (
    VIEWERS,
    html_of,
    main_text,
    queries_of,
    recorded_sealed_run,
    sealed_revision,
    signed_in,
    titled,
)
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.problems import (
    bind_instance,
    make_draft,
    make_problem,
    published_problem,
    published_revision,
    revision_without_contract,
)
from tests.factories.work import recorded_run, submission
from verification.contracts.services import add_fixture

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("x")</script>'

NO_CHECKER = (
    "No checker of this stage has passed conformance. A run waits while one is being tested, and ends inconclusive "
    "otherwise."
)


# Which revision whom


def test_a_draft_exists_for_its_managers_only() -> None:
    revision = published_problem()
    make_draft(revision.problem, None)
    path = f"/problems/{revision.problem.slug}/revisions/2/"
    others = published_problem().problem.created_by
    viewers = {
        "visitor": None,
        "participant": make_user(),
        "manager of another": make_manager(make_problem(others)),
        "operator": make_operator(),
        "manager": make_manager(revision.problem),
    }

    answers = {name: signed_in(viewer).get(path).status_code for name, viewer in viewers.items()}

    assert answers == {
        "visitor": 404, "participant": 404, "manager of another": 404, "operator": 404, "manager": 200,
    }  # fmt: skip


def test_a_problem_without_a_published_revision_is_its_managers_alone() -> None:
    problem = make_problem()
    make_draft(problem, None)
    path = f"/problems/{problem.slug}/"

    answers = [signed_in(viewer).get(path).status_code for viewer in (None, make_operator(), make_manager(problem))]

    assert answers == [404, 404, 200]


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_a_published_revision_is_everybodys_to_read(visibility: str) -> None:
    revision = published_problem(results_visibility=visibility)
    viewers = (None, make_user(), make_manager(revision.problem), make_operator())
    paths = [f"/problems/{revision.problem.slug}/", f"/problems/{revision.problem.slug}/revisions/1/"]

    answers = {signed_in(viewer).get(path).status_code for viewer in viewers for path in paths}

    assert answers == {200}


@pytest.mark.parametrize("number", ["0", "2", "99999999999999999999999"])
def test_a_revision_that_is_not_there_is_404(number: str) -> None:
    revision = published_problem()

    assert Client().get(f"/problems/{revision.problem.slug}/revisions/{number}/").status_code == 404


def test_the_pages_title_names_the_problem() -> None:
    revision = titled(published_problem(), "Three colours")

    html = html_of(Client(), f"/problems/{revision.problem.slug}/")

    assert html.split("<title>")[1].split("</title>")[0] == "Three colours · TfP"
    assert html.count('aria-label="Breadcrumbs"') == 1


def test_a_replaced_revision_says_so_and_leads_to_the_current_one() -> None:
    first = published_problem()
    published_revision(first.problem, first.verifier_contract)

    old = html_of(Client(), f"/problems/{first.problem.slug}/revisions/1/")
    current = html_of(Client(), f"/problems/{first.problem.slug}/")

    assert "Revision 2 is the current one." in main_text(old).replace(" .", ".")
    assert old.count("Go to revision 2, the current one") == 1
    assert main_text(current).count("Replaced") == 1  # in its list of revisions


# What the page tells


def test_a_revision_without_a_contract_says_that_nothing_is_checked() -> None:
    revision = revision_without_contract()

    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert text.count("This revision pins no Contract: results are recorded and not checked.") == 1
    assert "What is accepted" not in text


def test_acceptance_names_the_stage_the_files_the_limits_and_what_stays_open() -> None:
    revision = published_problem()

    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    for sentence in (
        "A Submission is verified when its one stage, Assignment check, passes.",
        "The platform runs a pinned checker in its sandbox on the submitted files and on instance.",
        "At most 20 s, 512 MB of memory, 1 processor core",
        "assignment : text/plain, at most 1 MB",
        "A summary may be added.",
        "That the checker is free of faults.",
    ):
        assert text.count(sentence) == 1, sentence


def test_a_stage_that_nothing_can_carry_out_is_told() -> None:
    revision = published_problem(has_implementation=False)

    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert text.count(NO_CHECKER) == 1


def act_of(viewer: User | None, revision: ProblemRevision) -> str:
    html = html_of(signed_in(viewer), f"/problems/{revision.problem.slug}/")
    return html.split('id="acts"', 1)[1].split("</form>")[0].split("</div>")[0].split("</p>")[0]


def test_visitors_sign_in_and_participants_open_an_attempt() -> None:
    revision = published_problem()

    visitor, participant = act_of(None, revision), act_of(make_user(), revision)

    assert f"/account/login/?next=%2Fproblems%2F{revision.problem.slug}%2F" in visitor
    assert "Submit under revision 1" in participant
    html = html_of(signed_in(make_user()), f"/problems/{revision.problem.slug}/")
    assert html.count(f'<form method="post" action="/problems/{revision.problem.slug}/revisions/1/attempt/"') == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"archived_at": timedelta(0)},
            "This Problem is archived: everything stays readable, and it takes no more work.",
        ),
        ({"closes_at": timedelta(days=-1)}, "This Problem takes no more work. Everything stays readable."),
        ({"opens_at": timedelta(days=1)}, "This Problem takes no work yet."),
    ],
)
def test_a_problem_that_takes_no_work_says_why(columns: dict[str, timedelta], words: str) -> None:
    moved = {name: database_now() + distance for name, distance in columns.items()}
    revision = titled(published_problem(), "Shut", **moved)

    act = act_of(make_user(), revision)

    assert words in act


def test_managers_of_unreleased_sealed_inputs_cannot_submit() -> None:
    revision = sealed_revision()

    acts = [
        "so you cannot submit to it" in act_of(viewer, revision)
        for viewer in (make_user(), make_manager(revision.problem))
    ]

    assert acts == [False, True]


def test_the_quota_is_told_with_its_reset_in_the_readers_zone() -> None:
    revision = published_problem(quota_per_day=3)
    participant = make_user(timezone="Asia/Kolkata")
    submission(revision=revision, participant=participant)

    text = main_text(html_of(signed_in(participant), f"/problems/{revision.problem.slug}/"))
    visitor = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert "3, of which you have 2 left. Counted anew from" in text
    assert ", 05:30 IST" in text
    assert "Submissions a day 3. Counted anew from" in visitor


def test_the_newest_submissions_stand_with_their_verdict_and_own_work() -> None:
    revision = published_problem()
    recorded_run("refuted", revision=revision, participant=revision.problem.created_by)
    recorded_run("verified", revision=revision, participant=make_user("zoe"))

    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    table = text.split("Submissions, 2")[1].split("Revisions")[0]
    assert table.index("zoe 1 Verified") < table.index("Own work: By a manager of this Problem 1 Refuted")


def test_submissions_have_pages() -> None:
    revision = published_problem()
    for _ in range(21):
        submission(revision=revision)
    path = f"/problems/{revision.problem.slug}/"

    first, second = html_of(Client(), path), html_of(Client(), path + "?page=2")

    assert [main_text(html).count("Queued") for html in (first, second)] == [20, 1]
    assert Client().get(path + "?page=3").status_code == 404


def test_private_results_are_neither_listed_nor_drawn() -> None:
    revision = published_problem(results_visibility="private")
    recorded_run(revision=revision, participant=make_user("hidden-person"))
    path = f"/problems/{revision.problem.slug}/"

    told = {
        name: ("hidden-person" in html, "The numbers as a table" in html)
        for name, html in {
            "visitor": html_of(Client(), path),
            "other": html_of(signed_in(make_user()), path),
            "manager": html_of(signed_in(make_manager(revision.problem)), path),
            "operator": html_of(signed_in(make_operator()), path),
        }.items()
    }

    assert told == {
        "visitor": (False, False), "other": (False, False), "manager": (True, True), "operator": (True, True),
    }  # fmt: skip


def test_a_deferred_verdict_is_withheld_and_not_drawn() -> None:
    revision = sealed_revision(verdict_release="with_labels")
    recorded_sealed_run(revision)
    path = f"/problems/{revision.problem.slug}/"

    for viewer in (None, make_manager(revision.problem), make_operator()):
        text = main_text(html_of(signed_in(viewer), path))
        table = text.split("Submissions, 1")[1].split("Revisions")[0]
        assert ("Withheld" in table, "Verified" in table, "The numbers as a table" in text) == (True, False, False)


def test_a_sealed_input_shows_its_commitment_and_to_managers_its_digest() -> None:
    revision = sealed_revision()
    binding = revision.bindings.get()
    digest = binding.content_hash.removeprefix("sha256:")
    path = f"/problems/{revision.problem.slug}/"

    told = {
        name: (binding.commitment.removeprefix("sha256:")[12:] in html, digest[12:] in html)
        for name, html in {
            "visitor": html_of(Client(), path),
            "operator": html_of(signed_in(make_operator()), path),
            "manager": html_of(signed_in(make_manager(revision.problem)), path),
        }.items()
    }

    assert told == {"visitor": (True, False), "operator": (True, False), "manager": (True, True)}


def test_what_others_wrote_is_inert() -> None:
    contract = sat_contract()
    problem = make_problem(contract.created_by)
    skill = create_skill(title=HOSTILE, body_md=HOSTILE, at=database_now())
    draft = draft_revision(
        problem=problem, statement_md=f"{HOSTILE}\n\n[go](javascript:alert(1))", contract=contract, skill=skill,
        author=problem.created_by, at=database_now(),
    )  # fmt: skip
    bind_instance(draft)
    publish_revision(revision=draft, published_by=problem.created_by, at=database_now())
    revision = titled(draft, HOSTILE, summary=HOSTILE)
    submission(revision=revision, participant=make_user(display_name=HOSTILE))

    pages = [html_of(Client(), path) for path in ("/problems/", f"/problems/{problem.slug}/")]

    for html in pages:
        assert html.count(HOSTILE) == 0
        assert html.count(escape(HOSTILE)) > 0
        assert html.count('href="javascript:') == 0


@pytest.mark.parametrize("role", VIEWERS)
def test_the_page_asks_as_often_for_three_submissions_as_for_one(role: str) -> None:
    revision = published_problem(quota_per_day=10)
    recorded_run(revision=revision)
    client = signed_in(VIEWERS[role](revision.problem))
    path = f"/problems/{revision.problem.slug}/"

    one = queries_of(client, path)
    for _ in range(2):
        recorded_run(revision=revision)
        published_revision(revision.problem, revision.verifier_contract)
    three = queries_of(client, path)

    assert one == three
    assert three <= 12


def test_a_pending_implementation_of_a_newer_set_leaves_the_page_without_a_checker() -> None:
    revision = published_problem()
    contract = revision.verifier_contract
    assert contract is not None
    assert open_record(contract.implementations.get()).status == "passed"
    document = sat_document()["conformance_fixtures"][0] | {
        "key": "another",
        "artifacts": {"assignment": file_of(b"s SATISFIABLE\nv 1 0\n", filename="other.txt")},
        "expected_result": "refuted",
    }
    add_fixture(contract=contract, fixture=document, author=contract.created_by, at=database_now())

    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert text.count(NO_CHECKER) == 1
