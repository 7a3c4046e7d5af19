"""The measurements themselves; each answers with plain numbers."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from accounts.models import User
from config.bench.browser import Browser
from submissions.models import Attempt, Submission
from verification.runs.models import RunStatus, VerificationRun
from verification.runs.services import submit_work

FINISH_WITHIN_S = 60.0
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Bench:
    """One participant at work on one Problem of a running platform."""

    browser: Browser
    attempt_path: str
    attempt_id: str
    artifact_id: str

    def submit(self) -> tuple[int, float, float]:
        """Press the button of the check page: the Submission's number, when it was pressed, how long it answered."""
        choice = self.browser.get(f"{self.attempt_path}submit/").hidden
        self.browser.post(f"{self.attempt_path}submit/", choice | {"role_assignment": self.artifact_id, "summary": ""})
        fields = self.browser.get(f"{self.attempt_path}check/").hidden
        pressed_at = time.perf_counter()
        answer = self.browser.post(f"{self.attempt_path}check/", fields)
        return int(answer.location.rpartition("=")[2]), pressed_at, answer.took_s


def begin(browser: Browser, slug: str, content: bytes) -> Bench:
    """Open an Attempt on a Problem's first revision and upload an answer, all through the pages."""
    fields = browser.get(f"/problems/{slug}/revisions/1/").hidden
    path = browser.post(f"/problems/{slug}/revisions/1/attempt/", fields).location
    fields = browser.get(path).hidden
    browser.upload(path, fields | {"media_type": "text/plain"}, name="file", filename="answer.txt", content=content)
    attempt = Attempt.objects.get(pk=path.strip("/").rpartition("/")[2])
    return Bench(browser, path, attempt.pk, attempt.artifacts.get().pk)


def submit_to_verdict(bench: Bench, *, times: int) -> dict[str, float]:
    """Milliseconds from pressing the button to a finished run in the database, one Submission at a time."""
    took, answered = [], []
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as watcher:
        for _ in range(times):
            number, pressed_at, answer_s = bench.submit()
            _await_verdict(watcher, bench.attempt_id, number)
            took.append(time.perf_counter() - pressed_at)
            answered.append(answer_s)
            time.sleep(0.05)  # An idle machine is what is measured: nothing of the last one shall be left.
    return {
        "submit_to_verdict_p50_ms": _ms(statistics.median(took)),
        "submit_to_verdict_p95_ms": _ms(statistics.quantiles(took, n=20)[-1]),
        "submit_answer_p50_ms": _ms(statistics.median(answered)),
        **_recorded(bench.attempt_id, times),
    }


def _recorded(attempt_id: str, times: int) -> dict[str, float]:
    """How the newest runs spent their time, by their own record: before their first stage, and from there on."""
    runs = VerificationRun.objects.filter(submission__attempt=attempt_id).order_by("-created_at")[:times]
    moments = runs.values_list("created_at", "started_at", "finished_at")
    spans = [(s - c, f - s) for c, s, f in moments if s is not None and f is not None]
    return {
        "submit_to_stage_p50_ms": _ms(statistics.median(waited.total_seconds() for waited, _ in spans)),
        "stage_to_end_p50_ms": _ms(statistics.median(took.total_seconds() for _, took in spans)),
    }


def _await_verdict(watcher: "psycopg.Connection[tuple[object, ...]]", attempt_id: str, number: int) -> None:
    give_up_at = time.perf_counter() + FINISH_WITHIN_S
    while time.perf_counter() < give_up_at:
        row = watcher.execute(
            "SELECT r.result FROM runs_verificationrun r JOIN submissions_submission s ON s.id = r.submission_id "
            "WHERE s.attempt_id = %s AND s.number = %s AND r.status = 'finished'",
            [attempt_id, number],
        ).fetchone()
        if row is not None:
            if row[0] != "verified":
                raise RuntimeError(f"expected the run to be verified, found {row[0]}")
            return
        time.sleep(0.001)
    raise RuntimeError(f"expected a verdict within {FINISH_WITHIN_S:.0f} s, found none")


def runs_per_s(bench: Bench, *, runs: int) -> float:
    """Finished runs per second while a queue of them is worked off; all are sent at one commit."""
    attempt = Attempt.objects.select_related("participant").get(pk=bench.attempt_id)
    with transaction.atomic():
        for _ in range(runs):
            submit_work(
                participant=attempt.participant,
                attempt_id=attempt.pk,
                artifact_ids=[bench.artifact_id],
                summary_md="",
                at=database_now(),
            )
        started = time.perf_counter()
    unfinished = VerificationRun.objects.filter(status__in=[RunStatus.QUEUED, RunStatus.RUNNING])
    while (left := unfinished.count()) > 0:
        if time.perf_counter() - started > FINISH_WITHIN_S + runs:
            raise RuntimeError(f"expected {runs} finished runs, {left} are left")
        time.sleep(0.02)
    return round(runs / (time.perf_counter() - started), 1)


def _queries_of(path: str, person: User) -> int:
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(person)
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(path)
    if answer.status_code != 200:
        raise RuntimeError(f"{path}: expected 200, found {answer.status_code}")
    return len(queries)


def page_queries(bench: Bench, slug: str) -> dict[str, int]:
    """Queries of each page for the participant, sessions included."""
    person = User.objects.get(attempts=bench.attempt_id)
    return {name: _queries_of(path, person) for name, path in pages(bench, slug)}


def pages(bench: Bench, slug: str) -> Iterator[tuple[str, str]]:
    """The pages of the main path, by name."""
    submission = Submission.objects.filter(attempt=bench.attempt_id).select_related("attempt__revision").first()
    assert submission is not None
    run = submission.runs.get()
    yield "home", "/"
    yield "problems", "/problems/"
    yield "problem", f"/problems/{slug}/"
    yield "revision", f"/problems/{slug}/revisions/1/"
    yield "attempt", bench.attempt_path
    yield "submission", f"/submissions/{submission.pk}/"
    yield "run", f"/verifications/{run.pk}/"
    yield "contract", f"/contracts/{run.contract_id}/"
    yield "my_work", "/my/"
    yield "notices", "/account/notices/"


def page_ms(bench: Bench, slug: str, *, times: int) -> dict[str, float]:
    """Median milliseconds of each page over HTTP."""
    return {
        name: _ms(statistics.median(bench.browser.get(path).took_s for _ in range(times)))
        for name, path in pages(bench, slug)
    }


def sat_over_hash(instance: Path, assignment: Path, *, times: int) -> float:
    """The SAT check of the large instance over reading and hashing the same bytes, as whole processes."""
    hashing = "import hashlib, sys\nfor p in sys.argv[1:]: hashlib.sha256(open(p, 'rb').read()).hexdigest()"
    check = [sys.executable, "-m", "verification.engine.checkers.sat"]
    check += ["--instance", str(instance), "--assignment", str(assignment)]
    hash_ = [sys.executable, "-c", hashing, str(instance), str(assignment)]
    return round(statistics.median(_process_s(check) / _process_s(hash_) for _ in range(times)), 2)


def _process_s(argv: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return time.perf_counter() - started


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
