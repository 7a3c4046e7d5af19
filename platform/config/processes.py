"""Child processes that never outlive us: who they run as, how they start, and how they are ended."""

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

# Root drops to this account: it is on every Unix, so nothing has to be added to the machine.
UNPRIVILEGED = "nobody"
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Identity:
    """A user and a group of this machine."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Program:
    """What to start and how to end it."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path("/")
    identity: Identity | None = None
    # Asks the program to end in order.
    stop_signal: signal.Signals = signal.SIGTERM
    # What the kernel sends when the parent dies without a word: end at once.
    death_signal: signal.Signals = signal.SIGTERM


def unprivileged_identity() -> Identity | None:
    """Whom servers run as when we are root (PostgreSQL refuses root); None when we are an ordinary user."""
    if os.geteuid() != 0:
        return None
    account = pwd.getpwnam(UNPRIVILEGED)
    return Identity(account.pw_uid, account.pw_gid)


def can_reach(path: Path, identity: Identity | None) -> bool:
    """Whether the identity may pass through every directory above the path and read the path itself."""
    if identity is None:
        return True
    path = path.resolve()
    for place in (path, *path.parents):
        try:
            status = place.stat()
        except OSError:
            return False
        shift = 6 if status.st_uid == identity.uid else 3 if status.st_gid == identity.gid else 0
        wanted = 0o5 if place == path and place.is_dir() else 0o1 if place.is_dir() else 0o4
        if (status.st_mode >> shift) & wanted != wanted:
            return False
    return True


def make_private(directory: Path, identity: Identity | None) -> Path:
    """The directory, made if missing, that only the identity (or we) may enter."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.chmod(0o700)
    if identity is not None:
        os.chown(directory, identity.uid, identity.gid)
    return directory


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    partial.replace(path)


def spawn(program: Program, *, output: IO[bytes] | int | None = None) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; the kernel ends it when we die."""
    return subprocess.Popen(
        list(program.argv),
        env=dict(program.env),
        cwd=program.cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        start_new_session=True,
        preexec_fn=_die_with_parent(program.death_signal),
        **_become(program.identity),
    )


def run(program: Program, *, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; its output is kept for the message of a failure."""
    return subprocess.run(
        list(program.argv),
        env=dict(program.env),
        cwd=program.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout_s,
        check=False,
        preexec_fn=_die_with_parent(signal.SIGKILL),
        **_become(program.identity),
    )


def end(process: subprocess.Popen[bytes], stop_signal: signal.Signals, *, patience_s: float) -> None:
    """Ask a child to end, wait, then kill what is left of its session."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    kill_session(process)


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a child of `spawn` and every process of its session, at once."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(
    is_ready: Callable[[], bool], process: subprocess.Popen[bytes], *, name: str, timeout_s: float
) -> None:
    """Return when ready.

    Raises:
        RuntimeError: the process ended first, or the time ran out.
    """
    deadline = time.monotonic() + timeout_s
    while not is_ready():
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with status {process.returncode} before it was ready; its log says why.")
        if time.monotonic() > deadline:
            raise RuntimeError(f"{name} was not ready within {timeout_s:.0f} s; its log says more.")
        time.sleep(0.02)


def _become(identity: Identity | None) -> dict[str, object]:  # Popen's own keywords
    if identity is None:
        return {}
    return {"user": identity.uid, "group": identity.gid, "extra_groups": []}


def _die_with_parent(death_signal: signal.Signals) -> Callable[[], None] | None:
    """What the child does just before exec, after it changed its user (which clears the setting). Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != parent:  # it died while we were on our way
            os._exit(1)

    return ask_the_kernel
