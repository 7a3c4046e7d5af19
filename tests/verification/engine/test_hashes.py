"""What each hash covers and what it leaves out."""

import copy
import hashlib
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import bindings, contracts, files, hashes, keys, leaves, shuffled, texts, with_leaf
from verification.engine.hashes import (
    CommitmentRefused,
    commitment,
    commitment_of_chunks,
    fixture_inputs_hash,
    fixture_set_hash,
    implementation_content_hash,
    normative_hash,
    normative_part,
    revision_content_hash,
    validator_key,
)

SALT = bytes(range(32))
IMPLEMENTATION: dict[str, Any] = {
    "schema": "tfp.verifier-implementation/v1",
    "stage_key": "check",
    "runtime": {"image_ref": "tfp-runtime/python:1", "image_digest": "sha256:" + "a" * 64},
    "program": {"filename": "check.py", "content_hash": "sha256:" + "b" * 64, "size_bytes": 10},
    "limits": {"vcpu": 1, "memory_mb": 64, "disk_mb": 64, "timeout_seconds": 10, "pids": 8, "network": "none"},
    "source": {"uri": "https://code.example/check", "revision": "1", "license": "MIT"},
}


@settings(max_examples=30, deadline=None)
@given(contract=contracts(), random=st.randoms())
def test_the_order_of_members_never_changes_a_normative_hash(contract: dict[str, Any], random: Random):
    assert normative_hash(shuffled(contract, random)) == normative_hash(contract)


@settings(max_examples=30, deadline=None)
@given(contract=contracts(), data=st.data())
def test_inv_14_any_changed_normative_leaf_changes_the_normative_hash(contract: dict[str, Any], data: st.DataObject):
    part = normative_part(contract)
    path = data.draw(st.sampled_from(leaves(part)))
    changed = with_leaf(part, path, "another value than any that is drawn")

    assert normative_hash({**contract, **changed}) != normative_hash(contract)


@settings(max_examples=30, deadline=None)
@given(contract=contracts(), data=st.data())
def test_inv_14_no_change_of_a_fixture_changes_the_normative_hash(contract: dict[str, Any], data: st.DataObject):
    path = data.draw(st.sampled_from(leaves(contract["conformance_fixtures"])))
    changed = with_leaf(contract["conformance_fixtures"], path, "anything")

    assert normative_hash({**contract, "conformance_fixtures": changed}) == normative_hash(contract)
    assert normative_hash({**contract, "conformance_fixtures": []}) == normative_hash(contract)


@settings(max_examples=30, deadline=None)
@given(contract=contracts())
def test_the_local_id_of_a_protocol_and_the_contract_do_not_count(contract: dict[str, Any]):
    elsewhere = copy.deepcopy(contract) | {"id": "vct_" + "0" * 26, "version": 7}
    for stage in elsewhere["stages"]:
        if stage["kind"] == "review":
            stage["review_protocol_id"] = "rvp_" + "0" * 26

    assert normative_hash(elsewhere) == normative_hash(contract)


@settings(max_examples=30, deadline=None)
@given(contract=contracts(), data=st.data())
def test_a_fixture_set_has_no_order_and_no_titles(contract: dict[str, Any], data: st.DataObject):
    fixtures = contract["conformance_fixtures"]
    reordered = [{**fixture, "title": "another"} for fixture in data.draw(st.permutations(fixtures))]

    assert fixture_set_hash(reordered) == fixture_set_hash(fixtures)


@settings(max_examples=30, deadline=None)
@given(contract=contracts(), file=files("another place"))
def test_a_fixture_set_changes_with_every_input_and_expectation(contract: dict[str, Any], file: dict[str, Any]):
    first = contract["conformance_fixtures"][0]
    role = next(iter(first["artifacts"]))
    old = first["artifacts"][role]
    changes = [
        {**first, "key": first["key"] + "_b"},
        {**first, "artifacts": {**first["artifacts"], role: {**old, "content_hash": "sha256:" + "0" * 64}}},
        {**first, "artifacts": {**first["artifacts"], role: {**old, "filename": old["filename"] + "b"}}},
        {**first, "artifacts": {**first["artifacts"], role: {**old, "media_type": "image/png"}}},
        {**first, "reference": {**first["reference"], "another_slot": file}},
        {**first, "summary_md": "A summary."},
        {**first, "expected_score": -1},
        {**first, "expected_result": "error"},
    ]

    found = {fixture_set_hash([first]), *(fixture_set_hash([changed]) for changed in changes)}

    assert len(found) == 1 + len(changes)


@settings(max_examples=30, deadline=None)
@given(contract=contracts())
def test_a_retired_fixture_is_no_part_of_the_set(contract: dict[str, Any]):
    fixtures = contract["conformance_fixtures"]
    retired = {**fixtures[0], "key": "old", "retirement": {"retired_at": "2026-01-01T00:00:00Z"}}

    assert fixture_set_hash([*fixtures, retired]) == fixture_set_hash(fixtures)


@settings(max_examples=30, deadline=None)
@given(contract=contracts(), name=texts)
def test_equal_bytes_are_equal_inputs_whatever_they_are_called(contract: dict[str, Any], name: str):
    fixture = contract["conformance_fixtures"][0]
    renamed = copy.deepcopy(fixture) | {"key": "other", "title": name, "expected_result": "refuted"}
    for file in renamed["artifacts"].values():
        file |= {"filename": name, "media_type": "image/png"}

    assert fixture_inputs_hash(renamed) == fixture_inputs_hash(fixture)
    assert fixture_inputs_hash({**fixture, "summary_md": name}) != fixture_inputs_hash(fixture)


@settings(deadline=None)
@given(path=st.sampled_from(leaves({name: value for name, value in IMPLEMENTATION.items() if name != "schema"})))
def test_every_leaf_of_an_implementation_counts(path: tuple[str | int, ...]):
    changed = with_leaf(IMPLEMENTATION, path, "another")

    assert implementation_content_hash(changed) != implementation_content_hash(IMPLEMENTATION)


def test_ids_record_and_yank_of_an_implementation_do_not_count():
    registered = IMPLEMENTATION | {
        "id": "vim_" + "0" * 26,
        "verifier_contract_id": "vct_" + "0" * 26,
        "conformance": {"status": "passed"},
        "yank": {"reason_md": "Wrong."},
    }

    assert implementation_content_hash(registered) == implementation_content_hash(IMPLEMENTATION)


def _revision(bound: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "statement_md": "Find one.",
        "verifier_contract_id": "vct_" + "0" * 26,
        "normative_hash": "sha256:" + "0" * 64,
        "skill_id": None,
        "skill_content_hash": None,
        "verifier_input_bindings": bound,
    }


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_revision_hashes_alike_for_those_who_see_sealed_hashes_and_those_who_do_not(data: st.DataObject):
    bound = data.draw(contracts().flatmap(bindings))
    hidden = [{**b, "content_hash": None, "size_bytes": None} if "commitment" in b else b for b in bound]
    elsewhere = _revision(data.draw(st.permutations(hidden))) | {"verifier_contract_id": "vct_" + "1" * 26}

    assert revision_content_hash(elsewhere) == revision_content_hash(_revision(bound))


@settings(deadline=None)
@given(commitments=st.lists(hashes, min_size=2, max_size=2, unique=True))
def test_another_commitment_is_another_revision(commitments: list[str]):
    common = {"key": "labels", "kind": "stored", "media_type": "text/csv", "filename": "labels.csv"}

    first, second = (revision_content_hash(_revision([common | {"commitment": each}])) for each in commitments)

    assert first != second


def test_validators_are_told_apart_by_what_they_are():
    script = {"runtime": "tfp-runtime/python:1", "program": IMPLEMENTATION["program"]}
    names = [{"builtin": "sat-instance"}, {"builtin": "other"}, script, script | {"runtime": "tfp-runtime/python:2"}]

    assert len({validator_key(each) for each in names}) == len(names)


def test_a_commitment_is_the_hash_of_salt_key_length_and_bytes():
    expected = hashlib.sha256(SALT + b"\x00labels\x00" + b"\x00\x00\x00\x00\x00\x00\x00\x03" + b"abc").hexdigest()

    assert commitment(SALT, "labels", b"abc") == f"sha256:{expected}"


@settings(deadline=None)
@given(content=st.binary(max_size=64), cut=st.integers(0, 64), key=keys)
def test_a_commitment_does_not_depend_on_how_the_bytes_arrive(content: bytes, cut: int, key: str):
    chunks = [content[:cut], content[cut:]]

    assert commitment_of_chunks(SALT, key, len(content), chunks) == commitment(SALT, key, content)


@settings(deadline=None)
@given(first=st.tuples(keys, st.binary(max_size=9)), second=st.tuples(keys, st.binary(max_size=9)))
def test_different_content_or_slots_have_different_commitments(first: tuple[str, bytes], second: tuple[str, bytes]):
    assert (commitment(SALT, *first) == commitment(SALT, *second)) is (first == second)


@pytest.mark.parametrize("salt", [b"", b"x" * 31, b"x" * 33])
def test_a_salt_of_another_length_is_refused(salt: bytes):
    with pytest.raises(CommitmentRefused, match="32 bytes"):
        commitment(salt, "labels", b"abc")


def test_a_wrong_length_is_refused():
    with pytest.raises(CommitmentRefused, match="found 3"):
        commitment_of_chunks(SALT, "labels", 4, [b"abc"])
