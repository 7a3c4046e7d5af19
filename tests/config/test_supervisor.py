"""`make run`: one supervisor, started for real, killed for real."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config import services
from tests.services import children_of, eventually, is_alive

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN_S = 120

Start = Callable[[], "Platform"]


class Platform:
    """A running `python -m config.supervisor`."""

    def __init__(self, var: Path, log: Path) -> None:
        self.var, self.log = var, log
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        with log.open("wb") as output:
            self.process = subprocess.Popen(command(), env=environment(var, self.port), stdout=output, stderr=output)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while "TfP is at" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def children(self) -> list[int]:
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    def descendants(self) -> list[int]:
        found, waiting = [], self.children()
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            waiting += children_of(pid)
        return found

    def status(self) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                return int(answer.status)
        except OSError:
            return 0


def command() -> list[str]:
    return [sys.executable, "-m", "config.supervisor"]


def environment(var: Path, port: int) -> dict[str, str]:
    passed = {key: value for key, value in os.environ.items() if not key.startswith(("DATABASE_", "DJANGO_", "TFP_"))}
    source_roots = os.pathsep.join([str(ROOT), str(ROOT / "platform")])
    return passed | {"TFP_VAR_DIR": str(var), "TFP_PORT": str(port), "PYTHONPATH": source_roots}


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    """One state directory for the module, so that only the first start makes a database."""
    with services.temporary_directory() as directory:
        yield directory / "var"


@pytest.fixture
def start(var: Path, tmp_path: Path) -> Iterator[Start]:
    started: list[Platform] = []

    def start_one() -> Platform:
        platform = Platform(var, tmp_path / f"log{len(started)}")
        started.append(platform)
        platform.wait_until_ready()
        return platform

    yield start_one
    for platform in started:
        if platform.process.poll() is None:
            platform.process.terminate()
            platform.process.wait(60)


def test_killed_children_come_back_and_a_second_start_is_refused(start: Start):
    platform = start()
    before = platform.children()
    second = subprocess.run(command(), env=environment(platform.var, platform.port), capture_output=True, text=True)

    for pid in before:
        os.kill(pid, signal.SIGKILL)

    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == (
        f"tfp: It is already running here: http://127.0.0.1:{platform.port}, process {platform.process.pid}. "
        "Ctrl-C in its terminal ends it.\n"
    )
    assert eventually(lambda: len(set(platform.children()) - set(before)) == len(before))
    assert eventually(lambda: platform.status() == 200)


def test_ctrl_c_ends_everything_and_says_so(start: Start):
    platform = start()
    descendants = platform.descendants()
    published = json.loads((platform.var / "run" / "environment.json").read_text())

    platform.process.send_signal(signal.SIGINT)
    status = platform.process.wait(60)

    assert (status, platform.log.read_text().splitlines()[-1]) == (0, "tfp: stopped")
    assert [pid for pid in descendants if is_alive(pid)] == []
    assert published["TFP_SUPERVISOR_PID"] == str(platform.process.pid)
    assert not (platform.var / "run" / "environment.json").exists()


def test_nothing_outlives_a_killed_supervisor(start: Start):
    platform = start()
    descendants = platform.descendants()

    platform.process.kill()
    platform.process.wait()

    assert len(descendants) > 5
    assert eventually(lambda: not any(is_alive(pid) for pid in descendants))


def test_a_taken_port_is_named_with_a_way_out(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = subprocess.run(command(), env=environment(tmp_path, port), capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr == (
        f"tfp: Port {port} on 127.0.0.1 cannot be used: Address already in use. "
        f"Choose another one: TFP_PORT={port + 1} make run\n"
    )


@pytest.mark.parametrize("port", ["0", "65536", "eighty", "-1"])
def test_a_port_that_is_none_is_refused(tmp_path: Path, port: str):
    done = subprocess.run(command(), env=environment(tmp_path, 1) | {"TFP_PORT": port}, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (
        1,
        f"tfp: TFP_PORT is {port!r}; expected a port number from 1 to 65535.\n",
    )


def test_one_database_address_without_the_other_is_refused(tmp_path: Path):
    half = environment(tmp_path, 8000) | {"DATABASE_URL": "postgresql://tfp_app@/tfp"}

    done = subprocess.run(command(), env=half, capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.startswith("tfp: Only one of DATABASE_URL (role tfp_app) and DATABASE_OWNER_URL")
