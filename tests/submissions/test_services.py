"""Attempts, files and Submissions: what is taken, what is refused in words, and what it costs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from accounts.clock import database_now
from problems.models import Release
from submissions.models import QuotaEntry, Submission
from submissions.services import QuotaUsed, WorkRefused, close_attempt, open_attempt, quota_left
from tests.factories.contracts import passed_implementation, sat_contract
from tests.factories.people import make_author, make_manager, make_user
from tests.factories.plans import contract_of, sealed_document
from tests.factories.problems import (
    make_draft,
    make_problem,
    published_problem,
    published_revision,
    revision_without_contract,
)
from tests.factories.sql import REFUSED, TAKEN, insertion, insertion_refusal, row_of, write
from tests.factories.work import claimed_run, open_attempt_with, queued_run, recorded_run, submission, upload
from verification.engine.reasons import ATTRIBUTION, Attribution, ReasonCode
from verification.runs.models import RunTrigger, VerificationRun
from verification.runs.services import begin_stage, create_run, finish_run, submit_work

pytestmark = pytest.mark.django_db


def submit(attempt, artifacts, **changes) -> Submission:
    wanted = {
        "participant": attempt.participant, "attempt_id": attempt.pk, "artifact_ids": [a.pk for a in artifacts],
        "summary_md": "", "at": database_now(),
    }  # fmt: skip
    return submit_work(**(wanted | changes))


def refused_code(call) -> str:
    with pytest.raises(WorkRefused) as refused:
        call()
    return refused.value.code


def test_going_back_to_a_problem_goes_on_with_the_open_attempt():
    revision, ada = revision_without_contract(), make_user()

    first, second = (open_attempt(participant=ada, revision=revision, at=database_now()) for _ in range(2))
    close_attempt(attempt_id=first.pk, participant=ada, at=database_now())
    third = open_attempt(participant=ada, revision=revision, at=database_now())

    assert first == second != third


def test_a_draft_takes_no_work():
    draft, ada = make_draft(make_problem(), None), make_user()

    code = refused_code(lambda: open_attempt(participant=ada, revision=draft, at=database_now()))

    assert code == "not_published"


@pytest.mark.parametrize(
    ("policies", "code"),
    [
        ({"opens_at": timedelta(hours=1)}, "not_open_yet"),
        ({"closes_at": timedelta(seconds=0)}, "closed"),
        ({"closes_at": timedelta(hours=-1)}, "closed"),
    ],
)
def test_outside_the_window_nothing_is_taken(policies, code):
    now = database_now()
    open_to_all = revision_without_contract()
    attempt = open_attempt_with(b"x", revision=open_to_all)
    ((name, offset),) = policies.items()
    write(f"UPDATE problems_problem SET {name} = %s WHERE id = %s", now + offset, open_to_all.problem_id)
    (artifact,) = attempt.artifacts.all()
    open_to_all.problem.refresh_from_db()

    codes = [
        refused_code(lambda: open_attempt(participant=make_user(), revision=open_to_all, at=now)),
        refused_code(lambda: upload(attempt, b"y")),
        refused_code(lambda: submit(attempt, [artifact], at=now)),
    ]

    assert codes == [code] * 3


def test_the_first_moment_of_the_window_is_inside_and_the_last_is_outside():
    now = database_now()
    revision = revision_without_contract(opens_at=now, closes_at=now + timedelta(hours=1))

    attempt = open_attempt(participant=make_user(), revision=revision, at=now)

    assert attempt.opened_at == now
    last = now + timedelta(hours=1)
    assert refused_code(lambda: open_attempt(participant=make_user(), revision=revision, at=last)) == "closed"


def test_an_archived_problem_takes_no_work():
    revision = revision_without_contract()
    write("UPDATE problems_problem SET archived_at = now()")
    revision.problem.refresh_from_db()
    ada = make_user()

    assert refused_code(lambda: open_attempt(participant=ada, revision=revision, at=database_now())) == "archived"


def test_a_closed_attempt_takes_nothing():
    attempt = open_attempt_with(b"x", revision=revision_without_contract())
    (artifact,) = attempt.artifacts.all()
    close_attempt(attempt_id=attempt.pk, participant=attempt.participant, at=database_now())
    file = row_of("submissions_artifact", artifact.pk) | {"id": "art_" + "0" * 26}

    assert refused_code(lambda: upload(attempt, b"y")) == "attempt_closed"
    assert refused_code(lambda: submit(attempt, [artifact])) == "attempt_closed"
    assert insertion_refusal("submissions_artifact", file) == REFUSED


def test_somebody_elses_attempt_does_not_exist():
    attempt = open_attempt_with(b"x", revision=revision_without_contract())
    (artifact,) = attempt.artifacts.all()

    assert refused_code(lambda: submit(attempt, [artifact], participant=make_user())) == "no_attempt"


def test_files_of_another_attempt_twice_or_withdrawn_are_refused():
    revision = revision_without_contract()
    attempt, other = (open_attempt_with(b"x", revision=revision) for _ in range(2))
    (mine,), (theirs,) = attempt.artifacts.all(), other.artifacts.all()

    codes = [refused_code(lambda: submit(attempt, [theirs])), refused_code(lambda: submit(attempt, [mine, mine]))]
    write("UPDATE submissions_artifact SET withdrawn_at = now() WHERE id = %s", mine.pk)
    codes.append(refused_code(lambda: submit(attempt, [mine])))

    assert codes == ["artifact_unknown", "artifact_twice", "artifact_withdrawn"]
    assert Submission.objects.count() == 0


def test_the_database_refuses_a_foreign_file_too():
    revision = revision_without_contract()
    one, other = submission(b"x", revision=revision), submission(b"y", revision=revision)
    place = row_of("submissions_submissionartifact", one.pk, column="submission_id")
    del place["id"]

    foreign = place | {"position": 1, "artifact_id": other.places.get().artifact_id}

    assert insertion_refusal("submissions_submissionartifact", foreign) == REFUSED
    assert insertion_refusal("submissions_submissionartifact", place) == TAKEN


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_cannot_be_written_down_is_refused_in_words(text):
    attempt = open_attempt_with(b"x", revision=revision_without_contract())

    assert refused_code(lambda: submit(attempt, [], summary_md=text)) == "summary_md_invalid"
    assert refused_code(lambda: upload(attempt, b"y", filename=text)) == "filename_invalid"
    assert refused_code(lambda: upload(attempt, b"y", filename="a" * 256)) == "filename_too_long"


def test_a_submission_keeps_the_order_of_its_files_and_its_content_hash_tells_them_apart():
    attempt = open_attempt_with(b"a", b"b", revision=revision_without_contract())
    a, b = attempt.artifacts.all()

    first, second, same = submit(attempt, [a, b]), submit(attempt, [b, a]), submit(attempt, [a, b])

    assert [place.artifact for place in second.places.all()] == [b, a]
    assert first.content_hash == same.content_hash != second.content_hash
    assert [s.number for s in (first, second, same)] == [1, 2, 3]


def test_without_a_contract_a_submission_is_recorded_and_not_checked():
    recorded = submission(b"x", revision=revision_without_contract())

    assert recorded.runs.count() == 0


def test_own_work_names_the_nearest_hand():
    revision = published_problem()
    contract = revision.verifier_contract
    author, implementer = make_author(), make_user()
    contract.verifier.authors.add(author)
    row = row_of("contracts_verifierimplementation", contract.implementations.get().pk)
    del row["id"]
    foreign = row | {
        "id": "vim_" + "0" * 26, "number": 2, "content_hash": "sha256:" + "0" * 64, "created_by_id": implementer.pk,
    }  # fmt: skip
    statement, parameters = insertion("contracts_verifierimplementation", foreign)
    write(statement, *parameters)
    people = (make_manager(revision.problem), author, implementer, make_user())

    marks = [submission(b"x", revision=revision, participant=one).own_work for one in people]

    assert marks == ["manager", "author", "implementer", ""]


def test_managers_do_not_submit_while_sealed_inputs_are_not_released():
    contract = contract_of(sealed_document())
    problem = make_problem(contract.created_by)
    revision = published_revision(problem, contract)
    attempt = open_attempt_with(b"x", revision=revision, participant=problem.created_by)
    (artifact,) = attempt.artifacts.all()

    before = refused_code(lambda: submit(attempt, [artifact]))
    Release.objects.create(problem=problem, released_at=database_now(), released_by=problem.created_by)
    after = submit(attempt, [artifact])

    assert (before, after.own_work) == ("sealed_to_others", "manager")
    assert submission(b"x", revision=revision).own_work == ""


def ended_by(revision, code: ReasonCode, *, participant=None, has_begun: bool = False) -> VerificationRun:
    run = queued_run(content=b"x", revision=revision, participant=participant)
    claim = claimed_run(run)
    if has_begun:
        begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=code)


def test_only_an_end_of_the_platforms_making_gives_the_quota_back():
    revision = published_problem(quota_per_day=1000)
    one_of_each = {ATTRIBUTION[code]: code for code in ReasonCode}

    refunded = {
        attribution
        for attribution, code in one_of_each.items()
        if ended_by(revision, code).submission.quota_entry.refunded_at is not None
    }

    assert set(one_of_each) == set(Attribution)
    assert refunded == {Attribution.PLATFORM}


def test_nothing_is_given_back_once_a_protected_stage_has_begun():
    contract = contract_of(sealed_document())
    passed_implementation(contract)
    revision = published_revision(make_problem(contract.created_by, quota_per_day=9), contract)

    ends = [ended_by(revision, ReasonCode.RETRIES_EXHAUSTED, has_begun=begun) for begun in (False, True)]

    assert [end.submission.quota_entry.refunded_at is None for end in ends] == [False, True]


def test_a_rerun_costs_nothing_and_gives_nothing_back():
    revision = published_problem(quota_per_day=2)
    first = recorded_run("verified", revision=revision)
    ada = first.submission.created_by
    rerun = create_run(
        submission=first.submission, trigger=RunTrigger.RERUN, requested_by=make_author(), at=database_now(),
        rerun_reason="The checker was mended.",
    )  # fmt: skip
    costs = quota_left(problem=revision.problem, user=ada, at=database_now())

    finish_run(claim=claimed_run(rerun), at=database_now(), reason_code=ReasonCode.BACKEND_UNAVAILABLE)

    assert (costs, quota_left(problem=revision.problem, user=ada, at=database_now())) == (1, 1)


def test_the_quota_counts_per_person_and_day():
    revision = revision_without_contract(quota_per_day=1)
    ada, bob = make_user(), make_user()
    submission(b"x", revision=revision, participant=ada)
    tomorrow = database_now() + timedelta(days=1)

    assert refused_code(lambda: submission(b"y", revision=revision, participant=ada)) == "quota_used"
    assert submission(b"y", revision=revision, participant=bob).number == 1
    assert quota_left(problem=revision.problem, user=ada, at=tomorrow) == 1
    assert quota_left(problem=make_problem(), user=ada, at=tomorrow) is None


def test_a_used_quota_says_when_the_next_submission_can_be_made():
    revision = revision_without_contract(quota_per_day=1)
    first = submission(b"x", revision=revision)

    with pytest.raises(QuotaUsed) as refused:
        submission(b"y", revision=revision, participant=first.created_by)

    midnight = (first.created_at + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert refused.value.resets_at == midnight
    assert Submission.objects.count() == 1


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_t23_twenty_posts_with_one_submission_left_make_one():
    revision = revision_without_contract(quota_per_day=1)
    attempt = open_attempt_with(b"x", revision=revision)
    (artifact,) = attempt.artifacts.all()
    start = threading.Barrier(20)

    def post(_number: int) -> str:
        start.wait()
        try:
            return submit(attempt, [artifact]).pk[:3]
        except QuotaUsed as refused:
            return refused.code
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        answers = sorted(pool.map(post, range(20)))

    assert answers == ["quota_used"] * 19 + ["sub"]
    assert (Submission.objects.count(), QuotaEntry.objects.count()) == (1, 1)


def test_a_submission_under_a_contract_gets_its_run_with_frozen_inputs():
    revision = published_problem()

    run = submission(b"x", revision=revision, summary_md="By hand.").runs.get()

    artifact, reference = run.artifacts.get(), run.references.get()
    assert (run.status, run.trigger, run.contract) == ("queued", "submission", sat_contract())
    assert (artifact.role, artifact.content_hash) == ("assignment", artifact.artifact.blob_id)
    assert (reference.key, reference.content_hash) == ("instance", revision.bindings.get().content_hash)
    assert run.contract_normative_hash == run.contract.normative_hash


def test_files_beyond_the_roles_are_frozen_without_one():
    attempt = open_attempt_with(b"a", b"b", revision=published_problem())

    run = submit(attempt, list(attempt.artifacts.all())).runs.get()

    assert [artifact.role for artifact in run.artifacts.all()] == ["assignment", ""]
