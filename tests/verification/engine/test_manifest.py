"""The manifest that a checker is given."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from verification.engine.documents import validate_document
from verification.engine.ids import format_id
from verification.engine.manifest import (
    ManifestArtifact,
    ManifestReference,
    PriorStageResult,
    build_manifest,
    limits_document,
)
from verification.engine.reasons import Result
from verification.engine.sandbox.base import Limits

KEYS = st.builds("k{}".format, st.text("a0_", max_size=4))
HASHES = st.builds(lambda number: f"sha256:{number:064x}", st.integers(0, 2**256 - 1))
SIZES = st.integers(0, 2**40)
MEDIA_TYPES = st.sampled_from(["text/plain", "application/json", "application/octet-stream"])
FILENAMES = st.text(max_size=40) | st.just("../../x") | st.just("a\u202eb")
LIMITS = st.builds(
    Limits,
    vcpu=st.integers(1, 64),
    memory_mb=st.integers(16, 65536),
    disk_mb=st.integers(1, 65536),
    timeout_seconds=st.integers(1, 86400),
    pids=st.integers(1, 32768),
)
SUMMARIES = st.none() | st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=50)


def ids(*prefixes: str) -> st.SearchStrategy[str]:
    return st.builds(format_id, st.sampled_from(prefixes), st.uuids(version=4))


@st.composite
def arguments(draw: st.DrawFn) -> dict[str, object]:
    artifact = st.builds(ManifestArtifact, KEYS, ids("art", "cfx"), FILENAMES, HASHES, SIZES, MEDIA_TYPES)
    reference = st.builds(ManifestReference, KEYS, FILENAMES, HASHES, SIZES, MEDIA_TYPES)
    kinds = st.sampled_from(["sandbox", "review", "external"])
    return {
        "run_id": draw(ids("vrn", "cfx")),
        "verifier_contract_id": draw(ids("vct")),
        "stage_key": draw(KEYS),
        "problem_revision_id": draw(ids("prv", "cfx")),
        "submission_id": draw(ids("sub", "cfx")),
        "summary_md": draw(SUMMARIES),
        "accepts_summary": draw(st.booleans()),
        "artifacts": draw(st.lists(artifact, max_size=3, unique_by=lambda entry: entry.role)),
        "reference": draw(st.lists(reference, max_size=3, unique_by=lambda entry: entry.key)),
        "prior_stage_results": draw(
            st.lists(st.builds(PriorStageResult, KEYS, kinds, st.just(Result.VERIFIED)), max_size=2)
        ),
        "result_kind": draw(st.sampled_from(["pass_fail", "score"])),
        "limits": draw(LIMITS),
    }


def an_id(prefix: str) -> str:
    return format_id(prefix, uuid.UUID(int=7))


@given(given=arguments())
def test_every_manifest_satisfies_its_schema(given):
    assert validate_document("manifest", build_manifest(**given)) == []


@given(given=arguments())
def test_a_manifest_is_the_same_each_time(given):
    assert build_manifest(**given) == build_manifest(**given)


@given(given=arguments())
def test_the_summary_is_there_only_when_accepted_and_given(given):
    submission = build_manifest(**given)["submission"]

    is_there = given["accepts_summary"] and bool(given["summary_md"])
    assert submission["summary_included"] == is_there
    assert submission["summary_md"] == (given["summary_md"] if is_there else None)


@given(given=arguments())
def test_the_filename_is_the_last_segment_of_the_path(given):
    found = build_manifest(**given)

    for entry in found["artifacts"]:
        assert entry["path"] == f"/input/artifacts/{entry['role']}/{entry['filename']}"
    for entry in found["reference"]:
        assert entry["path"] == f"/input/reference/{entry['key']}/{entry['filename']}"


def test_a_manifest_has_exactly_the_members_of_the_specification():
    limits = Limits(vcpu=1, memory_mb=4096, disk_mb=64, timeout_seconds=600, pids=16)
    artifact_hash, instance_hash = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"

    found = build_manifest(
        run_id=an_id("vrn"),
        verifier_contract_id=an_id("vct"),
        stage_key="assignment_check",
        problem_revision_id=an_id("prv"),
        submission_id=an_id("sub"),
        summary_md="By hand.",
        accepts_summary=True,
        artifacts=[ManifestArtifact("assignment", an_id("art"), "../a.txt", artifact_hash, 12, "text/plain")],
        reference=[ManifestReference("instance", "uf20.cnf", instance_hash, 99, "text/plain")],
        prior_stage_results=[PriorStageResult("format_check", "sandbox", Result.VERIFIED)],
        result_kind="pass_fail",
        limits=limits,
    )

    assert found == {
        "version": "tfp.verification-manifest/v0.1",
        "run_id": an_id("vrn"),
        "verifier_contract_id": an_id("vct"),
        "stage_key": "assignment_check",
        "problem_revision_id": an_id("prv"),
        "submission": {"id": an_id("sub"), "summary_md": "By hand.", "summary_included": True},
        "artifacts": [
            {
                "role": "assignment",
                "artifact_id": an_id("art"),
                "path": "/input/artifacts/assignment/assignment",
                "filename": "assignment",
                "content_hash": artifact_hash,
                "size_bytes": 12,
                "media_type": "text/plain",
            }
        ],
        "reference": [
            {
                "key": "instance",
                "path": "/input/reference/instance/uf20.cnf",
                "filename": "uf20.cnf",
                "content_hash": instance_hash,
                "size_bytes": 99,
                "media_type": "text/plain",
            }
        ],
        "prior_stage_results": [{"stage_key": "format_check", "kind": "sandbox", "result": "verified"}],
        "result_kind": "pass_fail",
        "limits": limits_document(limits),
    }
    assert found["limits"]["network"] == "none"
