"""The fixture set of a stage as fixtures come and are retired."""

import pytest

from accounts.clock import database_now
from tests.factories.contracts import (
    file_of,
    passed_implementation,
    pending_implementation,
    sandbox_stage,
    sat_contract,
)
from verification.contracts.models import ConformanceFixture
from verification.contracts.selectors import current_sets, stage_capacity
from verification.contracts.services import add_fixture
from verification.contracts.services.publishing import renew_fixture_set

pytestmark = pytest.mark.django_db

OUT_OF_RANGE = b"v 1 2 3 4 5 6 7 8 9 10 0\n"


def out_of_range_fixture(contract):
    standing = contract.fixtures.first()
    instance = standing.files.get(slot__key="instance").blob
    return {
        "key": "out_of_range",
        "stage_key": standing.stage.key,
        "title": "A variable that the formula does not have",
        "reference": {
            "instance": {
                "filename": "small.cnf",
                "content_hash": instance.content_hash,
                "size_bytes": instance.size_bytes,
                "media_type": "text/plain",
            }
        },
        "artifacts": {"assignment": file_of(OUT_OF_RANGE, filename="out_of_range.txt")},
        "expected_result": "refuted",
        "expected_score": None,
    }


def retire(fixture, author):
    ConformanceFixture.objects.filter(pk=fixture.pk).move(
        retired_at=database_now(), retired_by=author, retire_reason="It was wrong."
    )
    return renew_fixture_set(stage=fixture.stage, at=database_now())


def test_adding_a_fixture_sends_every_implementation_back_to_conformance_and_keeps_the_hash():
    contract = sat_contract()
    implementation = passed_implementation(contract)
    author, before = contract.created_by, contract.normative_hash

    add_fixture(contract=contract, fixture=out_of_range_fixture(contract), author=author, at=database_now())

    capacity = stage_capacity(sandbox_stage(contract))
    contract.refresh_from_db()
    assert (capacity.current, capacity.pending) == (None, 1)
    assert sorted(implementation.conformance.values_list("status", flat=True)) == ["passed", "pending"]
    assert contract.normative_hash == before


def test_retiring_the_added_fixture_leads_back_to_the_earlier_set_and_its_record():
    contract = sat_contract()
    author = contract.created_by
    implementation = passed_implementation(contract)
    stage = sandbox_stage(contract)
    first = current_sets(stage).get()
    added = add_fixture(contract=contract, fixture=out_of_range_fixture(contract), author=author, at=database_now())
    later = pending_implementation(contract, source={"uri": "urn:x", "revision": "2", "license": "MIT"})

    renewed = retire(added, author)

    assert (renewed, current_sets(stage).get()) == (first, first)
    assert stage_capacity(stage).current == implementation
    assert later.conformance.filter(fixture_set=first).count() == 1
