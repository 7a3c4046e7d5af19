"""Invariants 6 to 9 and 12 by raw SQL and by the engine's rules: what the rows of a Contract may be."""

import copy

import pytest

from accounts.clock import database_now
from tests.factories.contracts import (
    implementation_document,
    passed_implementation,
    sandbox_stage,
    sat_contract,
    sat_document,
)
from tests.factories.plans import contract_of, measured_document, noted_document, scored_document, two_stage_document
from tests.factories.problems import make_problem, published_revision
from tests.factories.sql import REFUSED, TAKEN, insertion, insertion_refusal, refusal, row_of, write
from tests.factories.work import claimed_run, queued_run, stage_done
from verification.contracts.models import VerifierContract
from verification.engine.documents import validate_document
from verification.engine.plan import contract_findings, implementation_findings
from verification.runs.models import VerificationRun
from verification.runs.services import append_stage_result, begin_stage, finish_run

pytestmark = pytest.mark.django_db

ZERO_HASH = "sha256:" + "0" * 64
FILE = {"filename": "f", "content_hash": ZERO_HASH, "size_bytes": 1, "media_type": "text/plain"}
CONTRACT = "contracts_verifiercontract"


def scored_run() -> VerificationRun:
    contract = contract_of(scored_document())
    passed_implementation(contract)
    return queued_run(revision=published_revision(make_problem(contract.created_by), contract))


def ended(run: VerificationRun, result: str, score: float | None) -> VerificationRun:
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    done = stage_done(run, result, score=score)
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code, score=score)


def finish_sql(result: str, score: str) -> str:
    reason = "" if result == "verified" else "checker_" + result
    return (
        f"UPDATE runs_verificationrun SET status = 'finished', result = '{result}', reason_code = '{reason}', "
        f"score = {score}, evidence_md = 'x', finished_at = now() WHERE id = %s"
    )


def test_inv_06_a_scored_contract_gives_a_verified_run_its_exact_score():
    finished = ended(scored_run(), "verified", 5.25)

    assert (finished.result, finished.score) == ("verified", 5.25)


def test_inv_06_a_scored_run_is_verified_with_a_score_or_not_at_all():
    run = scored_run()
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    append_stage_result(claim=claim, done=stage_done(run, score=5.0), at=database_now())

    assert refusal(finish_sql("verified", "NULL"), run.pk) == REFUSED
    assert refusal(finish_sql("refuted", "5"), run.pk) == REFUSED
    assert write(finish_sql("verified", "5"), run.pk) == 1


def test_inv_06_a_run_under_a_pass_fail_contract_has_no_score():
    run = queued_run()
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    append_stage_result(claim=claim, done=stage_done(run), at=database_now())

    assert refusal(finish_sql("verified", "1"), run.pk) == REFUSED


@pytest.mark.parametrize(
    "changes",
    [
        {"score_name": "Clauses"},
        {"score_unit": "s"},
        {"score_direction": "maximize"},
        {"score_minimum": 0.0},
        {"score_decimals": 2},
        {"result_kind": "score"},
        {"result_kind": "score", "score_name": "Clauses"},
        {"result_kind": "other", "score_name": "Clauses", "score_direction": "maximize"},
    ],
)
def test_inv_06_the_score_block_is_there_exactly_when_the_contract_is_scored(changes):
    draft = row_of(CONTRACT, draft_contract().pk)
    another = draft | {"id": "vct_" + "0" * 26, "number": 98, "normative_hash": ZERO_HASH[:-1] + "1"}

    assert insertion_refusal(CONTRACT, another | changes) == REFUSED


def draft_contract() -> VerifierContract:
    """A Contract row that is not published, as only a crash between two statements could leave it."""
    contract = sat_contract()
    return VerifierContract.objects.create(
        verifier=contract.verifier,
        number=99,
        statement_md="A draft.",
        result_kind="pass_fail",
        summary="optional",
        normative_hash=ZERO_HASH,
        created_at=database_now(),
        created_by=contract.created_by,
    )


PARTS = ["contracts_contractstage", "contracts_referenceslot", "contracts_artifactrole"]


@pytest.mark.parametrize("table", PARTS)
def test_inv_07_a_key_stands_once_within_a_contract(table):
    draft = draft_contract()
    row = first_row(table) | {"contract_id": draft.pk, "position": 0}
    statement, parameters = insertion(table, row)
    write(statement, *parameters)

    assert insertion_refusal(table, row | {"position": 1}) == TAKEN
    assert insertion_refusal(table, row | {"key": "another"}) == TAKEN
    for key in ("", "Upper", "1st", "a" * 64, "a-b", "ä"):
        assert insertion_refusal(table, row | {"key": key, "position": 1}) in {REFUSED, "22001"}


def test_inv_07_a_fixture_key_stands_once_within_a_contract():
    contract = contract_of(two_stage_document())
    fixture = row_of("contracts_conformancefixture", "satisfying", column="key")
    del fixture["id"]
    another = fixture | {"stage_id": contract.stages.get(position=1).pk, "inputs_hash": ZERO_HASH, "position": 9}

    assert insertion_refusal("contracts_conformancefixture", another) == TAKEN


@pytest.mark.parametrize(
    ("member", "code"),
    [
        ("stages", "duplicate_stage_key"),
        ("reference_inputs", "duplicate_slot_key"),
        ("conformance_fixtures", "duplicate_fixture_key"),
    ],
)
def test_inv_07_a_document_with_a_key_twice_is_refused(member, code):
    document = sat_document()
    document[member].append(copy.deepcopy(document[member][0]))

    assert code in {finding.code for finding in contract_findings(document)}


def first_row(table: str) -> dict[str, object]:
    sat = VerifierContract.objects.get(number=1)
    row = row_of(table, sat.pk, column="contract_id")
    del row["id"]
    # psycopg reads jsonb as Python values, and writes them only when it is told that they are JSON.
    if "evidence_schema" in row:
        row["evidence_schema"] = None
    return row


def test_inv_08_a_sandbox_stage_without_a_fixture_keeps_its_contract_a_draft():
    draft = draft_contract()
    statement, parameters = insertion(
        "contracts_contractstage", first_row("contracts_contractstage") | {"contract_id": draft.pk}
    )
    write(statement, *parameters)

    assert refusal(f"UPDATE {CONTRACT} SET published_at = now() WHERE id = %s", draft.pk) == REFUSED
    without = sat_document() | {"conformance_fixtures": []}
    assert [finding.code for finding in contract_findings(without)] == ["stage_without_fixture"]


def test_inv_08_a_fixture_names_a_sandbox_stage_of_its_own_contract():
    contract = contract_of(measured_document())
    other = contract_of(sat_document(), contract.created_by)
    fixture = row_of("contracts_conformancefixture", contract.pk, column="contract_id")
    del fixture["id"]
    new = fixture | {"key": "new", "position": 9, "inputs_hash": ZERO_HASH}

    external = new | {"stage_id": contract.stages.get(kind="external").pk}
    foreign = new | {"stage_id": sandbox_stage(other).pk}

    assert insertion_refusal("contracts_conformancefixture", external) == REFUSED
    assert insertion_refusal("contracts_conformancefixture", foreign) == REFUSED


def test_inv_08_a_fixture_gives_files_for_roles_of_its_own_contract():
    contract = sat_contract()
    other = contract_of(two_stage_document(), contract.created_by)
    file = row_of("contracts_fixturefile", contract.roles.get().pk, column="role_id")
    del file["id"]

    foreign = file | {"role_id": other.roles.get().pk}

    assert insertion_refusal("contracts_fixturefile", foreign) == REFUSED
    assert insertion_refusal("contracts_fixturefile", file) == TAKEN


def test_inv_09_a_fixture_without_a_required_slot_is_refused_when_its_transaction_ends():
    sat_contract()
    fixture = row_of("contracts_conformancefixture", "satisfying", column="key")
    del fixture["id"]

    unbound = fixture | {"key": "unbound", "position": 9, "inputs_hash": ZERO_HASH}

    assert insertion_refusal("contracts_conformancefixture", unbound) == REFUSED


def test_inv_09_a_fixture_binds_no_slot_that_its_stage_does_not_select():
    contract = contract_of(noted_document(is_selected=False))
    notes = contract.slots.get(key="notes")
    file = row_of("contracts_fixturefile", contract.slots.get(key="instance").pk, column="slot_id")
    del file["id"]

    assert insertion_refusal("contracts_fixturefile", file | {"slot_id": notes.pk}) == REFUSED


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        (lambda fixture: fixture["reference"].clear(), "fixture_slot_missing"),
        (lambda fixture: fixture["reference"].update(other=fixture["reference"]["instance"]), "fixture_slot_unknown"),
        (
            lambda fixture: fixture["reference"].update(notes=fixture["reference"]["instance"]),
            "fixture_slot_unselected",
        ),
        (lambda fixture: fixture["artifacts"].update(other=fixture["artifacts"]["assignment"]), "fixture_role_unknown"),
        (lambda fixture: fixture.update(stage_key="other"), "fixture_stage_unknown"),
    ],
)
def test_inv_09_a_document_whose_fixture_binds_otherwise_is_refused(break_it, code):
    document = noted_document(is_selected=False)
    break_it(document["conformance_fixtures"][0])

    assert [finding.code for finding in contract_findings(document)] == [code]


def test_inv_12_an_implementation_names_a_sandbox_stage_of_its_contract():
    contract = contract_of(measured_document())
    implementation = row_of("contracts_verifierimplementation", passed_implementation(contract).pk)
    new = implementation | {"id": "vim_" + "0" * 26, "number": 2, "content_hash": ZERO_HASH}

    external = new | {"stage_id": contract.stages.get(kind="external").pk}

    assert insertion_refusal("contracts_verifierimplementation", external) == REFUSED
    assert insertion_refusal("contracts_verifierimplementation", new | {"network": "host"}) == REFUSED


def test_inv_12_a_document_with_a_network_or_another_stage_is_refused():
    networked = implementation_document()
    networked["limits"]["network"] = "bridge"
    elsewhere = implementation_document(stage_key="laboratory_measurement")

    assert [f.pointer for f in validate_document("verifier-implementation", networked)] == ["/limits/network"]
    assert [f.pointer for f in implementation_findings(measured_document(), elsewhere)] == ["/stage_key"]
