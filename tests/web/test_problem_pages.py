"""Pages of Problems: the list and its counts, who sees which revision, what is accepted, and the bound inputs."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accounts.clock import database_now
from accounts.models import User
from blobs.services import blob_name, blob_store
from problems.models import Problem, ProblemRevision, Release
from problems.services import bind_link, bind_stored, create_skill, draft_revision, publish_revision
from submissions.models import Artifact, Submission
from tests.factories.contracts import file_of, open_record, passed_implementation, sat_contract, sat_document
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.plans import contract_of, noted_document, sealed_document
from tests.factories.problems import (
    bind_instance,
    make_draft,
    make_problem,
    published_problem,
    published_revision,
    revision_without_contract,
    staged,
)
from tests.factories.work import claimed_run, queued_run, recorded_run, stage_done, submission
from verification.contracts.models import VerifierContract
from verification.contracts.services import add_fixture
from verification.runs.models import RunTrigger, VerificationRun
from verification.runs.selectors import derived_states, readable_submissions
from verification.runs.services import append_stage_result, begin_stage, create_run, finish_run, revoke_run
from verification.runs.stages.base import StageDone
from verification.runs.tallies import submission_counts

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("x")</script>'


def signed_in(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def html_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def main_text(html: str) -> str:
    """The words of the main part, tags and extra space left out."""
    main = html.split("<main", 1)[1].split("</main>", 1)[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


def queries_of(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        html_of(client, path)
    return len(captured)


def titles(html: str) -> list[str]:
    return [part.split("</a>")[0].split(">")[-1] for part in html.split("<h2><a ")[1:]]


def titled(revision: ProblemRevision, title: str, **columns: Any) -> ProblemRevision:
    Problem.objects.filter(pk=revision.problem_id).update(title=title, **columns)
    return ProblemRevision.objects.select_related("problem", "verifier_contract").get(pk=revision.pk)


def sealed_revision(*, verdict_release: str = "immediate", **policies: Any) -> ProblemRevision:
    contract = contract_of(sealed_document(verdict_release=verdict_release))
    passed_implementation(contract)
    return published_revision(make_problem(contract.created_by, **policies), contract)


def release(problem: Problem) -> None:
    Release.objects.create(problem=problem, released_at=database_now(), released_by=problem.created_by)


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


def recorded_sealed_run(revision: ProblemRevision, result: str = "verified") -> VerificationRun:
    """A finished run of a protected stage, written through the services."""
    run = queued_run(revision=revision)
    return finished(run, replace(stage_done(run, result), is_protected=True))


def finished(run: VerificationRun, done: StageDone) -> VerificationRun:
    """The run with that one stage result, finished by it."""
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key=done.stage_key, at=database_now())
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code)


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
        "The platform runs a pinned checker, without network, on the submitted files and on instance.",
        "At most 20 s, 512 MB of memory, 1 processor core",
        "assignment : text/plain, at most 1 MB",
        "A summary may be added.",
        "That the checker is free of faults.",
    ):
        assert text.count(sentence) == 1, sentence


def test_a_stage_that_nothing_can_carry_out_is_told() -> None:
    revision = published_problem(has_implementation=False)

    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert text.count("No checker has passed conformance for this stage yet; runs wait for one.") == 1


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
        assert html.count("javascript:") == 0


# Bound inputs


def reference_path(revision: ProblemRevision, key: str = "instance") -> str:
    return f"/problems/{revision.problem.slug}/revisions/{revision.number}/reference/{key}/"


def test_stored_bytes_come_as_a_download_that_runs_nothing() -> None:
    revision = published_problem(slug="colours")
    binding = revision.bindings.get()

    answer = Client().get(reference_path(revision))

    assert b"".join(answer.streaming_content) == blob_store().open(blob_name(binding.content_hash)).read()
    told = {name: answer[name] for name in (
        "Content-Type", "Content-Disposition", "X-Content-Type-Options", "Content-Security-Policy", "ETag",
        "Content-Length",
    )}  # fmt: skip
    assert told == {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Disposition": 'attachment; filename="instance.cnf"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "ETag": f'"{binding.content_hash}"',
        "Content-Length": str(binding.size_bytes),
    }


def test_a_reader_who_has_the_bytes_gets_304() -> None:
    revision = published_problem()
    binding = revision.bindings.get()

    same = Client().get(reference_path(revision), headers={"If-None-Match": f'"{binding.content_hash}"'})
    other = Client().get(reference_path(revision), headers={"If-None-Match": '"sha256:00"'})

    assert (same.status_code, same.content, same["ETag"]) == (304, b"", f'"{binding.content_hash}"')
    assert other.status_code == 200


def bound_notes(
    media_type: str = "text/plain", filename: str = "notes.txt"
) -> tuple[ProblemRevision, VerifierContract]:
    document = noted_document()
    document["reference_inputs"][1]["media_types"] = ["text/plain", "text/html"]
    contract = contract_of(document)
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)
    slot = contract.slots.get(key="notes")
    with staged(b"<script>alert(1)</script>") as bytes_:
        bind_stored(
            revision=draft, slot=slot, staged=bytes_, media_type=media_type, filename=filename, at=database_now()
        )
    return draft, contract


def published(draft: ProblemRevision) -> ProblemRevision:
    publish_revision(revision=draft, published_by=draft.created_by, at=database_now())
    return draft


def test_html_is_never_sent_as_html() -> None:
    draft, _ = bound_notes("text/html", "page.html")
    revision = published(draft)

    answer = Client().get(reference_path(revision, "notes"))

    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == 'attachment; filename="page.html"'


@pytest.mark.parametrize("name", ["\u202egnp.exe", "notes", "a" * 250 + "\u00e9.txt"])
def test_a_file_name_that_is_not_safe_is_replaced(name: str) -> None:
    draft, _ = bound_notes(filename=name)
    revision = published(draft)

    answer = Client().get(reference_path(revision, "notes"))

    expected = f'attachment; filename="{revision.problem.slug}-r1-notes.txt"'
    assert answer["Content-Disposition"] == expected


def test_a_linked_input_leads_to_its_link() -> None:
    contract = contract_of(noted_document())
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)
    bind_link(
        revision=draft, slot=contract.slots.get(key="notes"), url="https://data.example.org/notes?x=1",
        content_hash="sha256:" + "0" * 64, size_bytes=12, media_type="text/plain", filename="notes.txt",
        at=database_now(),
    )  # fmt: skip
    revision = published(draft)

    answer = Client().get(reference_path(revision, "notes"))
    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert (answer.status_code, answer["Location"]) == (302, "https://data.example.org/notes?x=1")
    assert "Never fetched by the platform, and not given to checkers." in text
    assert "That a linked input is what its author says." in text


def test_inv_17_sealed_bytes_answer_like_a_key_that_is_not_there_until_release() -> None:
    revision = sealed_revision()
    viewers = (None, make_user(), make_manager(revision.problem), make_operator())
    clients = [signed_in(viewer) for viewer in viewers]

    before = [(c.get(reference_path(revision)), c.get(reference_path(revision, "nothing"))) for c in clients]
    release(revision.problem)
    after = Client().get(reference_path(revision))

    assert {(sealed.status_code, sealed.content == missing.content) for sealed, missing in before} == {(404, True)}
    assert [sorted(sealed.headers) for sealed, _ in before] == [sorted(missing.headers) for _, missing in before]
    assert after.status_code == 200


def test_the_inputs_of_a_draft_are_its_managers_alone() -> None:
    contract = sat_contract()
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)

    answers = [
        signed_in(viewer).get(reference_path(draft)) for viewer in (None, make_operator(), make_manager(draft.problem))
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 200]
    assert answers[2]["Cache-Control"] == "private, no-cache"


def test_bytes_that_the_store_lost_are_told_as_gone() -> None:
    revision = published_problem()
    blob_store().delete(blob_name(revision.bindings.get().content_hash))

    assert Client().get(reference_path(revision)).status_code == 410


# Queries


VIEWERS: dict[str, Callable[[Problem], User | None]] = {
    "visitor": lambda _: None,
    "participant": lambda _: make_user(),
    "manager": lambda problem: make_manager(problem),
    "operator": lambda _: make_operator(),
}


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

    assert text.count("No checker has passed conformance for this stage yet; runs wait for one.") == 1
