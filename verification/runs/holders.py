"""Who holds a lease, written so that a neighbour on the same machine can tell whether that process still lives."""

import os
import socket
from functools import lru_cache
from pathlib import Path


def this_process() -> str:
    """This process as a lease holder: machine, pid namespace, pid and the moment it started (clock ticks)."""
    pid = os.getpid()
    return f"{_machine()}|{pid}|{_started(pid)}"


def is_dead(holder: str) -> bool:
    """True only if the holder ran on this machine, in this pid namespace, and is certainly gone."""
    machine, separator, rest = holder.rpartition("|")[0].rpartition("|")
    if not separator or machine != _machine() or not rest.isdigit():
        return False
    return _started(int(rest)) != holder.rpartition("|")[2]


@lru_cache(maxsize=1)
def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    if not boot.exists():
        return f"{socket.gethostname()}?"
    return f"{socket.gethostname()}|{boot.read_text().strip()[:8]}|{namespace.readlink()}"[:110]


def _started(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # After the command, which may hold anything, the state is field 3 and the start time field 22.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
