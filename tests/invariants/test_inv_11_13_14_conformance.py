"""Invariants 11, 13 and 14 by raw SQL: protocols that may be pinned, conformance that counts, a frozen plan."""

import copy

import pytest

from accounts.clock import database_now
from tests.factories.contracts import (
    file_of,
    open_record,
    passed_implementation,
    pending_implementation,
    sandbox_stage,
    sat_contract,
)
from tests.factories.people import make_author
from tests.factories.plans import contract_of, example_stage, two_stage_document
from tests.factories.problems import published_problem
from tests.factories.protocols import published_protocol
from tests.factories.sql import (
    NOT_GRANTED,
    REFUSED,
    TAKEN,
    insertion,
    insertion_refusal,
    owner_refusal,
    refusal,
    row_of,
    write,
)
from verification.contracts.documents import contract_document
from verification.contracts.models import ConformanceRecord, FixtureSet
from verification.contracts.selectors import full_contracts
from verification.contracts.services import ContractRefused, add_fixture, claim_conformance
from verification.engine.documents import DocumentRefused
from verification.engine.hashes import normative_hash

pytestmark = pytest.mark.django_db

ZERO_HASH = "sha256:" + "0" * 64
PASS = "UPDATE contracts_conformancerecord SET status = 'passed', fixtures_passed = fixtures_total WHERE id = %s"
RECORD = "contracts_conformancerecord"
RUN = "contracts_conformancerun"
YANK = "UPDATE {} SET yanked_at = now(), yanked_by_id = (SELECT min(id) FROM accounts_user), yank_reason = 'x'"


def reviewed_document(protocol_hash: str):
    document = two_stage_document()
    stage = example_stage("review") | {"protocol_hash": protocol_hash, "review_protocol_id": None}
    document["stages"].append(stage)
    return document


def test_inv_11_a_review_stage_pins_a_published_acceptance_protocol():
    protocol = published_protocol()

    contract = contract_of(reviewed_document(protocol.protocol_hash))

    assert contract.stages.get(kind="review").review_protocol == protocol


def test_inv_11_an_unknown_or_yanked_protocol_is_refused():
    protocol = published_protocol()
    write(YANK.format("reviews_reviewprotocol"))

    for named in (protocol.protocol_hash, ZERO_HASH):
        with pytest.raises(ContractRefused) as refused:
            contract_of(reviewed_document(named))
        assert [finding.pointer for finding in refused.value.findings] == ["/stages/2/protocol_hash"]


def test_inv_11_no_protocol_with_another_purpose_or_subject_is_published():
    for change in ({"purpose": "qualification"}, {"subject_kind": "problem"}):
        with pytest.raises(DocumentRefused) as refused:
            published_protocol(**change)
        assert [finding.pointer for finding in refused.value.findings] == [f"/{key}" for key in change]


def test_inv_11_the_database_refuses_such_a_stage_too():
    contract = sat_contract(make_author())
    protocol = published_protocol()
    write(YANK.format("reviews_reviewprotocol"))
    stage = row_of("contracts_contractstage", contract.pk, column="contract_id")
    del stage["id"]
    draft = row_of("contracts_verifiercontract", contract.pk) | {
        "id": "vct_" + "0" * 26, "number": 9, "normative_hash": ZERO_HASH, "published_at": None,
    }  # fmt: skip
    statement, parameters = insertion("contracts_verifiercontract", draft)
    write(statement, *parameters)

    pinning = stage | {
        "contract_id": draft["id"], "kind": "review", "review_protocol_id": protocol.pk, "evidence_schema": None,
    }  # fmt: skip

    assert insertion_refusal("contracts_contractstage", pinning) == REFUSED


def test_inv_13_a_conformance_record_begins_pending():
    record = row_of(RECORD, open_record(pending_implementation(sat_contract())).pk)
    del record["id"]
    another = FixtureSet.objects.create(
        stage=FixtureSet.objects.get().stage, content_hash=ZERO_HASH, created_at=database_now()
    )

    passed = record | {"fixture_set_id": another.pk, "status": "passed", "fixtures_passed": record["fixtures_total"]}

    assert insertion_refusal(RECORD, passed) == REFUSED
    assert insertion_refusal(RECORD, record) == TAKEN


def test_inv_13_a_record_is_of_the_implementations_own_stage():
    contract = contract_of(two_stage_document())
    record = row_of(RECORD, open_record(pending_implementation(contract)).pk)
    del record["id"]

    foreign = record | {"fixture_set_id": contract.stages.get(position=1).fixture_sets.get().pk}

    assert insertion_refusal(RECORD, foreign) == REFUSED


def test_inv_13_conformance_does_not_pass_before_every_fixture_was_reproduced_twice():
    record = open_record(pending_implementation(sat_contract()))
    unclaimed = refusal(PASS, record.pk)
    claim = claim_conformance(record_id=record.pk, holder="worker", at=database_now())
    fixtures = list(record.fixture_set.fixtures.all())
    run = {
        "record_id": record.pk, "claim_number": claim.number, "matches": True, "actual_result": "verified",
        "reason_code": "", "backend": "process", "wall_s": 0.1, "log_truncated": False, "evidence_digest": "",
        "executed_at": database_now(),
    }  # fmt: skip
    wanted = [(fixture, disguised) for fixture in fixtures for disguised in (False, True)]
    refused = []
    for place, (fixture, disguised) in enumerate(wanted):
        refused.append(refusal(PASS, record.pk))
        insert(run | {"id": f"cfx_{place:026}", "fixture_id": fixture.pk, "is_disguised": disguised})

    assert [unclaimed, *refused] == [REFUSED] * 9
    assert write(PASS, record.pk) == 1


def insert(row):
    statement, parameters = insertion(RUN, row)
    write(statement, *parameters)


def test_inv_13_runs_of_another_claim_or_that_do_not_match_do_not_count():
    implementation = passed_implementation(sat_contract())
    record = open_record(implementation)
    stale = row_of(RUN, record.pk, column="record_id")

    assert insertion_refusal(RUN, stale | {"id": "cfx_" + "0" * 26, "claim_number": 7}) == REFUSED
    assert refusal(f"UPDATE {RUN} SET matches = true") == NOT_GRANTED


def test_inv_13_a_decided_record_is_final():
    record = open_record(passed_implementation(sat_contract()))

    for change in ("status = 'pending'", "status = 'failed'", "fixtures_passed = 0", "claim_number = 9"):
        assert refusal(f"UPDATE {RECORD} SET {change} WHERE id = %s", record.pk) == REFUSED
    assert refusal(f"UPDATE {RECORD} SET fixtures_total = 0") == NOT_GRANTED
    assert refusal(f"DELETE FROM {RECORD}") == NOT_GRANTED


def test_inv_14_no_part_of_a_published_plan_is_added():
    contract = sat_contract()
    refused = []
    for table in ("contracts_contractstage", "contracts_referenceslot", "contracts_artifactrole"):
        row = row_of(table, contract.pk, column="contract_id")
        del row["id"]
        if "evidence_schema" in row:
            row["evidence_schema"] = None
        refused.append(insertion_refusal(table, row | {"key": "another", "position": 9}))
    stage_slot = {"stage_id": sandbox_stage(contract).pk, "slot_id": contract.slots.get().pk, "position": 1}
    refused.append(insertion_refusal("contracts_stageslot", stage_slot))

    assert refused == [REFUSED] * 4


FROZEN = [
    "UPDATE contracts_verifiercontract SET statement_md = 'rewritten'",
    f"UPDATE contracts_verifiercontract SET normative_hash = '{ZERO_HASH}'",
    "UPDATE contracts_verifiercontract SET result_kind = 'score'",
    "UPDATE contracts_referenceslot SET max_bytes = 1",
    "UPDATE contracts_referenceslot SET validator_builtin = ''",
    "UPDATE contracts_contractstage SET title = 'rewritten'",
    "UPDATE contracts_artifactrole SET key = 'other'",
    "UPDATE contracts_stageslot SET position = 4",
    "UPDATE contracts_conformancefixture SET expected_result = 'inconclusive'",
    "UPDATE contracts_fixturefile SET filename = 'x'",
    f"UPDATE contracts_fixtureset SET content_hash = '{ZERO_HASH}'",
    f"UPDATE contracts_verifierimplementation SET image_digest = '{ZERO_HASH}'",
    "UPDATE contracts_verifierimplementation SET timeout_seconds = 1",
    "DELETE FROM contracts_verifiercontract",
    "DELETE FROM contracts_conformancefixture",
    "DELETE FROM contracts_fixturefile",
    "DELETE FROM contracts_verifierimplementation",
]


def test_inv_14_the_role_may_not_rewrite_a_plan():
    published_problem()

    assert [refusal(statement) for statement in FROZEN] == [NOT_GRANTED] * len(FROZEN)


@pytest.mark.django_db(transaction=True)
def test_inv_14_the_triggers_refuse_the_owner_too(database_urls):
    published_problem()

    refused = [
        owner_refusal(database_urls["owner"], "SET pgtrigger.ignore = '{all}'", statement) for statement in FROZEN
    ]

    assert refused == [REFUSED] * len(FROZEN)


def test_inv_14_publication_is_not_taken_back():
    contract = sat_contract()

    for change in ("published_at = NULL", "published_at = clock_timestamp()"):
        statement = f"UPDATE contracts_verifiercontract SET {change} WHERE id = %s"
        assert refusal(statement, contract.pk) == REFUSED


@pytest.mark.parametrize(
    ("table", "stamp", "reason"),
    [
        ("contracts_verifiercontract", "yank", "yank_reason"),
        ("contracts_verifierimplementation", "yank", "yank_reason"),
        ("reviews_reviewprotocol", "yank", "yank_reason"),
        ("contracts_conformancefixture", "retir", "retire_reason"),
    ],
)
def test_inv_14_one_yank_or_retirement_with_its_reason_for_good(table, stamp, reason):
    published_problem()
    published_protocol()
    once = f"UPDATE {table} SET {stamp}ed_at = now(), {stamp}ed_by_id = (SELECT min(id) FROM accounts_user)"
    nameless = refusal(f"{once}, {reason} = ''")
    write(f"{once}, {reason} = 'wrong formula'")

    for change in (f"{stamp}ed_at = clock_timestamp()", f"{stamp}ed_at = NULL, {reason} = ''", f"{reason} = 'another'"):
        assert refusal(f"UPDATE {table} SET {change}") == REFUSED
    assert nameless == REFUSED


def test_inv_14_a_new_fixture_sends_every_implementation_of_its_stage_back_to_conformance():
    contract = contract_of(two_stage_document())
    first = passed_implementation(contract)
    hashed = normative_hash_of(contract)
    fixture = copy.deepcopy(two_stage_document()["conformance_fixtures"][0])
    answer = file_of(b"v 1 2 3 4 5 6 0\n", filename="claim.txt")
    fixture |= {"key": "claimed", "artifacts": {"assignment": answer}, "expected_result": "refuted"}

    add_fixture(contract=contract, fixture=fixture, author=contract.created_by, at=database_now())

    records = ConformanceRecord.objects.filter(implementation=first).order_by("pk")
    assert [record.status for record in records] == ["passed", "pending"]
    assert [record.fixtures_total for record in records] == [4, 5]
    assert normative_hash_of(contract) == hashed
    assert contract.stages.get(position=1).fixture_sets.count() == 1


def normative_hash_of(contract):
    fresh = full_contracts().get(pk=contract.pk)
    assert normative_hash(contract_document(fresh)) == fresh.normative_hash
    return fresh.normative_hash
