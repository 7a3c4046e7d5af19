"""The whole interface of a sandbox backend: `Invocation` in, `Execution` out, and the failures that are no outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from verification.engine.reasons import ReasonCode

MAX_LOG_BYTES = 256 * 1024
MAX_RESULT_BYTES = 64 * 1024
MAX_EVIDENCE_BYTES = 8 * 1024 * 1024
MAX_EVIDENCE_FILES = 1000
MAX_EVIDENCE_DEPTH = 8

LIMIT_CODES = frozenset({ReasonCode.LIMIT_TIME, ReasonCode.LIMIT_MEMORY, ReasonCode.LIMIT_DISK, ReasonCode.LIMIT_PIDS})


class Guard(StrEnum):
    """One thing a backend can hold a checker to; an execution lists those that held."""

    NO_NETWORK = "no_network"
    READ_ONLY_ROOT = "read_only_root"
    HOST_HIDDEN = "host_hidden"
    EMPTY_ENVIRONMENT = "empty_environment"
    UNPRIVILEGED = "unprivileged"
    NO_NEW_PRIVILEGES = "no_new_privileges"
    SYSTEM_CALLS = "system_calls"
    MEMORY = "memory"
    MEMORY_PER_PROCESS = "memory_per_process"
    PROCESSES = "processes"
    PROCESSES_SAMPLED = "processes_sampled"
    CPU_COUNT = "cpu_count"
    CPU_TIME_PER_PROCESS = "cpu_time_per_process"
    DISK = "disk"
    DISK_PER_FILE = "disk_per_file"
    WALL_TIME = "wall_time"
    TREE_KILLED = "tree_killed"


@dataclass(frozen=True)
class Limits:
    """What one invocation may use; `network` is not here because it is always none."""

    vcpu: int
    memory_mb: int
    disk_mb: int
    timeout_seconds: int
    pids: int


@dataclass(frozen=True)
class InputFile:
    """Bytes on this machine, already hashed by the caller, and where the checker sees them.

    `mount` is absolute and below `/input`; see `verification.engine.manifest` for the paths.
    """

    mount: str
    source: Path


@dataclass(frozen=True)
class Invocation:
    """One execution of one checker.

    `is_cancelled` is polled about twice a second; once it says yes, everything is killed and `Cancelled` is raised.
    """

    manifest: Mapping[str, Any]
    inputs: tuple[InputFile, ...]
    image_digest: str
    limits: Limits
    program: InputFile | None = None
    is_cancelled: Callable[[], bool] | None = None


@dataclass(frozen=True)
class Log:
    """Standard output and error as they came: the first bytes, and how many there were in all."""

    content: bytes = b""
    size_bytes: int = 0
    truncated: bool = False


@dataclass(frozen=True)
class EvidenceFile:
    """One regular file found below `/output/evidence`; `path` is relative to it and made of safe segments."""

    path: str
    content: bytes
    content_hash: str
    size_bytes: int


@dataclass(frozen=True)
class OutputTree:
    """What was found in `/output` after every process had ended.

    `problem` is RESULT_MALFORMED where `result.json` is there but not a plain file of bounded size, else
    EVIDENCE_INVALID or EVIDENCE_TOO_LARGE where the evidence is not a plain file tree of bounded size, else None.
    With a problem, no evidence is kept.
    """

    result: bytes | None = None
    evidence: tuple[EvidenceFile, ...] = ()
    problem: ReasonCode | None = None


@dataclass(frozen=True)
class Execution:
    """What happened, as far as the kernel and the backend saw it; says nothing about the work.

    Exactly one of `exit_code` and `signal` is given, except that both are None where a limit ended the checker
    before it could end by itself.
    """

    exit_code: int | None
    signal: int | None
    limit: ReasonCode | None
    log: Log
    output: OutputTree
    wall_s: float
    cpu_s: float
    peak_memory_bytes: int
    backend: str
    enforced: frozenset[Guard]


class SandboxFailure(Exception):
    """The platform's machinery failed; to be retried, never an outcome about the work."""

    reason_code: ReasonCode


class ImageMissing(SandboxFailure):
    """No backend here has the pinned image."""

    reason_code = ReasonCode.IMAGE_MISSING


class ProgramMissing(SandboxFailure):
    """The pinned program's bytes are not here."""

    reason_code = ReasonCode.PROGRAM_MISSING


class InputMissing(SandboxFailure):
    """An input's bytes are not where the caller said."""

    reason_code = ReasonCode.INPUT_MISMATCH


class BackendUnavailable(SandboxFailure):
    """The backend could not start or watch a checker."""

    reason_code = ReasonCode.BACKEND_UNAVAILABLE


class Cancelled(Exception):
    """The caller asked for the end; everything was killed and nothing is to be recorded."""


class Backend(Protocol):
    """Something that executes checkers. It knows nothing of runs, Contracts or the database."""

    name: str

    def supports(self, image_digest: str) -> bool:
        """True if this backend can execute that image, here and now."""
        ...

    def execute(self, invocation: Invocation) -> Execution:
        """What happened when the checker ran.

        Raises:
            SandboxFailure: the machinery failed.
            Cancelled: `invocation.is_cancelled` said so.
        """
        ...


def select(backends: Sequence[Backend], image_digest: str) -> Backend:
    """The first of `backends`, in the order given, that supports the image.

    Raises:
        ImageMissing: none does.
    """
    for backend in backends:
        if backend.supports(image_digest):
            return backend
    tried = ", ".join(backend.name for backend in backends) or "none"
    raise ImageMissing(
        f"expected a backend that has the image {image_digest}, found none (tried: {tried}); preload it with "
        "`manage.py images`, or for a builtin run the release whose sources have this digest"
    )
