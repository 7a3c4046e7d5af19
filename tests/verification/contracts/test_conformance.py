"""Conformance: every fixture twice, through the machinery of a real run; claims, takeovers, failures."""

from datetime import timedelta
from pathlib import Path

import pytest

from accounts.clock import database_now
from blobs.services import blob_name, blob_store
from tests.factories.backends import crash, execution, scripted_backend, unavailable
from tests.factories.contracts import (
    LIMITS,
    file_of,
    open_record,
    pending_implementation,
    sandbox_stage,
    sat_contract,
    sat_document,
)
from tests.factories.messages import sent_messages
from tests.factories.plans import contract_of, scored_document
from tests.factories.sql import write
from verification.contracts.documents import implementation_document as written_implementation
from verification.contracts.models import ConformanceRecord, ConformanceRun
from verification.contracts.selectors import stage_capacity
from verification.contracts.services import claim_conformance, execute_conformance
from verification.contracts.sweeps import sweep_conformance
from verification.engine.documents import validate_document
from verification.engine.sandbox.base import OutputTree
from verification.engine.sandbox.process import ProcessBackend

pytestmark = pytest.mark.django_db

RECORD = "contracts_conformancerecord"


def pending_record(**changes) -> ConformanceRecord:
    return open_record(pending_implementation(sat_contract(), **changes))


def fresh(record: ConformanceRecord) -> ConformanceRecord:
    return ConformanceRecord.objects.get(pk=record.pk)


def test_the_shipped_checker_passes_every_fixture_twice(django_capture_on_commit_callbacks):
    record = pending_record()

    with sent_messages(django_capture_on_commit_callbacks) as messages:
        execute_conformance(record_id=record.pk, holder="worker")

    passed = fresh(record)
    assert (passed.status, passed.fixtures_passed, passed.holder, passed.lease_until) == ("passed", 4, "", None)
    assert [run.is_disguised for run in passed.runs.all()].count(True) == passed.runs.count() / 2 == 4
    stage = sandbox_stage(sat_contract())
    assert messages == [("runs.wake_stage", {"stage_id": str(stage.pk)}, "default", None)]
    assert stage_capacity(sandbox_stage(sat_contract())).current == record.implementation


def test_a_checker_that_accepts_everything_fails_and_the_record_says_where():
    record = pending_record()
    evidence = ProcessBackend().execute

    def accept(invocation):
        found = evidence(invocation)
        return execution(b'{"result": "verified"}', output=OutputTree(b'{"result": "verified"}', found.output.evidence))

    with scripted_backend(accept):
        execute_conformance(record_id=record.pk, holder="worker")

    failed = fresh(record)
    document = written_implementation(failed.implementation, failed)["conformance"]
    told = {(f["fixture_key"], f["expected_result"], f["actual_result"]) for f in document["failures"]}
    assert (failed.status, document["fixtures_passed"]) == ("failed", 1)
    assert told == {
        ("falsified_clause", "refuted", "verified"),
        ("incomplete", "refuted", "verified"),
        ("unreadable", "inconclusive", "error"),
    }


@pytest.mark.parametrize("prefix", ["cfx_", "vrn_"])
def test_a_checker_that_behaves_otherwise_when_tested_fails(prefix):
    record = pending_record()

    def two_faced(invocation):
        if invocation.manifest["run_id"].startswith(prefix):
            return execution(b'{"result": "inconclusive"}')
        return ProcessBackend().execute(invocation)

    with scripted_backend(two_faced):
        execute_conformance(record_id=record.pk, holder="worker")

    assert fresh(record).status == "failed"
    assert ConformanceRun.objects.filter(matches=True, fixture__key="satisfying").count() == 0


def test_a_checker_whose_findings_differ_between_the_two_runs_fails():
    record = pending_record()

    def talkative(invocation):
        found = ProcessBackend().execute(invocation)
        name = invocation.manifest["run_id"].encode()
        result = (found.output.result or b"{}")[:-1] + b', "findings": ["' + name + b'"]}'
        result = b'{"result": "verified", "findings": ["' + name + b'"]}' if b"verified" in result else result
        return execution(result, output=OutputTree(result, found.output.evidence))

    with scripted_backend(talkative):
        execute_conformance(record_id=record.pk, holder="worker")

    assert fresh(record).status == "failed"


def test_the_disguise_is_complete():
    record = pending_record()

    with scripted_backend() as invocations:
        execute_conformance(record_id=record.pk, holder="worker")

    plain, disguised = (invocation.manifest for invocation in invocations[:2])
    assert plain["run_id"][:4] == plain["problem_revision_id"][:4] == "cfx_"
    assert [disguised["run_id"][:4], disguised["problem_revision_id"][:4], disguised["submission"]["id"][:4]] == [
        "vrn_", "prv_", "sub_",
    ]  # fmt: skip
    assert disguised["artifacts"][0]["artifact_id"][:4] == "art_"
    assert disguised.keys() == plain.keys()
    assert str(disguised).count("cfx") == 0


def test_a_crashing_checker_fails_its_conformance():
    record = pending_record()

    with scripted_backend(crash):
        execute_conformance(record_id=record.pk, holder="worker")

    assert fresh(record).status == "failed"
    assert {run.reason_code for run in record.runs.all()} == {"exit_nonzero"}


def test_machinery_that_fails_is_no_failure_of_the_checker(django_capture_on_commit_callbacks):
    record = pending_record()

    with scripted_backend(unavailable), sent_messages(django_capture_on_commit_callbacks) as messages:
        execute_conformance(record_id=record.pk, holder="worker")

    error = fresh(record)
    assert (error.status, error.error_code, error.holder) == ("error", "backend_unavailable", "")
    assert error.retry_at > error.started_at
    assert messages == [("contracts.execute_conformance", {"record_id": str(record.pk)}, "sandbox", 10.0)]
    assert claim_conformance(record_id=record.pk, holder="early", at=database_now()) is None
    assert claim_conformance(record_id=record.pk, holder="late", at=error.retry_at).number == 2


def test_an_image_that_no_backend_has_is_the_machinerys_failure():
    runtime = {"image_ref": "tfp-builtin/sat-assignment:1", "image_digest": "sha256:" + "0" * 64}
    record = pending_record(runtime=runtime)

    execute_conformance(record_id=record.pk, holder="worker")

    assert (fresh(record).status, fresh(record).error_code) == ("error", "image_missing")


def test_after_a_failure_of_the_machinery_the_same_record_can_pass():
    record = pending_record()
    with scripted_backend(unavailable):
        execute_conformance(record_id=record.pk, holder="worker")
    write(f"UPDATE {RECORD} SET retry_at = now() - interval '1 second'")

    execute_conformance(record_id=record.pk, holder="worker")

    assert (fresh(record).status, fresh(record).error_code) == ("passed", "")


def test_a_record_is_claimed_once():
    record = pending_record()

    claims = [claim_conformance(record_id=record.pk, holder=name, at=database_now()) for name in ("one", "two")]

    assert [claim and claim.holder for claim in claims] == ["one", None]


def test_one_that_was_taken_over_in_mid_work_writes_no_more():
    record = pending_record()
    taken = []

    def lose(invocation):
        if not taken:
            write(f"UPDATE {RECORD} SET lease_until = now() - interval '1 second'")
            taken.append(claim_conformance(record_id=record.pk, holder="second", at=database_now()))
        return ProcessBackend().execute(invocation)

    with scripted_backend(lose) as invocations:
        execute_conformance(record_id=record.pk, holder="first")

    assert (fresh(record).holder, fresh(record).status, len(invocations)) == ("second", "running", 1)
    assert record.runs.count() == 0


def test_one_that_was_taken_over_and_then_fails_leaves_the_record_alone():
    record = pending_record()

    def lose(_invocation):
        write(f"UPDATE {RECORD} SET lease_until = now() - interval '1 second'")
        claim_conformance(record_id=record.pk, holder="second", at=database_now())
        return unavailable(_invocation)

    with scripted_backend(lose):
        execute_conformance(record_id=record.pk, holder="first")

    assert (fresh(record).holder, fresh(record).status) == ("second", "running")


def test_a_decided_or_yanked_record_is_not_claimed():
    record = pending_record()
    other = open_record(pending_implementation(sat_contract(), limits=LIMITS | {"pids": 17}))
    execute_conformance(record_id=record.pk, holder="worker")
    write(
        "UPDATE contracts_verifierimplementation SET yanked_at = now(), yanked_by_id = created_by_id, "
        "yank_reason = 'x' WHERE id = %s",
        other.implementation_id,
    )

    claims = [claim_conformance(record_id=pk, holder="x", at=database_now()) for pk in (record.pk, other.pk)]

    assert claims == [None, None]


def test_the_sweep_sends_what_is_due_and_nothing_else():
    record = pending_record()
    now = database_now()

    early, late = sweep_conformance(at=now), sweep_conformance(at=now + timedelta(minutes=1))
    claim_conformance(record_id=record.pk, holder="worker", at=now)
    held = sweep_conformance(at=now + timedelta(seconds=30))
    died = sweep_conformance(at=now + timedelta(minutes=10))
    execute_conformance(record_id=record.pk, holder="worker")

    assert (early, late, held, died) == (0, 1, 0, 1)


def test_expected_scores_are_compared_exactly():
    contract = contract_of(scored_document())
    record = open_record(pending_implementation(contract))

    def score(invocation):
        found = ProcessBackend().execute(invocation)
        if b"verified" not in (found.output.result or b""):
            return found
        value = 6.0 if invocation.manifest["run_id"].startswith("cfx_") else 6.000000001
        result = b'{"result": "verified", "score": %r}' % value
        return execution(result, output=OutputTree(result, found.output.evidence))

    with scripted_backend(score):
        execute_conformance(record_id=record.pk, holder="worker")

    assert fresh(record).status == "failed"


def test_the_newest_implementation_that_passed_and_is_not_yanked_executes_the_stage():
    contract = sat_contract()
    stage = sandbox_stage(contract)
    old = pending_implementation(contract)
    execute_conformance(record_id=open_record(old).pk, holder="worker")
    new = pending_implementation(contract, limits=LIMITS | {"timeout_seconds": 21})
    while_pending = stage_capacity(stage)
    execute_conformance(record_id=open_record(new).pk, holder="worker")
    with_both = stage_capacity(stage)
    write(
        "UPDATE contracts_verifierimplementation SET yanked_at = now(), yanked_by_id = created_by_id, "
        "yank_reason = 'x' WHERE id = %s",
        new.pk,
    )

    assert (while_pending.current, while_pending.pending) == (old, 1)
    assert (with_both.current, with_both.pending) == (new, 0)
    assert stage_capacity(stage).current == old


def test_the_document_of_an_implementation_with_its_conformance_has_the_published_shape():
    record = pending_record()
    execute_conformance(record_id=record.pk, holder="worker")

    document = written_implementation(record.implementation, fresh(record))

    assert validate_document("verifier-implementation", document) == []
    assert document["conformance"]["status"] == "passed"


def test_a_fixtures_bytes_that_changed_in_the_store_are_the_machinerys_failure():
    record = pending_record()
    digest = sat_document()["conformance_fixtures"][0]["artifacts"]["assignment"]["content_hash"]
    path = Path(blob_store().path(blob_name(digest)))
    path.chmod(0o640)
    path.write_bytes(b"v 0\n")

    execute_conformance(record_id=record.pk, holder="worker")

    assert (fresh(record).status, fresh(record).error_code) == ("error", "input_mismatch")


def test_a_program_whose_bytes_changed_in_the_store_is_the_machinerys_failure():
    contract = sat_contract()
    program = file_of(b"print()\n", filename="check.py")
    del program["media_type"]
    runtime = {"image_ref": "tfp-runtime/python:1", "image_digest": "sha256:" + "0" * 64}
    record = open_record(pending_implementation(contract, program=program, runtime=runtime))
    path = Path(blob_store().path(blob_name(program["content_hash"])))
    path.chmod(0o640)
    path.write_bytes(b"print(1)\n")

    execute_conformance(record_id=record.pk, holder="worker")

    assert (fresh(record).status, fresh(record).error_code) == ("error", "program_missing")
