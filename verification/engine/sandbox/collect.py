"""What a checker left in its output directory, read through descriptors that follow no link.

Everything here runs after the last process of the checker has ended, yet trusts nothing it finds: names, kinds and
sizes are the checker's. No path is ever built from them.
"""

import hashlib
import os
import stat
from collections.abc import Iterator

from verification.engine.names import is_safe_filename
from verification.engine.reasons import ReasonCode
from verification.engine.sandbox.base import (
    MAX_EVIDENCE_BYTES,
    MAX_EVIDENCE_DEPTH,
    MAX_EVIDENCE_FILES,
    MAX_RESULT_BYTES,
    EvidenceFile,
    OutputTree,
)

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO that slipped in must not wait for a writer.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _Refused(Exception):
    """The tree is not one that may be read; carries the reason code."""

    def __init__(self, reason_code: ReasonCode) -> None:
        super().__init__(reason_code.value)
        self.reason_code = reason_code


def collect_output(output_fd: int) -> OutputTree:
    """The result file and the evidence below an open output directory."""
    try:
        result = _read_file(output_fd, "result.json", MAX_RESULT_BYTES)
    except FileNotFoundError:
        result = None
    except _Refused:
        return OutputTree(problem=ReasonCode.RESULT_MALFORMED)
    try:
        return OutputTree(result=result, evidence=_read_evidence(output_fd))
    except _Refused as refusal:
        return OutputTree(result=result, problem=refusal.reason_code)


def _read_evidence(output_fd: int) -> tuple[EvidenceFile, ...]:
    try:
        evidence_fd = _open_directory(output_fd, "evidence")
    except FileNotFoundError:
        return ()
    try:
        files: list[EvidenceFile] = []
        room = MAX_EVIDENCE_BYTES
        for path, parent_fd, name in _walk(evidence_fd):
            content = _read_file(parent_fd, name, room)
            room -= len(content)
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
            files.append(EvidenceFile(path, content, digest, len(content)))
    finally:
        os.close(evidence_fd)
    return tuple(sorted(files, key=lambda file: file.path))


def _walk(evidence_fd: int) -> Iterator[tuple[str, int, str]]:
    """Path, directory and name of each file; refuses what is neither a file nor a directory, or too much of it."""
    seen = 0
    pending: list[tuple[int, str, int]] = [(os.dup(evidence_fd), "", 1)]
    try:
        while pending:
            directory_fd, prefix, depth = pending.pop()
            try:
                with os.scandir(directory_fd) as entries:
                    for entry in entries:
                        seen += 1
                        if seen > MAX_EVIDENCE_FILES:
                            raise _Refused(ReasonCode.EVIDENCE_TOO_LARGE)
                        if not is_safe_filename(entry.name):
                            raise _Refused(ReasonCode.EVIDENCE_INVALID)
                        if not entry.is_dir(follow_symlinks=False):
                            yield prefix + entry.name, directory_fd, entry.name
                        elif depth >= MAX_EVIDENCE_DEPTH or len(pending) >= _MAX_OPEN_DIRECTORIES:
                            raise _Refused(ReasonCode.EVIDENCE_INVALID)
                        else:
                            child_fd = _open_directory(directory_fd, entry.name)
                            pending.append((child_fd, f"{prefix}{entry.name}/", depth + 1))
            finally:
                os.close(directory_fd)
    finally:
        for directory_fd, _prefix, _depth in pending:
            os.close(directory_fd)


# Directories wait their turn with a descriptor each; more of them side by side than this is no evidence but a trap.
_MAX_OPEN_DIRECTORIES = 64


def _open_directory(parent_fd: int, name: str) -> int:
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent_fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _Refused(ReasonCode.EVIDENCE_INVALID) from error


def _read_file(parent_fd: int, name: str, max_bytes: int) -> bytes:
    """Bytes of one regular file that has no other name.

    A second name (a hard link) could make a file of the host part of the record, so it is refused like the rest.

    Raises:
        FileNotFoundError: there is no such name.
        _Refused: it is something else, or larger than `max_bytes`.
    """
    # Looked at before it is opened as well: the opening alone of some devices has effects.
    _check_plain(os.stat(name, dir_fd=parent_fd, follow_symlinks=False), max_bytes)
    try:
        file_fd = os.open(name, _FILE_FLAGS, dir_fd=parent_fd)
    except OSError as error:
        raise _Refused(ReasonCode.EVIDENCE_INVALID) from error
    with os.fdopen(file_fd, "rb") as file:
        _check_plain(os.fstat(file_fd), max_bytes)
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise _Refused(ReasonCode.EVIDENCE_TOO_LARGE)
    return content


def _check_plain(found: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise _Refused(ReasonCode.EVIDENCE_INVALID)
    if found.st_size > max_bytes:
        raise _Refused(ReasonCode.EVIDENCE_TOO_LARGE)
