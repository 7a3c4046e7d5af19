"""Invariants 15 and 17 to 25, as far as they exist at this stage."""

import ast
from pathlib import Path

import pytest
from django.apps import apps

from accounts.clock import database_now
from blobs.services import blob_name, blob_store, end_hold
from problems.models import ProblemRevision
from problems.services import bind_link, publish_revision
from submissions.services import ARTIFACT_HOLD
from tests.factories.backends import scripted_backend
from tests.factories.contracts import passed_implementation
from tests.factories.people import make_operator, make_user
from tests.factories.plans import contract_of, noted_document, sealed_document
from tests.factories.problems import (
    bind_instance,
    make_draft,
    make_problem,
    published_problem,
    published_revision,
)
from tests.factories.sql import NOT_GRANTED, REFUSED, TAKEN, insertion, insertion_refusal, refusal, row_of, write
from tests.factories.work import (
    claimed_run,
    finished_run,
    open_attempt_with,
    queued_run,
    recorded_run,
    right_answer,
    stage_done,
    submission,
)
from verification.engine.reasons import ATTRIBUTION, RESULT_OF, Attribution, ReasonCode, Result
from verification.runs.execution import execute_run
from verification.runs.models import ProtectedOutput, RunMode, StageResult, VerificationRun
from verification.runs.selectors import derived_states, run_for
from verification.runs.services import ClaimLost, append_stage_result, begin_stage, finish_run, record_fault

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]


def fresh(run: VerificationRun) -> VerificationRun:
    return VerificationRun.objects.get(pk=run.pk)


def alter_stored_bytes(content_hash: str) -> None:
    path = Path(blob_store().path(blob_name(content_hash)))
    path.chmod(0o640)
    path.write_bytes(path.read_bytes()[:-1] + b"X")


@pytest.mark.parametrize("which", ["artifacts", "references"])
def test_inv_15_an_input_that_changed_in_the_store_ends_the_run_before_anything_executes(which):
    run = queued_run()
    alter_stored_bytes(getattr(run, which).get().content_hash)

    with scripted_backend() as invocations:
        execute_run(run_id=run.pk, holder="worker")

    ended = fresh(run)
    assert (ended.status, ended.result, ended.reason_code) == ("finished", "error", "input_mismatch")
    assert invocations == []
    assert ended.stage_results.count() == 0


def sealed_run() -> VerificationRun:
    contract = contract_of(sealed_document())
    passed_implementation(contract)
    return queued_run(revision=published_revision(make_problem(contract.created_by), contract))


def test_inv_17_a_protected_stages_outputs_lie_in_the_protected_table():
    run = sealed_run()

    execute_run(run_id=run.pk, holder="worker")

    result = StageResult.objects.get(run=run)
    assert (fresh(run).result, result.is_protected) == ("verified", True)
    assert not hasattr(result, "output")
    assert ProtectedOutput.objects.get(pk=result.pk).log_size_bytes > 0


@pytest.mark.parametrize(("table", "is_protected"), [("runs_stageoutput", True), ("runs_protectedoutput", False)])
def test_inv_17_outputs_in_the_wrong_table_are_refused(table, is_protected):
    run = queued_run()
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    done = stage_done(run)
    result = StageResult.objects.create(
        run=run, position=0, stage_id=done.stage_id, kind="sandbox", result="verified", claim_number=claim.number,
        is_protected=is_protected, **done.mechanism.columns(),
    )  # fmt: skip
    output = {
        "stage_result_id": result.pk, "reason_code": "", "findings": "[]", "started_at": database_now(),
        "finished_at": database_now(), "enforced": "[]", "log_hash": "", "log_size_bytes": 0, "log_kept_bytes": 0,
        "log_truncated": False, "evidence_digest": "",
    }  # fmt: skip

    assert insertion_refusal(table, output) == REFUSED


def test_inv_17_no_relation_of_any_model_leads_to_a_protected_output():
    leading = [
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.related_model is ProtectedOutput
    ]

    assert leading == []
    assert not hasattr(StageResult, "protectedoutput")


def test_inv_17_only_the_services_and_the_projection_of_runs_name_protected_outputs():
    allowed = {"verification/runs/projection.py", "verification/runs/models/__init__.py"}
    naming = set()
    for path in [*ROOT.glob("platform/**/*.py"), *ROOT.glob("verification/**/*.py"), *ROOT.glob("reviews/**/*.py")]:
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        if "ProtectedOutput" in names:
            naming.add(path.relative_to(ROOT).as_posix())

    others = {name for name in naming - allowed if not name.startswith("verification/runs/services/")}
    assert others == set()


def test_inv_17_before_release_nobody_reads_what_a_protected_stage_put_out():
    run = sealed_run()
    execute_run(run_id=run.pk, holder="worker")
    manager = run.revision.problem.managers.get()

    for viewer in (run.submission.created_by, manager, make_operator()):
        seen = run_for(viewer, run.pk)
        (stage,) = seen.stages
        assert stage.is_withheld
        assert (stage.log, stage.findings, stage.started_at, stage.exit_code, stage.evidence_digest) == (
            None, (), None, None, None,
        )  # fmt: skip
        assert (seen.evidence_md, seen.finished_at) == (None, None)


def linked_revision() -> ProblemRevision:
    contract = contract_of(noted_document())
    passed_implementation(contract)
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)
    bind_link(
        revision=draft, slot=contract.slots.get(key="notes"), url="https://example.org/notes.txt",
        content_hash="sha256:" + "0" * 64, size_bytes=10, media_type="text/plain", filename="notes.txt",
        at=database_now(),
    )  # fmt: skip
    return publish_revision(revision=draft, published_by=draft.created_by, at=database_now())


def test_inv_18_a_linked_binding_is_frozen_into_the_run_and_mounted_nowhere():
    run = queued_run(revision=linked_revision())

    with scripted_backend() as invocations:
        execute_run(run_id=run.pk, holder="worker")

    (invocation,) = invocations
    assert [reference["key"] for reference in invocation.manifest["reference"]] == ["instance"]
    assert [file.mount for file in invocation.inputs if "notes" in file.mount] == []
    assert [(r.key, r.kind) for r in run.references.all()] == [("instance", "stored"), ("notes", "linked")]
    assert fresh(run).result == "verified"


def test_inv_18_a_linked_binding_has_no_bytes_in_the_store():
    revision = linked_revision()

    binding = revision.bindings.get(slot__key="notes")

    assert binding.blob_id is None
    assert not blob_store().exists(blob_name(binding.content_hash))


def test_inv_19_an_executor_that_lost_its_claim_writes_nothing():
    run = queued_run()
    old = claimed_run(run, holder="first")
    begin_stage(claim=old, stage_key="assignment_check", at=database_now())
    done = stage_done(run)
    write("UPDATE runs_runexecution SET lease_until = now() - interval '1 minute' WHERE run_id = %s", run.pk)
    new = claimed_run(run, holder="second")

    with pytest.raises(ClaimLost):
        append_stage_result(claim=old, done=done, at=database_now())
    with pytest.raises(ClaimLost):
        finish_run(claim=old, at=database_now(), reason_code=ReasonCode.CHECKER_REFUTED)
    with pytest.raises(ClaimLost):
        record_fault(claim=old, reason_code=ReasonCode.IMAGE_MISSING, at=database_now())

    assert (new.number, fresh(run).status, run.stage_results.count()) == (2, "running", 0)


def test_inv_19_claim_numbers_only_grow():
    run = queued_run()
    claimed_run(run)

    assert refusal("UPDATE runs_runexecution SET claim_number = 0 WHERE run_id = %s", run.pk) == REFUSED


def test_inv_20_withdrawing_bytes_leaves_the_run_readable():
    run = finished_run("verified")
    artifact = run.artifacts.get().artifact
    write("UPDATE submissions_artifact SET withdrawn_at = now() WHERE id = %s", artifact.pk)
    end_hold(content_hash=artifact.blob_id, holder_kind=ARTIFACT_HOLD, holder_id=artifact.pk, at=database_now())

    seen = run_for(run.submission.created_by, run.pk)

    (shown,) = [i for i in seen.inputs if i.kind == "artifact"]
    assert (seen.result, shown.content_hash, shown.size_bytes, shown.is_withdrawn) == (
        Result.VERIFIED, artifact.blob_id, len(right_answer()), True,
    )  # fmt: skip


def test_inv_20_a_withdrawal_is_written_once():
    artifact = open_attempt_with(b"x").artifacts.get()
    write("UPDATE submissions_artifact SET withdrawn_at = now() WHERE id = %s", artifact.pk)

    for change in ("withdrawn_at = NULL", "withdrawn_at = clock_timestamp()"):
        assert refusal(f"UPDATE submissions_artifact SET {change} WHERE id = %s", artifact.pk) == REFUSED
    assert refusal("UPDATE submissions_artifact SET filename = 'x'") == NOT_GRANTED
    assert refusal("DELETE FROM submissions_artifact") == NOT_GRANTED


def test_inv_20_a_redaction_is_one_record_with_a_reason_of_the_list():
    run = finished_run("refuted")
    output = run.stage_results.get().output
    redaction = {
        "stage_result_id": output.pk, "original_content_hash": output.log_hash, "reason": "personal_data",
        "original_size_bytes": output.log_size_bytes, "redacted_at": database_now(),
        "redacted_by_id": make_operator().pk,
    }  # fmt: skip
    before = row_of("runs_stageoutput", output.pk, column="stage_result_id")
    refused = insertion_refusal("runs_logredaction", redaction | {"reason": "embarrassing"})
    statement, parameters = insertion("runs_logredaction", redaction)
    write(statement, *parameters)

    assert refused == REFUSED
    assert insertion_refusal("runs_logredaction", redaction) == TAKEN
    assert refusal("UPDATE runs_logredaction SET reason = 'secret_material'") == NOT_GRANTED
    assert row_of("runs_stageoutput", output.pk, column="stage_result_id") == before


def test_inv_21_own_work_is_marked_for_good():
    revision = published_problem()
    manager = revision.problem.managers.get()
    own = submission(revision=revision, participant=manager)
    other = submission(revision=revision, participant=make_user())

    assert (own.own_work, other.own_work) == ("manager", "")
    assert refusal("UPDATE submissions_submission SET own_work = ''") == NOT_GRANTED


def test_inv_22_the_mode_of_a_run_is_chosen_when_it_is_created_and_stays():
    run = queued_run()

    assert run.mode == RunMode.STANDARD
    assert refusal("UPDATE runs_verificationrun SET mode = 'offline_snapshot' WHERE id = %s", run.pk) == NOT_GRANTED


@pytest.mark.parametrize("result", ["refuted", "inconclusive", "error"])
def test_inv_23_no_verdict_is_verified_without_a_verified_run(result):
    run = recorded_run(result)
    offered = type(run.submission).objects.select_related("attempt__revision").filter(pk=run.submission_id)

    state = derived_states(offered)[run.submission_id]

    verdict = None if state.current_verdict is None else state.current_verdict.result
    assert verdict == (Result.REFUTED if result == "refuted" else None)


WAITS = "waiting_for = 'conformance', waiting_since = now(), waiting_until = now() + interval '1 day'"


@pytest.mark.parametrize(
    "change",
    [
        f"{WAITS}, lease_until = now()",
        WAITS.replace("waiting_for = 'conformance'", "waiting_for = ''"),
        "waiting_for = 'conformance', waiting_since = now(), waiting_until = NULL",
        "waiting_for = 'conformance', waiting_since = NULL, waiting_until = now()",
        "waiting_for = 'conformance'",
    ],
)
def test_inv_24_a_wait_has_a_name_a_beginning_a_bound_and_no_lease(change):
    run = queued_run()

    assert refusal(f"UPDATE runs_runexecution SET {change} WHERE run_id = %s", run.pk) == REFUSED


def test_inv_24_a_whole_wait_is_taken():
    run = queued_run()

    assert write(f"UPDATE runs_runexecution SET {WAITS} WHERE run_id = %s", run.pk) == 1


@pytest.mark.parametrize(("result", "reason"), [("verified", "checker_refuted"), ("refuted", ""), ("error", "")])
def test_inv_25_a_run_has_a_reason_exactly_when_it_is_not_verified(result, reason):
    run = queued_run()
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key="assignment_check", at=database_now())
    append_stage_result(claim=claim, done=stage_done(run), at=database_now())

    ending = (
        f"UPDATE runs_verificationrun SET status = 'finished', result = '{result}', reason_code = '{reason}', "
        "evidence_md = 'x', finished_at = now() WHERE id = %s"
    )

    assert refusal(ending, run.pk) == REFUSED


def test_inv_25_every_reason_has_one_attribution_and_one_result():
    assert set(ATTRIBUTION) == set(RESULT_OF) == set(ReasonCode)
    assert set(ATTRIBUTION.values()) == set(Attribution)
    assert Result.VERIFIED not in RESULT_OF.values()
