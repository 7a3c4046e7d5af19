"""A worker's eye on one supervisor: the log as it streams, the deadline, the caller's wish to stop, and the end."""

import math
import os
import select
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from verification.engine.sandbox import supervisor
from verification.engine.sandbox.base import MAX_LOG_BYTES, Cancelled, Log

CANCEL_POLL_S = 0.5
# The supervisor gives itself END_WITHIN_S; past that it is taken to be stopped or stuck.
_GRACE_S = supervisor.END_WITHIN_S + 2.0
_CHUNK_BYTES = 64 * 1024
# More than a pipe holds: what is read after the end cannot be fed without end by something that got away.
_DRAIN_BYTES = 2 * 1024 * 1024


@dataclass
class Recorder:
    """The log while it streams: the first bytes are kept, and the rest is read all the same, or the checker waits."""

    kept: bytearray = field(default_factory=bytearray)
    size_bytes: int = 0

    def read_from(self, fd: int) -> int:
        """How many bytes there were; 0 at the end of the stream, or where nothing waits."""
        try:
            chunk = os.read(fd, _CHUNK_BYTES)
        except BlockingIOError:
            return 0
        self.size_bytes += len(chunk)
        self.kept += chunk[: MAX_LOG_BYTES - len(self.kept)]
        return len(chunk)

    def log(self) -> Log:
        """What was seen so far."""
        return Log(bytes(self.kept), self.size_bytes, truncated=self.size_bytes > len(self.kept))


class _Watched:
    """One supervisor, its log, and the descriptors by which the kernel tells of both.

    `Popen.wait` with a timeout polls with sleeps of up to 50 ms; a pidfd wakes at once.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", log_fd: int, recorder: Recorder) -> None:
        self.process = process
        self.recorder = recorder
        self.log_fd = log_fd
        self.pidfd = os.pidfd_open(process.pid)
        self.has_ended = False
        self._poller = select.poll()
        self._poller.register(self.pidfd, select.POLLIN)
        self._poller.register(log_fd, select.POLLIN)

    def wait(self, until: float) -> None:
        """Return at the end of the supervisor, at `until`, or earlier where there was something to read."""
        timeout_ms = max(0, math.ceil((until - time.monotonic()) * 1000))
        for fd, _event in self._poller.poll(timeout_ms):
            if fd == self.pidfd:
                self.has_ended = True
            elif not self.recorder.read_from(self.log_fd):
                self._poller.unregister(self.log_fd)


def watch(
    process: "subprocess.Popen[bytes]",
    control: FileIO,
    log_fd: int,
    recorder: Recorder,
    *,
    timeout_s: float,
    is_cancelled: Callable[[], bool] | None,
) -> bool:
    """True if the time ran out; on return, by whatever way, the supervisor has ended and the log is read.

    Raises:
        Cancelled: `is_cancelled` said so.
    """
    try:
        watched = _Watched(process, log_fd, recorder)
    except OSError:
        control.close()
        process.kill()
        process.wait()
        raise
    try:
        return _follow(watched, timeout_s, is_cancelled)
    finally:
        # Closing the control pipe is the order to end; an exception that came through here gives it too.
        control.close()
        _see_to_the_end(watched)
        os.close(watched.pidfd)


def _follow(watched: _Watched, timeout_s: float, is_cancelled: Callable[[], bool] | None) -> bool:
    now = time.monotonic()
    deadline = now + timeout_s
    ask_at = now + CANCEL_POLL_S if is_cancelled else math.inf
    while True:
        watched.wait(min(deadline, ask_at))
        if watched.has_ended:
            return False
        now = time.monotonic()
        if now >= deadline:
            return True
        if is_cancelled and now >= ask_at:
            if is_cancelled():
                raise Cancelled("the caller asked for the end; every process was ended")
            ask_at = now + CANCEL_POLL_S


def _see_to_the_end(watched: _Watched) -> None:
    # A checker may have stopped its supervisor; it is to read the order. Signalling is safe: it is not reaped yet.
    watched.process.send_signal(supervisor.SIGCONT)
    give_up_at = time.monotonic() + _GRACE_S
    while not watched.has_ended and time.monotonic() < give_up_at:
        watched.wait(give_up_at)
    if not watched.has_ended:
        # Stopped again, or stuck: this process does the supervisor's work.
        supervisor.end_descendants(watched.process.pid)
        watched.process.kill()
    watched.process.wait()
    drained = 0
    while drained < _DRAIN_BYTES and (size := watched.recorder.read_from(watched.log_fd)):
        drained += size


def end_strays(scratch: Path) -> int:
    """How many processes were found and killed that still belong to a scratch directory.

    Only for the case that a checker killed its own supervisor, when descendants have lost the parent by which they
    are found. They are known by the supervisor's command line, which a fork keeps, or by their working directory;
    one that shed both is not found, and the execution does not claim that its tree was killed.
    """
    mark = os.fsencode(scratch)
    found = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            directory = os.fsencode((entry / "cwd").readlink())
            if mark in (entry / "cmdline").read_bytes() or directory.startswith(mark):
                os.kill(int(entry.name), supervisor.SIGKILL)
                found += 1
        except OSError:
            continue
    return found
