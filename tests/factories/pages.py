"""Reading pages as a test does, and revisions whose pages have something to hide."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from accounts.models import User
from problems.models import Problem, ProblemRevision, Release
from tests.factories.contracts import passed_implementation
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.plans import contract_of, sealed_document
from tests.factories.problems import (
    make_problem,
    published_revision,
)
from tests.factories.work import claimed_run, queued_run, stage_done
from verification.runs.models import VerificationRun
from verification.runs.services import append_stage_result, begin_stage, finish_run
from verification.runs.stages.base import StageDone


def signed_in(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def html_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def main_text(html: str) -> str:
    """The words of the main part, tags and extra space left out."""
    main = html.split("<main", 1)[1].split("</main>", 1)[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


def queries_of(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        html_of(client, path)
    return len(captured)


def titled(revision: ProblemRevision, title: str, **columns: Any) -> ProblemRevision:
    Problem.objects.filter(pk=revision.problem_id).update(title=title, **columns)
    return ProblemRevision.objects.select_related("problem", "verifier_contract").get(pk=revision.pk)


def sealed_revision(*, verdict_release: str = "immediate", **policies: Any) -> ProblemRevision:
    contract = contract_of(sealed_document(verdict_release=verdict_release))
    passed_implementation(contract)
    return published_revision(make_problem(contract.created_by, **policies), contract)


def release(problem: Problem) -> None:
    Release.objects.create(problem=problem, released_at=database_now(), released_by=problem.created_by)


def recorded_sealed_run(revision: ProblemRevision, result: str = "verified") -> VerificationRun:
    """A finished run of a protected stage, written through the services."""
    run = queued_run(revision=revision)
    return finished(run, replace(stage_done(run, result), is_protected=True))


def finished(run: VerificationRun, done: StageDone) -> VerificationRun:
    """The run with that one stage result, finished by it."""
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key=done.stage_key, at=database_now())
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code)


VIEWERS: dict[str, Callable[[Problem], User | None]] = {
    "visitor": lambda _: None,
    "participant": lambda _: make_user(),
    "manager": lambda problem: make_manager(problem),
    "operator": lambda _: make_operator(),
}
