"""Runs in the states that pages show, and pages as their readers see them."""

from typing import Any

from django.test import Client

from accounts.clock import database_now
from accounts.models import User
from submissions.models import Submission
from tests.factories.contracts import sandbox_stage
from tests.factories.people import make_operator
from tests.factories.work import claimed_run, queued_run, stage_done
from verification.engine.reasons import ReasonCode
from verification.runs.models import RunTrigger, VerificationRun
from verification.runs.services import append_stage_result, begin_stage, create_run, finish_run
from verification.runs.services.claims import Claim


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, run: VerificationRun, path: str = "", **headers: Any) -> str:
    answer = client.get(f"/verifications/{run.pk}/{path}", headers=headers)
    assert answer.status_code == 200, answer.content[:500]
    return answer.content.decode()


def running(run: VerificationRun) -> Claim:
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key=sandbox_stage(run.contract).key, at=database_now())
    return claim


def rerun(run: VerificationRun, result: str) -> VerificationRun:
    """A later run of the same Submission, written through the services."""
    submissions = Submission.objects.select_related("attempt__revision__verifier_contract")
    later = create_run(
        submission=submissions.get(pk=run.submission_id),
        trigger=RunTrigger.RERUN,
        requested_by=make_operator(),
        rerun_reason="Asked.",
        at=database_now(),
    )
    claim = running(later)
    done = stage_done(later, result)
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code)


def with_log(content: bytes, **more: Any) -> VerificationRun:
    """A refuted run whose stage left this log."""
    run = queued_run()
    claim = running(run)
    kept = {"log_size_bytes": len(content)} | more
    done = stage_done(run, "refuted", log_content=content, **kept)
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=ReasonCode.CHECKER_REFUTED)


def log_address(run: VerificationRun) -> str:
    return f"stages/{sandbox_stage(run.contract).key}/log"
