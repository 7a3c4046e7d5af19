"""The shapes of what stands around a Contract: Implementations, revisions, packages, results, runs."""

import json
from importlib.resources import files
from typing import Any

import pytest

from verification.engine.documents import validate_document
from verification.engine.ids import format_id, uuid7

HASH = "sha256:" + "a" * 64
TIME = "2026-01-31T09:00:00Z"


def found(kind: str, doc: object) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in validate_document(kind, doc)]


def an_id(prefix: str) -> str:
    return format_id(prefix, uuid7(1, 1))


def example(name: str) -> Any:
    return json.loads((files("verification.engine") / "examples" / f"{name}.json").read_bytes())


def implementation() -> dict[str, Any]:
    return {
        "schema": "tfp.verifier-implementation/v1",
        "id": an_id("vim"),
        "verifier_contract_id": an_id("vct"),
        "content_hash": HASH,
        "created_at": TIME,
        "stage_key": "assignment_check",
        "runtime": {"image_ref": "tfp-builtin/sat-assignment:1", "image_digest": HASH},
        "program": None,
        "limits": {
            "vcpu": 1,
            "memory_mb": 4096,
            "disk_mb": 64,
            "timeout_seconds": 600,
            "pids": 64,
            "network": "none",
        },
        "source": {"uri": "https://code.example/tfp", "revision": "1", "license": "AGPL-3.0-or-later"},
        "conformance": {
            "status": "failed",
            "fixture_set_hash": HASH,
            "fixtures_total": 4,
            "fixtures_passed": 3,
            "failures": [
                {
                    "fixture_key": "incomplete",
                    "is_disguised": True,
                    "expected_result": "refuted",
                    "expected_score": None,
                    "actual_result": "error",
                    "actual_score": None,
                    "reason_code": "exit_nonzero",
                }
            ],
            "differential_against_implementation_id": None,
        },
    }


def test_an_implementation_with_its_conformance_is_valid():
    assert found("verifier-implementation", implementation()) == []


def test_inv_12_an_implementation_has_no_network():
    document = implementation()
    document["limits"]["network"] = "host"

    assert found("verifier-implementation", document) == [("schema_const", "/limits/network")]


def test_an_implementation_names_no_backend_and_its_image_by_digest():
    document = implementation()
    document["backend"] = "docker"
    document["runtime"]["image_digest"] = "latest"

    assert set(found("verifier-implementation", document)) == {
        ("schema_additional_properties", "/backend"),
        ("schema_pattern", "/runtime/image_digest"),
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "linked"}, [("schema_type", "url")]),
        ({"kind": "linked", "url": "https://a.example/x"}, []),
        ({"url": "https://a.example/x"}, [("schema_type", "url")]),
        ({"content_hash": None}, [("schema_type", "content_hash")]),
        ({"content_hash": None, "size_bytes": None, "commitment": HASH}, []),
        ({"kind": "linked", "url": "https://a.example/x", "commitment": HASH}, [("schema_forbidden", "commitment")]),
        ({"filename": "../x"}, [("schema_pattern", "filename")]),
        ({"filename": ".x"}, [("schema_pattern", "filename")]),
    ],
)
def test_a_binding_is_stored_linked_or_sealed(change: dict[str, Any], expected: list[tuple[str, str]]):
    revision = example("problem-revision.sat")
    revision["verifier_input_bindings"][0] |= change

    assert found("problem-revision", revision) == [
        (code, f"/verifier_input_bindings/0/{member}") for code, member in expected
    ]


def test_a_revision_without_a_contract_binds_nothing():
    revision = example("problem-revision.sat") | {"verifier_contract_id": None}

    assert set(found("problem-revision", revision)) == {
        ("schema_type", "/normative_hash"),
        ("schema_max_items", "/verifier_input_bindings"),
    }
    assert found("problem-revision", revision | {"normative_hash": None, "verifier_input_bindings": []}) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"policies": {"results_visibility": "private", "quota_per_day": 3, "opens_at": TIME, "closes_at": None}}, []),
        ({"schema": "tfp.package/v2"}, [("schema_const", "/schema")]),
        ({"slug": "Two--hyphens"}, [("schema_pattern", "/slug")]),
        ({"policies": {"quota_per_day": 0}}, [("schema_minimum", "/policies/quota_per_day")]),
        ({"policies": {"price": 1}}, [("schema_additional_properties", "/policies/price")]),
    ],
)
def test_a_package_names_slug_texts_and_policies(change: dict[str, Any], expected: list[tuple[str, str]]):
    document = {"schema": "tfp.package/v1", "slug": "sat-small", "title": "Small", "summary": "", "policies": {}}

    assert found("package", document | change) == expected


def test_a_verifier_has_an_owner_and_a_name():
    document = {"schema": "tfp.verifier/v1", "name": "@tfp/sat-assignment", "description": "Checks assignments."}

    assert found("verifier", document) == []
    assert found("verifier", document | {"name": "tfp/sat"}) == [("schema_pattern", "/name")]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"result": "verified"}, []),
        ({"result": "verified", "score": 1.5, "reason": "", "findings": ["x", {"clause": 3, "text": "1 0"}]}, []),
        ({"result": "error"}, [("schema_enum", "/result")]),
        ({"result": "verified", "score": "1"}, [("schema_type", "/score")]),
        ({"result": "verified", "verdict": 1}, [("schema_additional_properties", "/verdict")]),
        ({"result": "refuted", "findings": [{"a": {"b": 1}}]}, [("schema_type", "/findings/0/a")]),
        ([], [("schema_type", "")]),
    ],
)
def test_a_result_file_says_one_of_three_words(document: Any, expected: list[tuple[str, str]]):
    assert found("result", document) == expected


def run() -> dict[str, Any]:
    return {
        "schema": "tfp.verification-run/v1",
        "id": an_id("vrn"),
        "submission_id": an_id("sub"),
        "problem_revision_id": an_id("prv"),
        "verifier_contract_id": an_id("vct"),
        "trigger": "submission",
        "rerun": None,
        "status": "finished",
        "result": "verified",
        "reason_code": None,
        "attribution": None,
        "score": None,
        "evidence_md": "Verified.",
        "is_own_work": False,
        "is_withheld": False,
        "created_at": TIME,
        "started_at": TIME,
        "finished_at": TIME,
        "waiting": None,
        "inputs": {
            "problem_revision_id": an_id("prv"),
            "verifier_contract_id": an_id("vct"),
            "normative_hash": HASH,
            "fixture_sets": {"assignment_check": HASH},
            "artifacts": [{"role": "assignment", "artifact_id": an_id("art"), "content_hash": HASH, "size_bytes": 512}],
            "reference": example("problem-revision.sat")["verifier_input_bindings"],
        },
        "stage_results": [
            {
                "stage_key": "assignment_check",
                "kind": "sandbox",
                "result": "verified",
                "reason_code": None,
                "attribution": None,
                "findings": [],
                "started_at": TIME,
                "finished_at": TIME,
                "log": {"content_hash": HASH, "size_bytes": 10, "truncated": False, "redaction": None},
                "mechanism": {
                    "sandbox": {
                        "verifier_implementation_id": an_id("vim"),
                        "content_hash": HASH,
                        "runtime_image_digest": HASH,
                        "backend": "process",
                        "exit_code": 0,
                        "wall_s": 0.25,
                        "peak_memory_bytes": 1000,
                        "evidence_digest": HASH,
                    },
                    "review": None,
                    "external": None,
                },
                "is_withheld": False,
            }
        ],
        "revocation": None,
    }


def changed(*path_and_value: Any) -> dict[str, Any]:
    *path, last, value = path_and_value
    document = run()
    node: Any = document
    for step in path:
        node = node[step]
    node[last] = value
    return document


def test_a_finished_run_is_valid():
    assert found("verification-run", run()) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (changed("status", "running"), ["/result", "/evidence_md", "/finished_at"]),
        (changed("result", None), ["/result"]),
        (changed("finished_at", None), ["/finished_at"]),
        (changed("trigger", "rerun"), ["/rerun"]),
        (changed("rerun", {"requested_by_user_id": an_id("usr"), "reason_md": "Again."}), ["/rerun"]),
    ],
)
def test_inv_01_a_run_document_has_a_result_exactly_when_it_is_finished(document: Any, expected: list[str]):
    assert sorted(pointer for _, pointer in found("verification-run", document)) == sorted(expected)


@pytest.mark.parametrize("kind", ["sandbox", "review", "external"])
def test_inv_03_a_stage_result_has_the_one_mechanism_of_its_kind(kind: str):
    document = changed("stage_results", 0, "kind", kind)
    document["stage_results"][0]["mechanism"]["external"] = {
        "external_system": "example-lab",
        "reference": "run 7",
        "rule_owner": "contract",
        "evidence_hash": HASH,
        "attested_by_user_id": an_id("usr"),
        "attested_at": TIME,
    }
    place = "/stage_results/0/mechanism"
    wrong = {"sandbox": {"external"}, "review": {"sandbox", "review", "external"}, "external": {"sandbox"}}

    assert {pointer for _, pointer in found("verification-run", document)} == {
        f"{place}/{member}" for member in wrong[kind]
    }


def test_inv_06_only_a_verified_run_document_has_a_score():
    document = run() | {"result": "refuted", "reason_code": "checker_refuted", "attribution": "candidate", "score": 1}

    assert found("verification-run", document) == [("schema_type", "/score")]
    assert found("verification-run", document | {"score": None}) == []


def test_inv_25_a_run_document_has_a_reason_code_exactly_when_it_is_not_verified():
    with_reason = run() | {"reason_code": "checker_refuted"}
    without_reason = run() | {"result": "inconclusive", "attribution": "platform"}
    unknown_reason = run() | {"result": "inconclusive", "reason_code": "bored", "attribution": "platform"}

    assert found("verification-run", with_reason) == [("schema_type", "/reason_code")]
    assert found("verification-run", without_reason) == [("schema_type", "/reason_code")]
    assert found("verification-run", unknown_reason) == [("schema_enum", "/reason_code")]


def test_a_withheld_run_document_may_leave_out_what_a_release_will_show():
    document = run() | {"is_withheld": True, "evidence_md": None, "finished_at": None}
    hidden = {"is_withheld": True, "findings": None, "started_at": None, "finished_at": None, "log": None}
    document["stage_results"][0] |= hidden
    document["stage_results"][0]["mechanism"]["sandbox"] |= {"exit_code": None, "wall_s": None, "evidence_digest": None}

    assert found("verification-run", document) == []


def test_a_redaction_has_a_reason_of_the_closed_list():
    redaction = {
        "original_content_hash": HASH,
        "original_size_bytes": 10,
        "redacted_at": TIME,
        "redacted_by_user_id": an_id("usr"),
        "reason": "embarrassing",
    }
    document = changed("stage_results", 0, "log", "redaction", redaction)

    assert found("verification-run", document) == [("schema_enum", "/stage_results/0/log/redaction/reason")]
