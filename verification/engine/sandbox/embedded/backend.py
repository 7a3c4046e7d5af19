"""The `embedded` backend: one job after the other in a warm zygote per slot, as many slots as there are callers."""

import atexit
import json
import logging
import os
import platform
import signal
import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from verification.engine.checkers.registry import BUILTINS, Builtin, CheckerFiles, resolve
from verification.engine.manifest import (
    ARTIFACTS_ROOT,
    CHECKER_PATH,
    INPUT_ROOT,
    MANIFEST_PATH,
    OUTPUT_ROOT,
    REFERENCE_ROOT,
)
from verification.engine.reasons import ReasonCode
from verification.engine.sandbox.base import (
    BackendUnavailable,
    Cancelled,
    Execution,
    Guard,
    ImageMissing,
    InputFile,
    InputMissing,
    Invocation,
    Limits,
    OutputTree,
    ProgramMissing,
)
from verification.engine.sandbox.collect import collect_output
from verification.engine.sandbox.embedded import zygote
from verification.engine.sandbox.embedded.cgroups import ControlGroups, Usage, find_control_groups
from verification.engine.sandbox.embedded.slots import Slot
from verification.engine.sandbox.embedded.watching import Job, follow, see_to_the_end
from verification.engine.sandbox.images import Runtime, default_runtimes_root, runtimes_in

logger = logging.getLogger(__name__)

# What every job is held to; `ControlGroups.guards` come on top where they can be had.
ALWAYS = frozenset(
    {
        Guard.NO_NETWORK,
        Guard.READ_ONLY_ROOT,
        Guard.HOST_HIDDEN,
        Guard.EMPTY_ENVIRONMENT,
        Guard.UNPRIVILEGED,
        Guard.NO_NEW_PRIVILEGES,
        Guard.SYSTEM_CALLS,
        Guard.DISK,
        Guard.DISK_PER_FILE,
        Guard.CPU_TIME_PER_PROCESS,
        Guard.WALL_TIME,
        Guard.TREE_KILLED,
    }
)
_BATCH = 64
# Since 5.14 the number of processes is counted for each user namespace, and so for each job.
_PROCESSES_SINCE = (5, 14)


class EmbeddedBackend:
    """Runs builtins and Python script checkers; safe to use from several threads at once, and after a fork."""

    name = "embedded"

    def __init__(
        self,
        builtins: Iterable[Builtin] = tuple(BUILTINS.values()),
        *,
        runtimes_root: Path | None = None,
        control_groups: ControlGroups | None = None,
    ) -> None:
        self._builtins = tuple(builtins)
        self._runtimes_root = runtimes_root or default_runtimes_root()
        self._control_groups = control_groups
        self._idle: list[Slot] = []
        self._lock = threading.Lock()
        self._can_isolate: bool | None = None
        atexit.register(self.close)

    def supports(self, image_digest: str) -> bool:
        """True for a builtin where this machine can isolate, and for every runtime that is here.

        A script checker has no other backend to fall back to, so for it the answer comes from `execute`, which names
        what is missing.
        """
        if image_digest in runtimes_in(self._runtimes_root):
            return True
        return resolve(image_digest, self._builtins) is not None and self._isolates()

    def close(self) -> None:
        """End all idle zygotes."""
        with self._lock:
            slots, self._idle = self._idle, []
        for slot in slots:
            slot.close()

    def execute(self, invocation: Invocation) -> Execution:
        """What happened when the checker ran; see `Backend.execute`."""
        files = _input_files(invocation)
        try:
            with self._slot(invocation.image_digest) as slot, ExitStack() as stack:
                return self._execute_in(slot, invocation, files, stack)
        except OSError as error:
            # No descriptors, no memory, no process to be had: ours, never the candidate's.
            raise BackendUnavailable(f"expected room to run a checker, found: {error}") from error

    def _isolates(self) -> bool:
        if self._can_isolate is None:
            try:
                self._try_out()
                self._can_isolate = True
            except ImageMissing:
                # A runtime may still be built while this worker runs.
                return False
            except BackendUnavailable as trouble:
                logger.warning("the embedded backend is not used: %s", trouble)
                self._can_isolate = False
        return self._can_isolate

    def _try_out(self) -> None:
        """Run an empty script, by which everything is asked of the machine that a checker's run asks.

        Raises:
            ImageMissing: there is no runtime here.
            BackendUnavailable: something is missing; the message names it.
        """
        digest = next(iter(runtimes_in(self._runtimes_root)), "")
        limits = Limits(vcpu=1, memory_mb=64, disk_mb=1, timeout_seconds=30, pids=4)
        with tempfile.NamedTemporaryFile() as empty:
            program = InputFile(CHECKER_PATH, Path(empty.name))
            found = self.execute(Invocation({}, (), digest, limits, program))
        if found.exit_code != 0:
            said = found.log.content[-2000:].decode(errors="replace")
            raise BackendUnavailable(f"expected an empty script to end well, found {found.limit or said!r}")

    @contextmanager
    def _slot(self, image_digest: str) -> Iterator[Slot]:
        """A slot of this caller's own that has the image; kept warm afterwards unless the block failed."""
        runtimes = runtimes_in(self._runtimes_root)
        builtin = resolve(image_digest, self._builtins)
        runtime = runtimes.get(image_digest) or next(iter(runtimes.values()), None)
        if runtime is None or (builtin is None and image_digest not in runtimes):
            raise ImageMissing(
                f"expected a runtime in {self._runtimes_root} for {image_digest or 'builtins'}, found "
                f"{len(runtimes)} others; run `manage.py images build-runtime`, or preload the image"
            )
        slot = self._take(runtime, None if builtin is None else image_digest)
        is_sound = False
        try:
            yield slot
            is_sound = True
        except Cancelled:
            # The job is gone and reaped; the zygote never knew why.
            is_sound = True
            raise
        finally:
            if is_sound and self._is_ready_again(slot):
                with self._lock:
                    self._idle.append(slot)
            else:
                slot.close()

    def _is_ready_again(self, slot: Slot) -> bool:
        try:
            slot.prepare(self._control_groups or find_control_groups())
        except (BackendUnavailable, OSError):
            logger.warning("a slot is ended: its next job could not be prepared", exc_info=True)
            return False
        return True

    def _take(self, runtime: Runtime, builtin_digest: str | None) -> Slot:
        """An idle slot that fits, or a new one; those that no longer fit are ended."""
        chosen: Slot | None = None
        stale: list[Slot] = []
        with self._lock:
            while chosen is None and self._idle:
                slot = self._idle.pop()
                is_fit = builtin_digest is None or builtin_digest in slot.loaded
                # One that a fork brought along is the parent's.
                if is_fit and slot.process_id == os.getpid() and slot.runtime_digest == runtime.image_digest:
                    chosen = slot
                else:
                    stale.append(slot)
        for old in stale:
            old.close()
        return chosen or Slot(runtime, self._builtins)

    def _execute_in(
        self, slot: Slot, invocation: Invocation, files: list[tuple[str, Path | bytes]], stack: ExitStack
    ) -> Execution:
        limits = invocation.limits
        control_groups = self._control_groups or find_control_groups()
        program = self._program(slot, invocation)
        prepared = slot.take(control_groups)
        stack.callback(prepared.groups.remove)
        job_socket = stack.enter_context(prepared.socket)
        prepared.groups.set_limits(limits, free_bytes=_pages_bytes(files))
        log_read, log_write = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, log_read)
        with os.fdopen(log_write, "wb", buffering=0):
            request = {**program, "disk_bytes": limits.disk_mb << 20}
            request["rlimits"] = _rlimits(limits, has_memory_group=Guard.MEMORY in control_groups.guards)
            request["batches"] = -(-len(files) // _BATCH)
            _send_job(job_socket, request, log_write, files)
        job = Job()
        try:
            wall_s = follow(job, job_socket, log_read, invocation)
        finally:
            see_to_the_end(job, job_socket, log_read)
            if job.output is not None:
                stack.callback(os.close, job.output)
        usage = prepared.groups.usage()
        if job.output is None or not job.has_started or job.failure is not None:
            raise BackendUnavailable(f"expected the checker to be started, found: {job.failure or 'no zygote'}")
        return self._execution(job, job.output, usage, wall_s, control_groups)

    def _execution(
        self, job: Job, output_fd: int, usage: Usage, wall_s: float, control_groups: ControlGroups
    ) -> Execution:
        code = None if job.wait_status is None else os.waitstatus_to_exitcode(job.wait_status)
        limit = _limit_of(job, code, usage, output_fd)
        if code is None and limit is None:
            raise BackendUnavailable("expected the end of the checker to be reported, found the zygote gone")
        return Execution(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            limit=limit,
            log=job.recorder.log(),
            output=_collect(output_fd),
            wall_s=wall_s,
            cpu_s=job.cpu_s,
            peak_memory_bytes=usage.peak_memory_bytes or job.peak_memory_bytes,
            backend=self.name,
            enforced=enforced_guards(control_groups),
        )

    def _program(self, slot: Slot, invocation: Invocation) -> dict[str, Any]:
        """What the zygote is to run: a builtin's module with its arguments, or the script as `__main__`."""
        loaded = slot.loaded.get(invocation.image_digest)
        if loaded is None:
            if invocation.program is None:
                raise ProgramMissing(f"expected a script checker's program for {invocation.image_digest}, found none")
            return {"module": None, "argv": [CHECKER_PATH]}
        builtin = resolve(invocation.image_digest, self._builtins)
        if builtin is None or invocation.program is not None:
            raise ImageMissing("expected a builtin whose sources are here and that brings no program of its own")
        argv = builtin.argv(_checker_files(invocation.inputs))
        return {"module": loaded.module, "directory": loaded.directory, "argv": argv}


def enforced_guards(control_groups: ControlGroups) -> frozenset[Guard]:
    """Exactly what holds on this machine."""
    guards = ALWAYS | control_groups.guards
    if Guard.MEMORY not in guards:
        guards |= {Guard.MEMORY_PER_PROCESS}
    release = platform.release().split(".")
    if tuple(int("".join(filter(str.isdigit, part)) or 0) for part in release[:2]) >= _PROCESSES_SINCE:
        guards |= {Guard.PROCESSES}
    return guards


def _rlimits(limits: Limits, *, has_memory_group: bool) -> dict[str, int]:
    found = {
        "NOFILE": zygote.MAX_OPEN_FILES,
        "FSIZE": limits.disk_mb << 20,
        # A second more than the wall clock allows, so that for one thread it is the wall clock that decides.
        "CPU": limits.timeout_seconds * limits.vcpu + 1,
        # The keeper counts, and the group, which can tell that it refused, is to be met first.
        "NPROC": limits.pids + 2,
        "STACK": zygote.STACK_BYTES,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "CORE": 0,
    }
    if not has_memory_group:
        found["AS"] = limits.memory_mb << 20
    return found


def _input_files(invocation: Invocation) -> list[tuple[str, Path | bytes]]:
    """Where each input is to lie, and its bytes; every path is checked, since root-like rights place them."""
    manifest = json.dumps(dict(invocation.manifest), ensure_ascii=False).encode()
    files: list[tuple[str, Path | bytes]] = [(MANIFEST_PATH, manifest)]
    program = [invocation.program] if invocation.program else []
    for file in [*invocation.inputs, *program]:
        path = PurePosixPath(file.mount)
        if str(path) != file.mount or not file.mount.startswith(f"{INPUT_ROOT}/") or ".." in path.parts:
            raise ValueError(f"expected a mount below {INPUT_ROOT}, found {file.mount!r}; take it from the manifest")
        if not file.source.is_file():
            missing = ProgramMissing if file is invocation.program else InputMissing
            raise missing(f"expected the bytes of {file.mount}, found no file; hash the inputs again")
        files.append((file.mount, file.source))
    return files


def _pages_bytes(files: list[tuple[str, Path | bytes]]) -> int:
    """The memory that the inputs take below /input."""
    sizes = (source.stat().st_size if isinstance(source, Path) else len(source) for _path, source in files)
    return sum(-(-size // 4096) * 4096 for size in sizes)


def _checker_files(inputs: Iterable[InputFile]) -> CheckerFiles:
    artifacts: dict[str, Path] = {}
    reference: dict[str, Path] = {}
    for file in inputs:
        root, _, rest = file.mount.removeprefix(f"{INPUT_ROOT}/").partition("/")
        kind = {ARTIFACTS_ROOT: artifacts, REFERENCE_ROOT: reference}.get(f"{INPUT_ROOT}/{root}")
        if kind is None or rest.count("/") != 1:
            raise ValueError(
                f"expected a mount {ARTIFACTS_ROOT}/<role>/<name> or {REFERENCE_ROOT}/<key>/<name>, "
                f"found {file.mount!r}; take the path from the manifest"
            )
        kind[rest.partition("/")[0]] = Path(file.mount)
    return CheckerFiles(artifacts, reference, manifest=Path(MANIFEST_PATH), output=Path(OUTPUT_ROOT))


def _send_job(
    job_socket: socket.socket, request: dict[str, Any], log_fd: int, files: list[tuple[str, Path | bytes]]
) -> None:
    socket.send_fds(job_socket, [json.dumps(request).encode()], [log_fd])
    for start in range(0, len(files), _BATCH):
        with ExitStack() as stack:
            rows, file_fds = [], []
            for path, source in files[start : start + _BATCH]:
                fd = _open_input(source)
                stack.callback(os.close, fd)
                rows.append([path, os.fstat(fd).st_size])
                file_fds.append(fd)
            socket.send_fds(job_socket, [json.dumps(rows).encode()], file_fds)


def _open_input(source: Path | bytes) -> int:
    if isinstance(source, Path):
        return os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    fd = os.memfd_create("input", os.MFD_CLOEXEC)
    view = memoryview(source)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _collect(output_fd: int) -> OutputTree:
    # A checker may have taken our own permissions away; nobody else is here any more.
    os.fchmod(output_fd, 0o700)
    return collect_output(output_fd)


def _limit_of(job: Job, code: int | None, usage: Usage, output_fd: int) -> ReasonCode | None:
    """The limit that was exhausted, if any: what ended the checker first, then what the kernel counted."""
    if job.is_out_of_time or code == -signal.SIGXCPU:
        return ReasonCode.LIMIT_TIME
    if usage.memory_kills or code == zygote.EXIT_MEMORY:
        return ReasonCode.LIMIT_MEMORY
    room = os.fstatvfs(output_fd)
    if code == -signal.SIGXFSZ or room.f_bfree == 0 or room.f_ffree == 0:
        return ReasonCode.LIMIT_DISK
    return ReasonCode.LIMIT_PIDS if usage.refused_forks else None
