"""Control groups, where this worker may make them: memory in sum, processes and processors, held by the kernel.

Version 1 has a hierarchy for each controller, version 2 one for all; which one is here is read from the machine. What
cannot be had is missing from `guards`, and so from every execution's list of what was enforced.
"""

import itertools
import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from verification.engine.sandbox.base import Guard, Limits

logger = logging.getLogger(__name__)

PREFIX = "tfp-embedded-"
CONTROLLERS: Mapping[str, Guard] = {
    "memory": Guard.MEMORY,
    "pids": Guard.PROCESSES,
    "cpu": Guard.CPU_COUNT,
}
_PERIOD_US = 100_000
_REMOVE_WITHIN_S = 2.0


@dataclass(frozen=True)
class Usage:
    """What a job's groups counted: processes the kernel killed for memory, forks it refused, and the peak."""

    memory_kills: int = 0
    refused_forks: int = 0
    peak_memory_bytes: int | None = None


@dataclass
class JobGroups:
    """The groups of one job; `fds` are for joining them, opened with the worker's rights."""

    directories: dict[str, Path] = field(default_factory=dict)
    fds: list[int] = field(default_factory=list)
    free_bytes: int = 0

    def set_limits(self, limits: Limits, *, free_bytes: int) -> None:
        """From now on these hold; `free_bytes` of memory, which the inputs take, are not the checker's."""
        self.free_bytes = free_bytes
        for controller, directory in self.directories.items():
            _write_limits(controller, directory, limits, free_bytes=free_bytes)

    def close(self) -> None:
        """Let go of the descriptors, once those who are to join have them."""
        while self.fds:
            os.close(self.fds.pop())

    def remove(self) -> None:
        """Remove the groups; every process in them has ended or is about to."""
        self.close()
        for directory in set(self.directories.values()):
            _remove(directory)

    def usage(self) -> Usage:
        """What was counted so far."""
        memory, pids = self.directories.get("memory"), self.directories.get("pids")
        peak = _number(memory, ("memory.max_usage_in_bytes", "memory.peak"))
        return Usage(
            memory_kills=_counter(memory, ("memory.oom_control", "memory.events"), "oom_kill"),
            refused_forks=_counter(pids, ("pids.events",), "max"),
            peak_memory_bytes=None if peak is None else max(0, peak - self.free_bytes),
        )


class ControlGroups:
    """Makes and removes the groups of jobs below this worker's own."""

    def __init__(self, parents: Mapping[str, Path]) -> None:
        """`parents` maps each controller to a directory in which groups with that controller can be made."""
        self.parents = dict(parents)
        self._numbers = itertools.count(1)

    @property
    def guards(self) -> frozenset[Guard]:
        """What these groups hold a checker to."""
        return frozenset(CONTROLLERS[name] for name in self.parents)

    def leftovers(self) -> list[str]:
        """Groups made here that are there now; none, unless jobs are prepared or run, or something went wrong."""
        mark = f"{PREFIX}{os.getpid()}-{id(self):x}-*"
        return sorted(str(path) for parent in set(self.parents.values()) for path in parent.glob(mark))

    def make(self) -> JobGroups:
        """Fresh groups, still without limits; the caller sees to their removal."""
        name = f"{PREFIX}{os.getpid()}-{id(self):x}-{next(self._numbers)}"
        groups = JobGroups()
        try:
            for controller, parent in self.parents.items():
                directory = parent / name
                if directory not in groups.directories.values():
                    directory.mkdir()
                    groups.directories[controller] = directory
                    groups.fds.append(os.open(directory / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
                groups.directories[controller] = directory
        except OSError:
            groups.remove()
            raise
        return groups


def _write_limits(controller: str, directory: Path, limits: Limits, *, free_bytes: int) -> None:
    # What lies in /output and /tmp is memory too, and has a limit of its own. The keeper is one process more.
    memory = ((limits.memory_mb + limits.disk_mb) << 20) + free_bytes
    quota = limits.vcpu * _PERIOD_US
    if controller == "memory":
        if (directory / "memory.limit_in_bytes").exists():
            _write(directory / "memory.limit_in_bytes", memory)
            _write_if_there(directory / "memory.memsw.limit_in_bytes", memory)
        else:
            _write(directory / "memory.max", memory)
            _write_if_there(directory / "memory.swap.max", 0)
    elif controller == "pids":
        _write(directory / "pids.max", limits.pids + 1)
    elif (directory / "cpu.cfs_quota_us").exists():
        _write(directory / "cpu.cfs_period_us", _PERIOD_US)
        _write(directory / "cpu.cfs_quota_us", quota)
    else:
        _write(directory / "cpu.max", f"{quota} {_PERIOD_US}")


def _write(path: Path, value: object) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, str(value).encode("ascii"))
    finally:
        os.close(fd)


def _write_if_there(path: Path, value: object) -> None:
    with suppress(FileNotFoundError):
        _write(path, value)


def _counter(directory: Path | None, names: tuple[str, ...], key: str) -> int:
    for name in names if directory else ():
        with suppress(OSError, ValueError):
            rows = (Path(str(directory)) / name).read_text(encoding="ascii").splitlines()
            return sum(int(value) for word, _, value in (row.partition(" ") for row in rows) if word == key)
    return 0


def _number(directory: Path | None, names: tuple[str, ...]) -> int | None:
    for name in names if directory else ():
        with suppress(OSError, ValueError):
            return int((Path(str(directory)) / name).read_text(encoding="ascii"))
    return None


def _remove(directory: Path) -> None:
    """A group can be removed once the last process has left it, which may take the kernel a moment."""
    give_up_at = time.monotonic() + _REMOVE_WITHIN_S
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() >= give_up_at:
                logger.warning("a control group could not be removed", exc_info=True)
                return
            time.sleep(0.002)
        else:
            return


@lru_cache(maxsize=1)
def find_control_groups() -> ControlGroups:
    """What this worker may use here; nothing at all where it may make no groups."""
    own = dict(_own_groups(Path("/proc/self/cgroup").read_text(encoding="utf-8")))
    mounts = list(_hierarchies(Path("/proc/self/mountinfo").read_text(encoding="utf-8")))
    parents: dict[str, Path] = {}
    for controller in CONTROLLERS:
        for mount_point, root, names in mounts:
            is_unified = names is None
            if not is_unified and controller not in (names or ()):
                continue
            path = own.get("" if is_unified else controller, "/").removeprefix(root.rstrip("/"))
            parent = mount_point / path.strip("/")
            parent = parent if parent.is_dir() else mount_point
            if _can_hold(parent, controller, is_unified=is_unified):
                parents[controller] = parent
                break
    for parent in set(parents.values()):
        _remove_abandoned(parent)
    return ControlGroups(parents)


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    for row in text.splitlines():
        _hierarchy, names, path = row.split(":", 2)
        for name in names.split(","):
            yield name, path


def _hierarchies(text: str) -> Iterator[tuple[Path, str, frozenset[str] | None]]:
    """Mount point, root within the hierarchy, and controllers of each; None stands for version 2."""
    for row in text.splitlines():
        before, _, after = row.partition(" - ")
        fields, (kind, _source, options) = before.split(), after.split(" ", 2)
        if kind == "cgroup":
            yield Path(fields[4]), fields[3], frozenset(options.split(","))
        elif kind == "cgroup2":
            yield Path(fields[4]), fields[3], None


def _can_hold(parent: Path, controller: str, *, is_unified: bool) -> bool:
    """True if a group made here has the controller and takes the limits that are written in every job."""
    probe = parent / f"{PREFIX}{os.getpid()}-probe-{threading.get_ident()}"
    try:
        if is_unified and controller not in (parent / "cgroup.subtree_control").read_text(encoding="ascii").split():
            _write(parent / "cgroup.subtree_control", f"+{controller}")
        probe.mkdir()
    except OSError:
        return False
    try:
        limits = Limits(vcpu=1, memory_mb=64, disk_mb=1, timeout_seconds=1, pids=4)
        _write_limits(controller, probe, limits, free_bytes=0)
    except OSError:
        return False
    else:
        return True
    finally:
        _remove(probe)


def _remove_abandoned(parent: Path) -> None:
    """Groups whose worker is dead; its processes are dead too."""
    for directory in parent.glob(f"{PREFIX}*"):
        found = re.match(rf"{PREFIX}(\d+)-", directory.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            with suppress(OSError):
                directory.rmdir()
