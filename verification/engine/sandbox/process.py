"""The `process` backend: a builtin checker in a process tree of its own, where no isolating backend is at hand.

It runs only checkers that ship with the platform, and holds them to what `ENFORCED` lists and no more. The checker
is given the real paths of its inputs as arguments, since there is no root of its own in which `/input` could lie.
"""

import json
import logging
import marshal
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path

from verification.engine.checkers.registry import BUILTINS, Builtin, CheckerFiles, resolve
from verification.engine.manifest import ARTIFACTS_ROOT, REFERENCE_ROOT
from verification.engine.reasons import ReasonCode
from verification.engine.sandbox import supervisor
from verification.engine.sandbox.base import (
    BackendUnavailable,
    Execution,
    Guard,
    ImageMissing,
    InputFile,
    InputMissing,
    Invocation,
    Limits,
)
from verification.engine.sandbox.collect import DIRECTORY_FLAGS, collect_output
from verification.engine.sandbox.scratch import remove_abandoned, scratch_directory
from verification.engine.sandbox.watch import Recorder, end_strays, watch

logger = logging.getLogger(__name__)

# What holds here. Memory, CPU time and disk are bounded for each process or file and not in sum, the number of
# processes is looked at ten times a second and not held by the kernel, and a checker runs as the worker's own user,
# with its network and its view of the machine.
ENFORCED = frozenset(
    {
        Guard.EMPTY_ENVIRONMENT,
        Guard.NO_NEW_PRIVILEGES,
        Guard.MEMORY_PER_PROCESS,
        Guard.CPU_TIME_PER_PROCESS,
        Guard.DISK_PER_FILE,
        Guard.PROCESSES_SAMPLED,
        Guard.WALL_TIME,
        Guard.TREE_KILLED,
    }
)

# The supervisor's code travels over the control pipe: compiled once in this worker, it needs no file that another
# process could have changed, and no import, which without cached bytecode would cost more than the start itself.
_BOOT = """
import marshal, posix, sys
fd, size, code = int(sys.argv[1]), int(sys.argv[2]), b""
while len(code) < size:
    part = posix.read(fd, size - len(code))
    if not part:
        posix._exit(1)
    code += part
names = {"__name__": "supervisor"}
exec(marshal.loads(code), names)
posix._exit(names["main"](sys.argv[1:2] + sys.argv[3:]))
"""
_REPORT_BYTES = 4096


@dataclass(frozen=True)
class _Report:
    """How the checker ended, if it did so by itself, what limit it broke, and what it used."""

    exit_code: int | None = None
    signal: int | None = None
    limit: ReasonCode | None = None
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0
    is_tree_ended: bool = False


class ProcessBackend:
    """Runs builtins as processes of this machine; safe to use from several threads at once."""

    name = "process"

    def __init__(
        self,
        builtins: Iterable[Builtin] = tuple(BUILTINS.values()),
        *,
        scratch_root: Path | None = None,
        python: str = sys.executable,
    ) -> None:
        self._builtins = tuple(builtins)
        self._scratch_root = scratch_root or Path(tempfile.gettempdir())
        self._python = python
        self._has_swept = False

    def supports(self, image_digest: str) -> bool:
        """True if it is the digest of a builtin as its sources lie here now."""
        return resolve(image_digest, self._builtins) is not None

    def execute(self, invocation: Invocation) -> Execution:
        """What happened when the builtin ran; see `Backend.execute`."""
        builtin = resolve(invocation.image_digest, self._builtins)
        if builtin is None:
            raise ImageMissing(
                f"expected the digest of a builtin, found {invocation.image_digest}; the sources here are of "
                "another version, or the image needs another backend"
            )
        if invocation.program is not None:
            raise BackendUnavailable(
                "expected a builtin without a program, found a script checker; it needs an isolating backend"
            )
        _check_platform()
        if not self._has_swept:
            self._has_swept = True
            remove_abandoned(self._scratch_root)
        try:
            with scratch_directory(self._scratch_root) as scratch:
                return self._execute_in(scratch, builtin, invocation)
        except OSError as error:
            # No descriptors, no room for the scratch directory, no process to be had: ours, never the candidate's.
            raise BackendUnavailable(f"expected room to run a checker, found: {error}") from error

    def _execute_in(self, scratch: Path, builtin: Builtin, invocation: Invocation) -> Execution:
        output, work, manifest = scratch / "output", scratch / "work", scratch / "manifest.json"
        output.mkdir(mode=0o700)
        work.mkdir(mode=0o700)
        manifest.write_text(json.dumps(dict(invocation.manifest), ensure_ascii=False), encoding="utf-8")
        arguments = builtin.argv(_checker_files(invocation.inputs, manifest, output))
        recorder = Recorder()
        # Opened before the checker starts: what it puts in the place of its output directory is never looked at.
        output_fd = os.open(output, DIRECTORY_FLAGS)
        try:
            started = time.monotonic()
            report = self._run(builtin, arguments, invocation, work, recorder)
            wall_s = time.monotonic() - started
            if not report.is_tree_ended:
                logger.warning("a checker's processes were not ended by its supervisor", extra={"image": builtin.name})
                end_strays(scratch)
            return Execution(
                exit_code=report.exit_code,
                signal=report.signal,
                limit=report.limit,
                log=recorder.log(),
                output=collect_output(output_fd),
                wall_s=wall_s,
                cpu_s=report.cpu_s,
                peak_memory_bytes=report.peak_memory_bytes,
                backend=self.name,
                enforced=ENFORCED if report.is_tree_ended else ENFORCED - {Guard.TREE_KILLED},
            )
        finally:
            os.close(output_fd)

    def _run(
        self, builtin: Builtin, arguments: list[str], invocation: Invocation, work: Path, recorder: Recorder
    ) -> _Report:
        with ExitStack() as stack:
            control_end, control = _pipe(stack)
            report, report_end = _pipe(stack)
            log, log_end = _pipe(stack)
            os.set_blocking(report.fileno(), False)
            os.set_blocking(log.fileno(), False)
            handed_over = (control_end.fileno(), report_end.fileno())
            code = _supervisor_code()
            process = subprocess.Popen(
                [
                    *(self._python, "-I", "-S", "-B", "-c", _BOOT),
                    *(str(control_end.fileno()), str(len(code)), str(report_end.fileno())),
                    *_limit_arguments(invocation.limits),
                    *(str(builtin.root), builtin.module, *arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log_end.fileno(),
                stderr=log_end.fileno(),
                env={},
                cwd=work,
                pass_fds=handed_over,
                start_new_session=True,
            )
            for end in (control_end, report_end, log_end):
                end.close()
            # If it is gone already, its report will say that nothing was started.
            with suppress(BrokenPipeError):
                sent = 0
                while sent < len(code):
                    sent += control.write(code[sent:])
            is_out_of_time = watch(
                process,
                control,
                log.fileno(),
                recorder,
                timeout_s=invocation.limits.timeout_seconds,
                is_cancelled=invocation.is_cancelled,
            )
            lines = (report.read(_REPORT_BYTES) or b"").decode("ascii", "replace").splitlines()
        return _read_report(lines, process.returncode, is_out_of_time=is_out_of_time)


@lru_cache(maxsize=1)
def _supervisor_code() -> bytes:
    path = Path(supervisor.__file__)
    return marshal.dumps(compile(path.read_bytes(), path.name, "exec", dont_inherit=True))


def _read_report(lines: list[str], supervisor_status: int, *, is_out_of_time: bool) -> _Report:
    """What the supervisor's report says.

    Raises:
        BackendUnavailable: the checker was never started.
    """
    if not lines or lines[0] != "started":
        found = lines[0] if lines else f"exit status {supervisor_status} of its supervisor"
        raise BackendUnavailable(f"expected the checker to be started, found: {found}")
    limit = ReasonCode.LIMIT_TIME if is_out_of_time else None
    try:
        _word, status, broken, cpu_s, peak, is_tree_ended = lines[1].split()
        used = {"cpu_s": float(cpu_s), "peak_memory_bytes": int(peak), "is_tree_ended": is_tree_ended == "1"}
        code = None if status == "-" else os.waitstatus_to_exitcode(int(status))
        limit = limit or (None if broken == "-" else ReasonCode(broken)) or _limit_of(code)
        return _Report(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            limit=limit,
            **used,  # type: ignore[arg-type]
        )
    except (IndexError, ValueError):
        # The supervisor was killed while it watched: the checker's doing, and never success, whatever it left.
        return _Report(
            exit_code=None if supervisor_status < 0 else supervisor_status or 1,
            signal=-supervisor_status if supervisor_status < 0 else None,
            limit=limit,
        )


def _limit_of(code: int | None) -> ReasonCode | None:
    """The limit that an exit code (negative: a signal) is known to mean.

    A plain SIGKILL means none: the kernel's memory killer and a checker that ends itself look alike from here.
    """
    return {
        supervisor.EXIT_MEMORY: ReasonCode.LIMIT_MEMORY,
        -supervisor.SIGXFSZ: ReasonCode.LIMIT_DISK,
        -supervisor.SIGXCPU: ReasonCode.LIMIT_TIME,
    }.get(code if code is not None else 0)


def _limit_arguments(limits: Limits) -> list[str]:
    # A second more than the wall clock allows, so that for one thread it is the wall clock that decides.
    cpu_s = limits.timeout_seconds * limits.vcpu + 1
    return [str(number) for number in (limits.memory_mb << 20, limits.disk_mb << 20, cpu_s, limits.pids)]


def _checker_files(inputs: Iterable[InputFile], manifest: Path, output: Path) -> CheckerFiles:
    """The real paths by role and slot, read off the mounts that an isolating backend would show."""
    artifacts: dict[str, Path] = {}
    reference: dict[str, Path] = {}
    for file in inputs:
        root, key = file.mount.rsplit("/", 2)[:2] if file.mount.count("/") == 4 else ("", "")
        if root not in (ARTIFACTS_ROOT, REFERENCE_ROOT):
            raise ValueError(
                f"expected a mount {ARTIFACTS_ROOT}/<role>/<name> or {REFERENCE_ROOT}/<key>/<name>, "
                f"found {file.mount!r}; take the path from the manifest"
            )
        if not file.source.is_file():
            raise InputMissing(f"expected the bytes of {file.mount}, found no file; hash the inputs again")
        (artifacts if root == ARTIFACTS_ROOT else reference)[key] = file.source.absolute()
    return CheckerFiles(artifacts=artifacts, reference=reference, manifest=manifest, output=output)


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """Read and write end; closing one twice is harmless, and none outlives the stack."""
    read_fd, write_fd = os.pipe()
    return stack.enter_context(FileIO(read_fd, "r")), stack.enter_context(FileIO(write_fd, "w"))


def _check_platform() -> None:
    """Refuse rather than run a checker whose processes could not be followed."""
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        raise BackendUnavailable(
            "expected Linux with /proc/<pid>/task/<tid>/children, found none; the process backend cannot end what "
            "it cannot see"
        )
