"""Celery's side of the house: what beat asks for exists, and a dead worker leaves nobody working."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from redis import Redis

from config import processes
from config.celery import app
from config.schedule import BEAT_SCHEDULE
from tests.services import children_of, eventually, is_alive

ROOT = Path(__file__).resolve().parents[2]


def test_every_process_sends_through_our_application():
    assert current_app._get_current_object() is app


def test_beat_asks_for_tasks_that_exist():
    app.loader.import_default_modules()

    missing = {entry["task"] for entry in BEAT_SCHEDULE.values()} - set(app.tasks)

    assert missing == set()


def test_a_request_that_nobody_took_is_dropped_before_they_pile_up():
    kept = {name: entry["options"]["expires"] / entry["schedule"] for name, entry in BEAT_SCHEDULE.items()}

    assert set(kept.values()) == {2.0}


@pytest.fixture
def beat(broker: str, tmp_path: Path) -> Iterator[None]:
    """The clock as a deployment starts it: without Django, without a database."""
    argv = [sys.executable, "-m", "celery", "-A", "config.beat", "beat", "-s", str(tmp_path / "beat"), "--pidfile", ""]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "platform"), "TFP_BROKER_URL": broker}
    with (tmp_path / "log").open("wb") as output:
        process = processes.spawn(processes.Program("beat", argv, env, ROOT), output=output)
    yield
    processes.kill_session(process)


def test_beat_sends_its_requests_to_the_default_queue(broker: str, beat: None):
    client: Any = Redis.from_url(broker.removeprefix("redis+socket://").join(("unix://", "")))

    has_sent = eventually(lambda: client.llen("default") >= len(BEAT_SCHEDULE))

    assert has_sent


@pytest.mark.django_db(transaction=True)
def test_the_processes_of_a_killed_worker_die_with_it(celery_worker_process: Callable[..., Any]):
    worker = celery_worker_process(queues="sandbox", concurrency=2)
    children = children_of(worker.pid)

    os.kill(worker.pid, signal.SIGKILL)

    assert len(children) == 2
    assert eventually(lambda: not any(is_alive(pid) for pid in children))
