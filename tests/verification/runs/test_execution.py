"""Executing a run: what it comes to, what ends it before anything executes, what waits and what faults."""

import copy
from datetime import timedelta

import pytest

from accounts.clock import database_now
from problems.models import ProblemRevision
from submissions.models import QuotaEntry
from tests.factories.backends import crash, execution, out_of_time, scripted_backend, unavailable
from tests.factories.contracts import (
    file_of,
    implementation_document,
    open_record,
    passed_implementation,
    pending_implementation,
    sandbox_stage,
    sat_contract,
    sat_document,
    write_passed_conformance,
)
from tests.factories.messages import sent_messages
from tests.factories.people import make_user
from tests.factories.plans import contract_of, measured_document, scored_document, two_stage_document
from tests.factories.problems import bind_instance, make_draft, make_problem, published_problem, published_revision
from tests.factories.sql import write
from tests.factories.work import (
    ANSWERS,
    LIAR,
    claimed_run,
    finished_run,
    open_attempt_with,
    queued_run,
    right_answer,
    submission,
    upload,
)
from verification.contracts.services import add_fixture, execute_conformance, publish_implementation
from verification.engine.sandbox.base import OutputTree
from verification.engine.sandbox.process import ProcessBackend
from verification.runs.execution import execute_run
from verification.runs.models import VerificationRun
from verification.runs.services import claim_run, submit_work
from verification.runs.stages.base import executor_of, register_executor
from verification.runs.stages.sandbox import SandboxExecutor
from verification.runs.tasks import wake_stage_task

pytestmark = pytest.mark.django_db


def fresh(run: VerificationRun) -> VerificationRun:
    return VerificationRun.objects.select_related("execution").get(pk=run.pk)


def outcome(run: VerificationRun) -> tuple[str, str, str]:
    ended = fresh(run)
    return (ended.status, ended.result, ended.reason_code)


def executed(run: VerificationRun) -> VerificationRun:
    execute_run(run_id=run.pk, holder="worker")
    return fresh(run)


@pytest.mark.parametrize("result", ANSWERS)
def test_each_answer_comes_to_its_result(result):
    run = finished_run(result)

    stage = run.stage_results.get()
    assert (run.status, run.result, run.reason_code) == ("finished", result, ANSWERS[result][1] or "")
    assert (stage.result, stage.backend, stage.output.exit_code) == (result, "process", 0)
    assert run.evidence_md.startswith("#")
    assert [event.kind for event in run.events.all()] == ["queued", "stage_started", f"stage_{result}", "finished"]


def test_a_message_that_comes_twice_changes_nothing():
    run = finished_run("verified")
    events = run.events.count()

    with scripted_backend() as invocations:
        execute_run(run_id=run.pk, holder="another")

    assert (invocations, run.events.count(), run.stage_results.count()) == ([], events, 1)


def test_a_message_for_a_run_that_does_not_exist_is_let_go():
    execute_run(run_id="vrn_" + "0" * 26, holder="worker")

    assert VerificationRun.objects.count() == 0


def test_a_missed_requirement_ends_the_run_naming_the_role_and_executes_nothing():
    attempt = open_attempt_with(revision=published_problem())
    artifact = upload(attempt, b"x", media_type="application/pdf")
    made = submit_work(
        participant=attempt.participant, attempt_id=attempt.pk, artifact_ids=[artifact.pk], summary_md="",
        at=database_now(),
    )  # fmt: skip

    with scripted_backend() as invocations:
        ended = executed(made.runs.get())

    assert (ended.result, ended.reason_code, invocations) == ("inconclusive", "requirement_unmet", [])
    assert "assignment" in ended.reason_detail
    assert ended.stage_results.count() == 0


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE submissions_artifact SET withdrawn_at = now()", "artifact_withdrawn"),
        ("UPDATE submissions_submission SET withdrawn_at = now()", "submission_withdrawn"),
    ],
)
def test_what_was_withdrawn_before_is_not_executed(statement, code):
    run = queued_run()
    write(statement)

    with scripted_backend() as invocations:
        executed(run)

    assert (outcome(run), invocations) == (("finished", "inconclusive", code), [])


def two_stage_run() -> VerificationRun:
    contract = contract_of(two_stage_document())
    passed_implementation(contract)
    second = publish_implementation(
        contract=contract, document=implementation_document("second_check"), author=contract.created_by,
        at=database_now(),
    )  # fmt: skip
    write_passed_conformance(open_record(second))
    return queued_run(revision=published_revision(make_problem(contract.created_by), contract))


def test_both_stages_of_a_plan_are_executed_in_order():
    run = two_stage_run()

    with scripted_backend() as invocations:
        executed(run)

    assert outcome(run) == ("finished", "verified", "")
    assert [invocation.manifest["stage_key"] for invocation in invocations] == ["assignment_check", "second_check"]
    assert invocations[1].manifest["prior_stage_results"] == [
        {"stage_key": "assignment_check", "kind": "sandbox", "result": "verified"}
    ]


def test_a_withdrawal_while_a_stage_executes_is_noticed_before_the_next():
    run = two_stage_run()

    def withdraw(invocation):
        write("UPDATE submissions_artifact SET withdrawn_at = now()")
        return ProcessBackend().execute(invocation)

    with scripted_backend(withdraw) as invocations:
        executed(run)

    assert outcome(run) == ("finished", "inconclusive", "artifact_withdrawn")
    assert (len(invocations), run.stage_results.get().result) == (1, "verified")


def test_bytes_without_an_acceptance_end_the_run_before_anything_is_mounted():
    unaccepted = unaccepted_run(published_problem())

    with scripted_backend() as invocations:
        executed(unaccepted)

    assert (outcome(unaccepted), invocations) == (("finished", "error", "reference_invalid"), [])
    assert fresh(unaccepted).reason_detail == "Slot instance."


def unaccepted_run(like: ProblemRevision) -> VerificationRun:
    """A run on a published revision whose bytes no validator accepted: written past the services."""
    draft = make_draft(like.problem, like.verifier_contract)
    bind_instance(draft, b"p cnf 1 1\n1 0\n", is_asked=False)
    write(
        "UPDATE problems_problemrevision SET published_at = now(), published_by_id = created_by_id, content_hash = %s "
        "WHERE id = %s",
        "sha256:" + "0" * 64,
        draft.pk,
    )
    draft.refresh_from_db()
    return queued_run(revision=draft)


def test_a_stage_that_nothing_can_carry_out_ends_the_run_at_once_and_is_named():
    run = queued_run(revision=published_problem(has_implementation=False))

    executed(run)

    assert outcome(run) == ("finished", "inconclusive", "stage_unavailable")
    assert "assignment_check" in fresh(run).reason_detail


def test_an_external_stage_without_a_partner_ends_the_run_naming_the_system():
    contract = contract_of(measured_document())
    passed_implementation(contract)
    run = queued_run(revision=published_revision(make_problem(contract.created_by), contract))

    executed(run)

    assert outcome(run) == ("finished", "inconclusive", "stage_unavailable")
    assert "example-synthesis-lab" in fresh(run).reason_detail
    assert run.stage_results.get().result == "verified"


def waiting_run() -> VerificationRun:
    revision = published_problem(has_implementation=False)
    pending_implementation(revision.verifier_contract)
    run = queued_run(revision=revision)
    executed(run)
    return run


def test_inv_24_a_run_waits_for_conformance_without_a_lease():
    run = fresh(waiting_run())

    wait = run.execution
    assert (run.status, wait.waiting_for, wait.holder, wait.lease_until) == ("queued", "conformance", "", None)
    assert wait.waiting_until == wait.waiting_since + timedelta(hours=24)
    assert wait.faults == 0


def test_passing_conformance_wakes_the_run_that_waited(django_capture_on_commit_callbacks):
    run = waiting_run()
    record = open_record(run.contract.implementations.get())

    with sent_messages(django_capture_on_commit_callbacks) as passing:
        execute_conformance(record_id=record.pk, holder="worker")
    with sent_messages(django_capture_on_commit_callbacks) as waking:
        wake_stage_task(**passing[0].kwargs)

    assert [message.task for message in passing] == [wake_stage_task.name]
    assert [(message.task, message.kwargs) for message in waking] == [("runs.execute_run", {"run_id": run.pk})]
    assert executed(run).result == "verified"


def test_failed_conformance_ends_the_run_that_waited():
    run = waiting_run()
    with scripted_backend(crash):
        execute_conformance(record_id=open_record(run.contract.implementations.get()).pk, holder="worker")

    executed(run)

    assert outcome(run) == ("finished", "inconclusive", "stage_unavailable")


def test_a_wait_over_its_bound_ends_the_run_and_says_what_it_waited_for():
    run = waiting_run()
    late = fresh(run).execution.waiting_until

    claim = claim_run(run_id=run.pk, holder="worker", at=late)

    assert claim is None
    assert outcome(run) == ("finished", "inconclusive", "stage_unavailable")
    assert fresh(run).reason_detail.startswith("Waited for conformance since")


def test_a_wait_keeps_its_beginning_however_often_it_is_looked_at():
    run = waiting_run()
    since = fresh(run).execution.waiting_since

    executed(run)

    assert fresh(run).execution.waiting_since == since
    assert [event.kind for event in run.events.all()] == ["queued", "waiting"]


def test_a_stage_that_became_ready_while_the_run_was_parked_sends_it_on(django_capture_on_commit_callbacks):
    revision = published_problem(has_implementation=False)
    implementation = pending_implementation(revision.verifier_contract)
    run = queued_run(revision=revision)

    class LateExecutor(SandboxExecutor):
        def start(self, context):
            answer = super().start(context)
            write_passed_conformance(open_record(implementation))
            return answer

    usual = executor_of("sandbox")
    register_executor("sandbox", LateExecutor())
    try:
        with sent_messages(django_capture_on_commit_callbacks) as messages:
            executed(run)
    finally:
        register_executor("sandbox", usual)

    assert [(message.task, message.kwargs) for message in messages] == [("runs.execute_run", {"run_id": run.pk})]


@pytest.mark.faults
@pytest.mark.parametrize(
    ("answer", "result", "code"),
    [
        (crash, "error", "exit_nonzero"),
        (lambda _: execution(b'{"result": "refuted"}', exit_code=1), "error", "exit_nonzero"),
        (lambda _: execution(None), "error", "result_missing"),
        (lambda _: execution(b""), "error", "result_malformed"),
        (lambda _: execution(b'{"result": "error"}'), "error", "result_malformed"),
        (lambda _: execution(b'{"result": "verified", "score": 1}'), "error", "result_malformed"),
        (lambda _: execution(b'{"result": "verified"}'), "error", "evidence_invalid"),
        (out_of_time, "inconclusive", "limit_time"),
    ],
)
def test_t06_a_checker_that_fails_says_nothing_about_the_work(answer, result, code):
    run = queued_run(content=LIAR)

    with scripted_backend(answer) as invocations:
        executed(run)

    assert (outcome(run), len(invocations)) == (("finished", result, code), 1)


@pytest.mark.faults
def test_inv_19_three_faults_end_the_run_and_give_the_quota_back():
    revision = published_problem(quota_per_day=3)
    run = queued_run(revision=revision)

    with scripted_backend(unavailable) as invocations:
        seen = [(executed(run).status, fresh(run).execution.faults) for _ in range(4)]

    assert seen == [("running", 1), ("running", 2), ("finished", 3), ("finished", 3)]
    assert (outcome(run), len(invocations)) == (("finished", "error", "backend_unavailable"), 3)
    assert QuotaEntry.objects.get().refunded_at is not None
    assert run.stage_results.count() == 0


def test_a_fault_sends_the_run_again_a_little_later(django_capture_on_commit_callbacks):
    run = queued_run()

    with scripted_backend(unavailable), sent_messages(django_capture_on_commit_callbacks) as messages:
        executed(run)

    assert messages == [("runs.execute_run", {"run_id": run.pk}, "sandbox", 2.0)]
    assert fresh(run).execution.holder == ""


def test_after_a_fault_the_run_can_still_be_verified():
    run = queued_run()
    with scripted_backend(unavailable):
        executed(run)

    assert executed(run).result == "verified"
    assert run.stage_results.get().claim_number == 2


@pytest.mark.faults
def test_an_expired_lease_is_a_fault_of_its_dead_holder_and_the_third_ends_the_run():
    run = queued_run()
    claimed_run(run, holder="first")
    expire = "UPDATE runs_runexecution SET lease_until = now() - interval '1 second'"

    held = claim_run(run_id=run.pk, holder="early", at=database_now())
    write(expire)
    second = claim_run(run_id=run.pk, holder="second", at=database_now())
    write(expire)
    third = claim_run(run_id=run.pk, holder="third", at=database_now())
    write(expire)
    fourth = claim_run(run_id=run.pk, holder="fourth", at=database_now())

    assert (held, second.number, third.number, fourth) == (None, 2, 3, None)
    assert outcome(run) == ("finished", "error", "retries_exhausted")


@pytest.mark.faults
def test_t02_an_executor_that_was_taken_over_in_mid_stage_writes_nothing():
    run = queued_run(content=LIAR)

    def lose(invocation):
        write("UPDATE runs_runexecution SET lease_until = now() - interval '1 second'")
        claim_run(run_id=run.pk, holder="second", at=database_now())
        return ProcessBackend().execute(invocation)

    with scripted_backend(lose):
        executed(run)

    still = fresh(run)
    assert (still.status, still.execution.holder, run.stage_results.count()) == ("running", "second", 0)


@pytest.mark.faults
def test_t24_late_answers_land_on_their_own_run():
    revision, ada = published_problem(), make_user()
    first = submission(LIAR, revision=revision, participant=ada).runs.get()
    second = submission(right_answer(), revision=revision, participant=ada).runs.get()

    executed(second)
    executed(first)

    assert [outcome(run)[1] for run in (first, second)] == ["refuted", "verified"]


def test_the_score_of_the_last_scored_stage_is_the_runs():
    contract = contract_of(scored_document())
    passed_implementation(contract)
    run = queued_run(revision=published_revision(make_problem(contract.created_by), contract))

    def scored(invocation):
        found = ProcessBackend().execute(invocation)
        result = b'{"result": "verified", "score": 12.125}'
        return execution(result, output=OutputTree(result, found.output.evidence))

    with scripted_backend(scored):
        executed(run)

    assert (outcome(run), fresh(run).score) == (("finished", "verified", ""), 12.125)


@pytest.mark.parametrize("score", ["-0.5", "1000.5", "1e400", "null"])
def test_a_score_out_of_the_contracts_bounds_is_a_malformed_result(score):
    contract = contract_of(scored_document())
    passed_implementation(contract)
    run = queued_run(revision=published_revision(make_problem(contract.created_by), contract))

    with scripted_backend(lambda _: execution(f'{{"result": "verified", "score": {score}}}'.encode())):
        executed(run)

    assert outcome(run) == ("finished", "error", "result_malformed")


def test_a_stage_goes_back_to_waiting_when_a_fixture_is_added_before_it_starts():
    run = queued_run()
    contract = sat_contract()
    fixture = copy.deepcopy(sat_document()["conformance_fixtures"][0])
    answer = file_of(b"v 1 2 3 4 5 6 0\n", filename="claim.txt")
    fixture |= {"key": "claimed", "artifacts": {"assignment": answer}, "expected_result": "refuted"}
    add_fixture(contract=contract, fixture=fixture, author=contract.created_by, at=database_now())

    executed(run)

    assert fresh(run).execution.waiting_for == "conformance"
    assert fresh(run).execution.waiting_subject == str(sandbox_stage(contract).pk)
