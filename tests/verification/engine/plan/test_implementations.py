"""The rules over an Implementation and its Contract."""

from typing import Any

import pytest
from hypothesis import given, settings

from tests.strategies import hostile_values
from verification.engine.documents import MAX_FINDINGS
from verification.engine.hashes import implementation_content_hash
from verification.engine.plan import implementation_findings

CONTRACT = {"stages": [{"key": "check", "kind": "sandbox"}, {"key": "review", "kind": "review"}]}
PROGRAM = {"filename": "check.py", "content_hash": "sha256:" + "b" * 64, "size_bytes": 10}
BUILTIN = {"image_ref": "tfp-builtin/sat-assignment:1", "image_digest": "sha256:" + "a" * 64}
PYTHON = {"image_ref": "tfp-runtime/python:1", "image_digest": "sha256:" + "a" * 64}


def implementation(**change: Any) -> dict[str, Any]:
    return {
        "schema": "tfp.verifier-implementation/v1",
        "stage_key": "check",
        "runtime": BUILTIN,
        "program": None,
        "limits": {"vcpu": 1, "memory_mb": 64, "disk_mb": 64, "timeout_seconds": 10, "pids": 8, "network": "none"},
        "source": {"uri": "https://code.example/check", "revision": "1", "license": "MIT"},
    } | change


def found(document: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in implementation_findings(CONTRACT, document)]


def test_a_builtin_and_a_script_may_be_registered():
    assert found(implementation()) == []
    assert found(implementation(runtime=PYTHON, program=PROGRAM)) == []


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"stage_key": "nowhere"}, "stage_unknown", "/stage_key"),
        ({"stage_key": "review"}, "stage_not_sandbox", "/stage_key"),
        ({"runtime": PYTHON}, "program_missing", "/program"),
        ({"program": PROGRAM}, "program_unexpected", "/program"),
    ],
)
def test_inv_12_a_broken_rule_is_named_where_it_is_broken(change: dict[str, Any], code: str, pointer: str):
    assert found(implementation(**change)) == [(code, pointer)]


def test_inv_12_nothing_but_no_network_is_an_implementation():
    document = implementation()
    document["limits"]["network"] = "internal"

    assert found(document) == [("schema_const", "/limits/network")]


def test_a_registered_implementation_that_was_altered_does_not_match_its_hash():
    document = implementation(
        id="vim_" + "0" * 26, verifier_contract_id="vct_" + "0" * 26, created_at="2026-01-01T00:00:00Z"
    )
    document["content_hash"] = implementation_content_hash(document)
    before = found(document)

    document["limits"] = document["limits"] | {"memory_mb": 128}

    assert (before, found(document)) == ([], [("content_hash_mismatch", "/content_hash")])


@settings(deadline=None)
@given(document=hostile_values)
def test_any_value_is_judged_as_an_implementation(document: Any):
    assert 1 <= len(found(document)) <= MAX_FINDINGS
