"""Fixtures that start real servers and processes for tests: broker, Celery worker, gunicorn.

A process of its own sees committed rows only, so tests that use a worker or the web server need
`@pytest.mark.django_db(transaction=True)`.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kombu.pools
import pytest
from django.conf import settings

from config import processes, services

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def broker_url(service_directory: Path) -> Iterator[str]:
    """The address of a real Valkey that lives as long as the session (or of TFP_BROKER_URL)."""
    if given := os.environ.get("TFP_BROKER_URL"):
        yield given
        return
    with services.throwaway_valkey(service_directory) as server:
        yield server.url


@pytest.fixture
def broker(broker_url: str) -> Iterator[str]:
    """The real broker, emptied, with this process's Celery application connected to it."""
    from config.celery import app

    before = app.conf.broker_url
    _use_broker(app, broker_url)
    _purge(app)
    yield broker_url
    _purge(app)
    _use_broker(app, before)


@dataclass
class ChildProcess:
    """A real process of the platform under test."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """The process id of its main process."""
        return self.process.pid

    def kill(self) -> None:
        """SIGKILL to it and all children of its session, as when the machine dies."""
        processes.kill_session(self.process)

    def stop(self) -> None:
        """SIGTERM, as a deployment does, and wait."""
        processes.end(self.process, processes.signal.SIGTERM, patience_s=30)

    def text(self) -> str:
        """What it wrote so far."""
        return self.log.read_text(errors="replace")


@pytest.fixture
def child_environment(transactional_db: None, database_urls: dict[str, str], broker: str) -> dict[str, str]:
    """The environment of a process that shares this test's database, broker and bytes."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
        "DATABASE_URL": database_urls["default"],
        "DATABASE_OWNER_URL": database_urls["owner"],
        "TFP_BROKER_URL": broker,
        "TFP_BLOBS_DIR": str(settings.STORAGES["blobs"]["OPTIONS"]["location"]),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
    }


@pytest.fixture
def celery_worker_process(child_environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., ChildProcess]]:
    """Starts real workers: `worker = celery_worker_process(queues="default,sandbox", concurrency=2, beat=False)`.

    Returns once the worker takes messages. Extra environment goes in `env`. All are killed after the test.
    """
    started: list[ChildProcess] = []

    def start(
        *,
        queues: str = "default,sandbox",
        concurrency: int = 2,
        beat: bool = False,
        env: dict[str, str] | None = None,
        wait: bool = True,
    ) -> ChildProcess:
        name = f"test{len(started)}"
        argv = [
            sys.executable, "-m", "celery", "-A", "config.celery", "worker", "-Q", queues, "-c", str(concurrency),
            "-n", f"{name}@%h", "--loglevel", "info", "--without-gossip", "--without-mingle",
        ]  # fmt: skip
        if beat:
            argv += ["-B", "-s", str(tmp_path / f"{name}-beat")]
        child = _start(name, argv, child_environment | (env or {}), tmp_path)
        started.append(child)
        if wait:
            processes.wait_until(lambda: " ready." in child.text(), child.process, name=name, timeout_s=60)
        return child

    yield start
    for child in started:
        child.kill()


@pytest.fixture
def gunicorn_url(child_environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of a real gunicorn that serves this test's database, such as `http://127.0.0.1:40001`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [
        sys.executable, "-m", "gunicorn", "config.wsgi:application", "--bind", f"127.0.0.1:{port}",
        "--worker-class", "gthread", "--workers", "1", "--threads", "4", "--no-control-socket",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    child = _start("gunicorn", argv, child_environment | {"TFP_SITE_URL": url}, tmp_path)
    try:
        processes.wait_until(lambda: _answers(f"{url}/healthz"), child.process, name="gunicorn", timeout_s=60)
        yield url
    except RuntimeError as error:
        error.add_note(child.text()[-2000:])
        raise
    finally:
        child.stop()


def children_of(pid: int) -> list[int]:
    """The process ids of a process's own children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    """False for a process that is gone, or only a name that its parent has not read yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(claim: Callable[[], bool], *, within_s: float = 30) -> bool:
    """Whether the claim comes true in time."""
    deadline = time.monotonic() + within_s
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _start(name: str, argv: list[str], env: dict[str, str], directory: Path) -> ChildProcess:
    log = directory / f"{name}.log"
    with log.open("ab") as output:
        process = processes.spawn(processes.Program(name, argv, env, ROOT), output=output)
    return ChildProcess(process, log)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def _use_broker(app: Any, url: str) -> None:
    app.conf.broker_url = app.conf.broker_write_url = app.conf.broker_read_url = url
    # kombu keeps pools by address for the whole process, closed ones too.
    kombu.pools.reset()
    app._pool = None
    app.amqp._producer_pool = None


def _purge(app: Any) -> None:
    with app.connection_for_write() as connection, connection.channel() as channel:
        if hasattr(channel, "client"):
            channel.client.flushdb()
