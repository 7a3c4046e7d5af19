"""Invariants 3, 4 and 5 by raw SQL: one mechanism, plan order by the holder of the claim, verified by every stage."""

import dataclasses

import pytest
from django.db import IntegrityError

from accounts.clock import database_now
from tests.factories.contracts import (
    implementation_document,
    passed_implementation,
    pending_implementation,
    sandbox_stage,
    write_passed_conformance,
)
from tests.factories.plans import contract_of, two_stage_document
from tests.factories.problems import make_problem, published_problem, published_revision
from tests.factories.sql import REFUSED, insertion, insertion_refusal, refusal, write
from tests.factories.work import claimed_run, queued_run, stage_done
from verification.contracts.models import VerifierContract
from verification.contracts.services import publish_implementation
from verification.engine.plan import contract_findings
from verification.runs.models import StageResult, VerificationRun
from verification.runs.services import append_stage_result, begin_stage, finish_run
from verification.runs.services.claims import Claim

pytestmark = pytest.mark.django_db

FINISH_VERIFIED = (
    "UPDATE runs_verificationrun SET status = 'finished', result = 'verified', evidence_md = 'x', finished_at = now() "
    "WHERE id = %s"
)


def running(run: VerificationRun) -> Claim:
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key=sandbox_stage(run.contract).key, at=database_now())
    return claim


def result_row(run: VerificationRun, claim: Claim, **changes: object) -> dict[str, object]:
    """The columns of a StageResult that the database would take."""
    done = stage_done(run)
    row: dict[str, object] = {
        "run_id": run.pk, "position": 0, "stage_id": done.stage_id, "kind": "sandbox", "result": "verified",
        "claim_number": claim.number, "is_protected": False,
        "review_process_id": "", "protocol_hash": "", "casefile_hash": "", "review_evidence_hash": "",
        "external_system": "", "durable_reference": "", "rule_owner": "", "external_evidence_hash": "",
    }  # fmt: skip
    return row | done.mechanism.columns() | changes


def test_the_row_that_the_refusals_start_from_is_taken():
    run = queued_run()

    statement, parameters = insertion("runs_stageresult", result_row(run, running(run)))

    assert write(statement, *parameters) == 1


MECHANISMS = [
    {"review_process_id": "rpr_1", "protocol_hash": "x"},
    {"casefile_hash": "x"},
    {"external_system": "lab", "rule_owner": "contract"},
    {"attested_at": "2026-01-01"},
    {"durable_reference": "doi"},
    {"implementation_id": None},
    {"fixture_set_id": None},
    {"implementation_content_hash": ""},
    {"image_digest": ""},
    {"backend": ""},
    {"kind": "review"},
    {"kind": "external"},
    {"kind": ""},
]


def test_inv_03_exactly_the_mechanism_of_the_kind_is_filled():
    run = queued_run()
    claim = running(run)

    for changes in MECHANISMS:
        assert insertion_refusal("runs_stageresult", result_row(run, claim, **changes)) == REFUSED


def two_stage_run() -> tuple[VerificationRun, Claim]:
    contract = contract_of(two_stage_document())
    for stage in contract.stages.all():
        implementation = passed_implementation_of(contract, stage.key)
        assert implementation.stage == stage
    run = queued_run(revision=published_revision(make_problem(contract.created_by), contract))
    return run, running(run)


def passed_implementation_of(contract: VerifierContract, stage_key: str):
    implementation = publish_implementation(
        contract=contract,
        document=implementation_document(stage_key),
        author=contract.created_by,
        at=database_now(),
    )
    write_passed_conformance(implementation.conformance.get())
    return implementation


def second_row(run: VerificationRun, claim: Claim, **changes: object) -> dict[str, object]:
    second = run.contract.stages.get(key="second_check")
    implementation = second.implementations.get()
    return result_row(
        run,
        claim,
        position=1,
        stage_id=second.pk,
        implementation_id=implementation.pk,
        fixture_set_id=implementation.conformance.get().fixture_set_id,
        **changes,
    )


def test_inv_04_results_come_in_plan_order_without_gaps():
    run, claim = two_stage_run()

    assert insertion_refusal("runs_stageresult", second_row(run, claim)) == REFUSED
    assert insertion_refusal("runs_stageresult", second_row(run, claim) | {"position": 0}) == REFUSED
    assert insertion_refusal("runs_stageresult", result_row(run, claim, position=1)) == REFUSED


def test_inv_04_a_stage_has_one_result():
    run, claim = two_stage_run()
    append_stage_result(claim=claim, done=stage_done(run), at=database_now())

    assert insertion_refusal("runs_stageresult", result_row(run, claim)) == REFUSED
    assert insertion_refusal("runs_stageresult", result_row(run, claim, position=1)) == REFUSED


@pytest.mark.parametrize("result", ["refuted", "inconclusive", "error"])
def test_inv_04_nothing_follows_a_stage_that_did_not_pass(result):
    run, claim = two_stage_run()
    append_stage_result(claim=claim, done=stage_done(run, result), at=database_now())

    assert insertion_refusal("runs_stageresult", second_row(run, claim)) == REFUSED


def test_inv_04_another_claim_number_appends_nothing():
    run = queued_run()
    claim = running(run)

    for number in (0, 2):
        assert insertion_refusal("runs_stageresult", result_row(run, claim, claim_number=number)) == REFUSED


def test_inv_04_nothing_is_appended_before_the_run_runs_or_after_its_end():
    run = queued_run()
    claim = claimed_run(run)
    early = insertion_refusal("runs_stageresult", result_row(run, claim))
    begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    done = stage_done(run, "refuted")
    append_stage_result(claim=claim, done=done, at=database_now())
    finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code)

    late = insertion_refusal("runs_stageresult", result_row(run, claim, position=1))

    assert (early, late) == (REFUSED, REFUSED)


def test_inv_04_a_stage_of_another_contract_is_refused():
    run = queued_run()
    claim = running(run)
    other = contract_of(two_stage_document(), run.contract.created_by)

    row = result_row(run, claim, stage_id=other.stages.get(position=0).pk)

    assert insertion_refusal("runs_stageresult", row) == REFUSED


def test_inv_05_a_run_without_results_is_not_verified():
    run = queued_run()
    running(run)

    assert refusal(FINISH_VERIFIED, run.pk) == REFUSED


def test_inv_05_a_run_whose_last_stage_is_missing_is_not_verified():
    run, claim = two_stage_run()
    append_stage_result(claim=claim, done=stage_done(run), at=database_now())

    assert refusal(FINISH_VERIFIED, run.pk) == REFUSED
    with pytest.raises(IntegrityError):
        finish_run(claim=claim, at=database_now())


def test_inv_05_a_run_with_a_refuted_stage_is_not_verified():
    run = queued_run()
    claim = running(run)
    append_stage_result(claim=claim, done=stage_done(run, "refuted"), at=database_now())

    assert refusal(FINISH_VERIFIED, run.pk) == REFUSED


def test_inv_05_every_stage_passed_is_verified():
    run, claim = two_stage_run()
    append_stage_result(claim=claim, done=stage_done(run), at=database_now())
    second = run.contract.stages.get(key="second_check")
    done = stage_done(run)
    mechanism = dataclasses.replace(
        done.mechanism,
        implementation_id=second.implementations.get().pk,
        fixture_set_id=second.fixture_sets.get().pk,
    )
    append_stage_result(
        claim=claim,
        done=dataclasses.replace(done, stage_id=second.pk, stage_key=second.key, position=1, mechanism=mechanism),
        at=database_now(),
    )

    finished = finish_run(claim=claim, at=database_now())

    assert finished.result == "verified"
    assert [result.position for result in StageResult.objects.filter(run=run)] == [0, 1]


def test_inv_05_a_plan_without_a_stage_is_not_published():
    contract = published_problem().verifier_contract
    document = {"stages": []}

    draft = VerifierContract.objects.create(
        verifier=contract.verifier,
        number=99,
        statement_md="Nothing.",
        result_kind="pass_fail",
        summary="optional",
        normative_hash="sha256:" + "0" * 64,
        created_at=database_now(),
        created_by=contract.created_by,
    )

    assert refusal("UPDATE contracts_verifiercontract SET published_at = now() WHERE id = %s", draft.pk) == REFUSED
    assert [f.pointer for f in contract_findings(document) if f.pointer == "/stages"] == ["/stages"]


def test_inv_13_an_implementation_whose_conformance_is_pending_executes_nothing():
    run = queued_run()
    claim = running(run)
    pending = pending_implementation(run.contract, source={"uri": "urn:x", "revision": "2", "license": "MIT"})

    row = result_row(run, claim, implementation_id=pending.pk)

    assert insertion_refusal("runs_stageresult", row) == REFUSED


def test_inv_13_conformance_for_other_fixtures_does_not_count():
    run, claim = two_stage_run()
    other_set = run.contract.stages.get(key="second_check").fixture_sets.get()

    row = result_row(run, claim, fixture_set_id=other_set.pk)

    assert insertion_refusal("runs_stageresult", row) == REFUSED


def test_inv_13_a_passed_implementation_of_another_stage_does_not_count():
    run, claim = two_stage_run()
    second = run.contract.stages.get(key="second_check").implementations.get()

    row = result_row(run, claim, implementation_id=second.pk, fixture_set_id=second.conformance.get().fixture_set_id)

    assert insertion_refusal("runs_stageresult", row) == REFUSED


def test_inv_13_a_second_implementation_that_passed_may_execute():
    run = queued_run()
    claim = running(run)
    other = passed_implementation(run.contract, source={"uri": "urn:x", "revision": "2", "license": "MIT"})

    statement, parameters = insertion("runs_stageresult", result_row(run, claim, implementation_id=other.pk))

    assert write(statement, *parameters) == 1
