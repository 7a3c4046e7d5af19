"""A worker's eye on one job of a zygote: its messages, its log, its deadline, and the end of all its processes."""

import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field

from verification.engine.sandbox.base import BackendUnavailable, Cancelled, Invocation
from verification.engine.sandbox.watch import CANCEL_POLL_S, Recorder

PREPARE_WITHIN_S = 60.0
END_WITHIN_S = 10.0
_MESSAGE_BYTES = 64 * 1024


@dataclass
class Job:
    """What one job's messages and the kernel have said so far."""

    keeper: int | None = None
    output: int | None = None
    has_started: bool = False
    failure: str | None = None
    wait_status: int | None = None
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0
    has_ended: bool = False
    is_closed: bool = False
    is_out_of_time: bool = False
    recorder: Recorder = field(default_factory=Recorder)


def follow(job: Job, job_socket: socket.socket, log_fd: int, invocation: Invocation) -> float:
    """Seconds of wall time between the checker's start and its end, or the end of its time.

    Raises:
        Cancelled: `invocation.is_cancelled` said so.
    """
    started = time.monotonic()
    deadline = started + PREPARE_WITHIN_S
    ask_at = started + CANCEL_POLL_S
    poller = _Poller(job, job_socket, log_fd)
    while not job.has_ended and not (job.is_closed and job.keeper is None):
        had_started = job.has_started
        poller.wait(min(deadline, ask_at if invocation.is_cancelled else deadline))
        now = time.monotonic()
        if job.has_started and not had_started:
            started, deadline = now, now + invocation.limits.timeout_seconds
        if job.has_ended:
            break
        if now >= deadline:
            job.is_out_of_time = job.has_started
            job.failure = job.failure or (None if job.has_started else "no start in time")
            break
        if invocation.is_cancelled and now >= ask_at:
            if invocation.is_cancelled():
                raise Cancelled("the caller asked for the end; every process was ended")
            ask_at = now + CANCEL_POLL_S
    return time.monotonic() - started


class _Poller:
    """Waits for whatever comes first: the log, a message, the keeper's end, or the time."""

    def __init__(self, job: Job, job_socket: socket.socket, log_fd: int) -> None:
        self._job, self._socket, self._log_fd = job, job_socket, log_fd
        os.set_blocking(log_fd, False)
        self._poll = select.poll()
        self._poll.register(job_socket.fileno(), select.POLLIN)
        self._poll.register(log_fd, select.POLLIN)
        if job.keeper is not None and not job.has_ended:
            self._poll.register(job.keeper, select.POLLIN)

    def wait(self, until: float) -> bool:
        """Take in what there is; False if nothing came in time."""
        # Rounded up, or the last millisecond would be spent in a loop.
        timeout_ms = max(0, int((until - time.monotonic()) * 1000) + 1)
        ready = self._poll.poll(timeout_ms)
        for fd, _event in ready:
            if fd == self._log_fd:
                if not self._job.recorder.read_from(fd):
                    self._poll.unregister(fd)
            elif fd == self._socket.fileno():
                self._read_message()
            else:
                self._job.has_ended = True
                self._poll.unregister(fd)
        return bool(ready)

    def _read_message(self) -> None:
        job = self._job
        try:
            text, fds, _flags, _address = socket.recv_fds(self._socket, _MESSAGE_BYTES, 4)
        except ConnectionResetError:
            text, fds = b"", []
        if not text:
            job.is_closed = True
            self._poll.unregister(self._socket.fileno())
            return
        message = json.loads(text)
        if "keeper" in message:
            job.keeper = fds[0]
            self._poll.register(fds[0], select.POLLIN)
        elif "started" in message:
            job.output, job.has_started = fds[0], True
        elif "ended" in message:
            job.wait_status = int(message["ended"])
        elif "used" in message:
            job.cpu_s, job.peak_memory_bytes = float(message["used"][0]), int(message["used"][1])
        else:
            job.failure = str(message.get("failed"))


def see_to_the_end(job: Job, job_socket: socket.socket, log_fd: int) -> None:
    """Every process of the job has ended when this returns, and what it still had to say is read.

    Raises:
        BackendUnavailable: the kernel did not end them in time.
    """
    poller = _Poller(job, job_socket, log_fd)
    give_up_at = time.monotonic() + END_WITHIN_S
    while job.keeper is None and not job.is_closed and time.monotonic() < give_up_at:
        poller.wait(give_up_at)
    if job.keeper is None:
        return
    try:
        if not job.has_ended:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(job.keeper, signal.SIGKILL)
        # The zygote closes its end once the keeper is reaped and its figures are sent.
        while not (job.has_ended and job.is_closed) and time.monotonic() < give_up_at:
            poller.wait(give_up_at)
        while job.recorder.read_from(log_fd):
            pass
        if not job.has_ended:
            raise BackendUnavailable("expected the kernel to end a killed process, found it still there")
    finally:
        os.close(job.keeper)
