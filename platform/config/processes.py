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


def can_enter(directory: Path, identity: Identity | None) -> bool:
    """Whether the identity may pass through the directory and all its parents."""
    return identity is None or all(
        _has_rights(place, identity, 0o1) for place in (directory.resolve(), *directory.resolve().parents)
    )


def can_reach(path: Path, identity: Identity | None) -> bool:
    """Whether the identity may read the file or list the directory, where it is."""
    return identity is None or (can_enter(path.resolve().parent, identity) and _has_rights(path, identity, 0o4))


def _has_rights(path: Path, identity: Identity, wanted: int) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    shift = 6 if status.st_uid == identity.uid else 3 if status.st_gid == identity.gid else 0
    return (status.st_mode >> shift) & wanted == wanted


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
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    partial.replace(path)


def spawn(
    program: Program, *, output: IO[bytes] | int | None = None, is_split: bool = False
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; the kernel ends it when we die.

    Args:
        program: what to start.
        output: where its output goes; None is where ours goes.
        is_split: True leaves its standard error where ours goes.
    """
    return subprocess.Popen(
        list(program.argv),
        env=dict(program.env),
        cwd=program.cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if is_split or output is None else subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_die_with_parent(program.death_signal),
        user=program.identity.uid if program.identity else None,
        group=program.identity.gid if program.identity else None,
        extra_groups=[] if program.identity else None,
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
        user=program.identity.uid if program.identity else None,
        group=program.identity.gid if program.identity else None,
        extra_groups=[] if program.identity else None,
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


def wait_until(is_ready: Callable[[], bool], process: subprocess.Popen[bytes], *, name: str, timeout_s: float) -> None:
    """Return when ready.

    Raises:
        RuntimeError: the process ended first, or the time ran out.
    """
    deadline, pause_s = time.monotonic() + timeout_s, 0.01
    while not is_ready():
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with status {process.returncode} before it was ready; its log says why.")
        if time.monotonic() > deadline:
            raise RuntimeError(f"{name} was not ready within {timeout_s:.0f} s; its log says more.")
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.3, 0.25)


def die_with_parent(death_signal: signal.Signals) -> None:
    """Ask the kernel to end this process when its parent dies. Linux only; elsewhere nothing happens."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal))


def _die_with_parent(death_signal: signal.Signals) -> Callable[[], None] | None:
    """What a child does just before exec, after it changed its user (which clears the setting)."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl  # loaded before the fork: a child may not load anything
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != parent:  # it died while we were on our way
            os._exit(1)

    return ask_the_kernel
