"""Child processes: whom they become, what they may reach, and that they end with us."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config.processes import (
    Identity,
    Program,
    can_enter,
    can_reach,
    end,
    make_private,
    run,
    spawn,
    unprivileged_identity,
    wait_until,
    write_private,
)
from tests.services import eventually, is_alive

STRANGER = Identity(uid=64_123, gid=64_123)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")


def test_a_private_file_is_readable_by_its_owner_only(tmp_path: Path):
    path = tmp_path / "secret"

    write_private(path, "first")
    write_private(path, "second")

    assert path.read_text() == "second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_private_directory_is_closed_even_if_it_was_open(tmp_path: Path):
    directory = tmp_path / "open"
    directory.mkdir(mode=0o777)

    make_private(directory, None)

    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_closed_parent_hides_what_lies_below(tmp_path: Path):
    outer = tmp_path / "outer"
    inner = outer / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch(mode=0o644)
    for directory in (tmp_path, inner, *tmp_path.parents):  # pytest's own folders, however many there are
        if not directory.stat().st_mode & 0o001:
            directory.chmod(0o755)

    outer.chmod(0o700)
    is_hidden = not can_reach(inner / "file", STRANGER) and not can_enter(inner, STRANGER)
    outer.chmod(0o711)
    is_seen = can_reach(inner / "file", STRANGER) and can_enter(inner, STRANGER)

    assert (is_hidden, is_seen) == (True, True)


def test_nobody_in_particular_may_reach_everything(tmp_path: Path):
    tmp_path.chmod(0o700)

    assert can_reach(tmp_path / "whatever", None)


@needs_root
def test_root_drops_to_an_account_without_its_groups():
    identity = unprivileged_identity()
    program = Program("id", ["id", "-u"], {"PATH": os.environ["PATH"]}, identity=identity)
    groups = Program("id", ["id", "-G"], {"PATH": os.environ["PATH"]}, identity=identity)

    user, listed = run(program, timeout_s=10).stdout, run(groups, timeout_s=10).stdout

    assert identity is not None
    assert (int(user), listed.split()) == (identity.uid, [str(identity.gid).encode()])


def test_ending_a_child_ends_its_whole_session(tmp_path: Path):
    log = tmp_path / "pids"
    with log.open("wb") as output:
        script = "sleep 600 & echo $!; trap '' TERM; wait"
        process = spawn(Program("shell", ["sh", "-c", script], {"PATH": os.environ["PATH"]}), output=output)
    wait_until(lambda: log.read_text().strip() != "", process, name="shell", timeout_s=10)

    end(process, signal.SIGTERM, patience_s=0.3)

    assert process.returncode == -signal.SIGKILL
    assert eventually(lambda: not is_alive(int(log.read_text())))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path):
    log = tmp_path / "pid"
    script = (
        "import os, sys, time; from config.processes import Program, spawn\n"
        "print(spawn(Program('sleeper', ['sleep', '600'], dict(os.environ))).pid, flush=True); time.sleep(600)"
    )
    with log.open("wb") as output:
        parent = subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=output,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "platform")},
        )
    wait_until(lambda: log.read_text().strip() != "", parent, name="parent", timeout_s=20)

    parent.kill()
    parent.wait()

    assert eventually(lambda: not is_alive(int(log.read_text())))


def test_waiting_for_a_program_that_ended_says_so():
    process = spawn(Program("false", ["false"], {"PATH": os.environ["PATH"]}))

    with pytest.raises(RuntimeError, match="false ended with status 1 before it was ready"):
        wait_until(lambda: False, process, name="false", timeout_s=10)
