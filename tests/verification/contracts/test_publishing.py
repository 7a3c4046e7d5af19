"""Publishing Contracts, fixtures and Implementations: reuse, refusal, and nothing half-written."""

import copy
import json

import pytest

from accounts.clock import database_now
from blobs.models import BlobHold
from tests.factories.contracts import (
    file_of,
    implementation_document,
    make_verifier,
    passed_implementation,
    pending_implementation,
    sat_contract,
    sat_document,
    store_sat_fixtures,
)
from tests.factories.people import make_author
from tests.factories.plans import contract_of, example_stage, scored_document, sealed_document, two_stage_document
from tests.factories.protocols import protocol_content, published_protocol
from tests.factories.sql import write
from verification.contracts.models import ConformanceFixture, FixtureSet, VerifierContract
from verification.contracts.services import ContractRefused, add_fixture, publish_contract, publish_implementation

pytestmark = pytest.mark.django_db


def codes(call) -> list[str]:
    with pytest.raises(ContractRefused) as refused:
        call()
    return [finding.code for finding in refused.value.findings]


def claimed_fixture(**changes):
    fixture = copy.deepcopy(sat_document()["conformance_fixtures"][0])
    answer = file_of(b"v 1 2 3 4 5 6 0\n", filename="claim.txt")
    return fixture | {"key": "claimed", "artifacts": {"assignment": answer}, "expected_result": "refuted"} | changes


def test_the_same_acceptance_statement_is_the_same_contract():
    first, second = sat_contract(), sat_contract()

    assert first == second
    assert VerifierContract.objects.count() == 1
    assert ConformanceFixture.objects.count() == 4


def test_another_statement_is_the_next_contract():
    author = make_author()

    numbers = [sat_contract(author).number, sat_contract(author, statement_md="Something else.").number]

    assert numbers == [1, 2]


def test_publishing_again_with_more_fixtures_appends_them():
    contract = sat_contract()
    implementation = passed_implementation(contract)
    document = sat_document()
    document["conformance_fixtures"].append(claimed_fixture())

    again = contract_of(document, contract.created_by)

    assert again == contract
    assert [fixture.key for fixture in again.fixtures.all()][-1] == "claimed"
    assert [record.status for record in implementation.conformance.order_by("pk")] == ["passed", "pending"]
    assert FixtureSet.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"key": "satisfying"}, "duplicate_fixture_key"),
        ({"stage_key": "elsewhere"}, "fixture_stage_unknown"),
        ({"reference": {}}, "fixture_slot_missing"),
        ({"artifacts": {"other": None}}, "type"),
        ({"expected_result": "error"}, "enum"),
        ({"expected_score": 3.0}, "fixture_score_unexpected"),
        ({"key": "Not A Key"}, "pattern"),
    ],
)
def test_a_fixture_that_breaks_a_rule_is_refused(changes, code):
    contract = sat_contract()
    fixture = claimed_fixture(**changes)

    found = codes(
        lambda: add_fixture(contract=contract, fixture=fixture, author=contract.created_by, at=database_now())
    )

    assert len(found) == 1
    assert contract.fixtures.count() == 4


def test_the_same_inputs_with_another_expectation_are_refused():
    contract = sat_contract()
    fixture = sat_document()["conformance_fixtures"][0] | {"key": "contrary", "expected_result": "refuted"}

    found = codes(
        lambda: add_fixture(contract=contract, fixture=fixture, author=contract.created_by, at=database_now())
    )

    assert found == ["fixture_conflict"]


def test_a_retired_fixture_makes_room_for_the_right_expectation():
    contract = sat_contract()
    write(
        "UPDATE contracts_conformancefixture SET retired_at = now(), retired_by_id = created_by_id, "
        "retire_reason = 'wrong' WHERE key = 'satisfying'"
    )
    fixture = sat_document()["conformance_fixtures"][0] | {"key": "contrary", "expected_result": "refuted"}

    add_fixture(contract=contract, fixture=fixture, author=contract.created_by, at=database_now())

    newest = FixtureSet.objects.order_by("-pk")[0]
    assert sorted(f.key for f in newest.fixtures.all()) == ["contrary", "falsified_clause", "incomplete", "unreadable"]


def test_only_authors_of_a_verifier_add_to_it():
    contract, stranger = sat_contract(), make_author()
    other = sat_document() | {"statement_md": "Something else."}
    grown = sat_document()
    grown["conformance_fixtures"].append(claimed_fixture())

    attempts = [
        lambda: contract_of(other, stranger),
        lambda: contract_of(grown, stranger),
        lambda: add_fixture(contract=contract, fixture=claimed_fixture(), author=stranger, at=database_now()),
        lambda: publish_implementation(
            contract=contract, document=implementation_document(), author=stranger, at=database_now()
        ),
    ]

    assert [codes(attempt) for attempt in attempts] == [["not_an_author"]] * 4
    assert contract_of(sat_document(), stranger) == contract


BROKEN = {
    "unknown member": {"comment": "x"},
    "no stage": {"stages": []},
    "no statement": {"statement_md": ""},
    "score without block": {"result_kind": "score"},
    "no fixture": {"conformance_fixtures": []},
    "nothing to submit": {"submission_requirements": {"required_artifacts": [], "summary": "refused"}},
    "deferred without a sealed slot": {"sealing": {"verdict_release": "with_labels", "score_release": "immediate"}},
    "another schema": {"schema": "tfp.verifier-contract/v2"},
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_a_document_that_breaks_a_rule_leaves_nothing_behind(change):
    with pytest.raises(ContractRefused):
        sat_contract(**change)

    assert VerifierContract.objects.count() == 0


def test_every_violated_rule_is_told_at_once():
    document = sat_document() | {"conformance_fixtures": []}
    document["sealing"]["score_release"] = "with_labels"
    document["submission_requirements"] = {"required_artifacts": [], "summary": "refused"}

    found = codes(lambda: contract_of(document))

    assert sorted(found) == ["requirements_empty", "sealing_without_sealed_slot", "stage_without_fixture"]


def test_a_validator_that_this_platform_does_not_have_is_refused():
    document = sat_document()
    document["reference_inputs"][0]["validator"] = {"builtin": "unheard-of"}

    assert codes(lambda: contract_of(document)) == ["validator_unknown"]


def test_a_fixture_whose_bytes_are_not_stored_leaves_nothing_behind():
    author = make_author()
    verifier = make_verifier(author)

    found = codes(
        lambda: publish_contract(verifier=verifier, document=sat_document(), author=author, at=database_now())
    )

    assert found == ["bytes_missing"]
    assert (VerifierContract.objects.count(), BlobHold.objects.filter(holder_kind="fixture").count()) == (0, 0)


def test_a_fixture_whose_size_is_stated_wrongly_is_refused():
    document = sat_document()
    document["conformance_fixtures"][0]["artifacts"]["assignment"]["size_bytes"] += 1

    assert codes(lambda: contract_of(document)) == ["size_differs"]


def test_a_sealed_slot_and_a_protocol_that_reveals_it_do_not_go_together():
    content = json.loads(protocol_content())
    protocol = published_protocol(casefile=content["casefile"] | {"sealed_slots": "reveal"})
    document = sealed_document()
    stage = example_stage("review") | {"protocol_hash": protocol.protocol_hash, "review_protocol_id": None}
    document["stages"].append(stage)

    assert codes(lambda: contract_of(document)) == ["review_reveals_sealed"]


def test_a_yanked_contract_is_found_again_and_stays_yanked():
    contract = sat_contract()
    write(
        "UPDATE contracts_verifiercontract SET yanked_at = now(), yanked_by_id = created_by_id, yank_reason = 'wrong'"
    )

    assert sat_contract(contract.created_by).yank_reason == "wrong"


def test_the_same_implementation_is_published_once():
    contract = sat_contract()

    first, second = pending_implementation(contract), pending_implementation(contract)

    assert first == second
    assert first.conformance.count() == 1


def test_an_implementation_with_another_limit_is_another_one():
    contract = sat_contract()
    limits = implementation_document()["limits"] | {"timeout_seconds": 21}

    numbers = [pending_implementation(contract).number, pending_implementation(contract, limits=limits).number]

    assert numbers == [1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"stage_key": "elsewhere"},
        {"limits": {}},
        {"runtime": {"image_ref": "tfp-builtin/sat-assignment:1", "image_digest": "latest"}},
        {"program": {"filename": "../check.py", "content_hash": "sha256:" + "0" * 64, "size_bytes": 1}},
        {"program": {"filename": "check.py", "content_hash": "sha256:" + "0" * 64, "size_bytes": 1}},
        {"source": None},
    ],
)
def test_an_implementation_that_breaks_a_rule_leaves_nothing_behind(changes):
    contract = sat_contract()
    document = implementation_document() | changes

    found = codes(
        lambda: publish_implementation(
            contract=contract, document=document, author=contract.created_by, at=database_now()
        )
    )

    assert len(found) >= 1
    assert contract.implementations.count() == 0


def test_a_second_stage_has_fixture_sets_of_its_own():
    contract = contract_of(two_stage_document())

    totals = {s.stage.key: s.fixtures.count() for s in FixtureSet.objects.filter(stage__contract=contract)}

    assert totals == {"assignment_check": 4, "second_check": 1}


def test_a_scored_contract_keeps_its_score_block():
    contract = contract_of(scored_document())

    assert (contract.score_name, contract.score_maximum, contract.score_decimals) == ("Clauses satisfied", 1000.0, 1)


def test_the_fixtures_bytes_are_held_by_the_contract():
    store_sat_fixtures()
    contract = sat_contract()

    holds = BlobHold.objects.filter(holder_kind="fixture", holder_id__startswith=contract.pk)

    assert holds.count() == 8
