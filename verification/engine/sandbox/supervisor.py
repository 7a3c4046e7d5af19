"""The small process between a worker and a builtin checker: starts it, watches it, leaves nothing of it alive.

It is started by `process.py` as a bare interpreter (`-I -S -B`) that receives this module's compiled code over the
control pipe, and forks the checker, so that a check costs one interpreter start and little more. It therefore
imports only what is cheap there: `typing`, `signal`, `ctypes` and `json` would each cost half a start again, so C
cores are used where the difference counts.

It is the subreaper of everything the checker starts: a process that daemonises itself, in a session of its own or
not, becomes its child and is ended with the rest. It ends everything when the checker ends, when the control pipe
closes (the worker asks, or is dead), and on SIGTERM, which the kernel sends if the worker's thread dies.

The report pipe carries two lines: `started`, once the limits are in force, then `ended <status> <limit> <cpu
seconds> <peak bytes>`. A checker runs as the same user, so whatever it can do to this process ends in a failed
execution or a limit: a result needs a result file as well, and no report of ours can stand in for one.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import time

TYPE_CHECKING = False  # `typing` itself would cost a third of a start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SIGKILL = 9
SIGTERM = 15
SIGCONT = 18
SIGSTOP = 19
SIGXCPU = 24
SIGXFSZ = 25

# What the checker's process leaves with when Python could not get memory under the limit.
EXIT_MEMORY = 86

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

TICK_MS = 100
END_WITHIN_S = 5.0
MAX_OPEN_FILES = 256

_stop_signals: list[int] = []


def main(arguments: Sequence[str]) -> int:
    """Exit status of the supervisor; what happened to the checker goes to the report pipe.

    Args:
        arguments: control fd, report fd, then memory bytes, bytes per file, CPU seconds and processes, then the
            directory to import the checker from, its module, and the checker's own arguments.
    """
    control, report = int(arguments[0]), int(arguments[1])
    memory_bytes, file_bytes, cpu_s, max_processes = (int(text) for text in arguments[2:6])
    prctl = _prctl_function()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    _set_handler(SIGTERM, lambda number, _frame: _stop_signals.append(number))
    prctl(PR_SET_PDEATHSIG, SIGTERM)
    supervisor = os.getpid()
    checker = os.fork()
    if checker == 0:
        _become_checker(prctl, supervisor, control, report, memory_bytes, file_bytes, cpu_s)
        os._exit(_run_checker(arguments[6], arguments[7], list(arguments[8:])))
    _let_go_of_the_log()
    status, limit = _watch(checker, control, max_processes)
    has_ended = _end_children(supervisor)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = (
        f"ended {'-' if status is None else status} {limit or '-'} {used.ru_utime + used.ru_stime:.6f} "
        f"{used.ru_maxrss * 1024} {int(has_ended)}\n"
    )
    os.write(report, line.encode("ascii"))
    return 0


def _become_checker(
    prctl: Callable[[int, int], None],
    supervisor: int,
    control: int,
    report: int,
    memory_bytes: int,
    file_bytes: int,
    cpu_s: int,
) -> None:
    """Put the limits in force, then say so; on any failure say that instead and never return."""
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        # Python ignores SIGXFSZ, and would go on after the limit; the default ends the process, recognisably.
        for number in (SIGTERM, SIGXFSZ):
            _set_handler(number, None)
        os.umask(0o077)
        # A limit of the worker's own that is lower makes these fail, and so it should: a candidate that is given
        # less than the Implementation promises would be told that it took too much.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        os.write(report, b"started\n")
    except BaseException as failure:  # noqa: BLE001 - whatever it is, the worker must hear of it
        os.write(report, f"failed {type(failure).__name__}: {failure}\n".encode("ascii", "replace"))
        os._exit(1)
    os.close(control)
    os.close(report)


def _run_checker(root: str, module: str, argv: list[str]) -> int:
    """Exit status of the checker's `main`, as the interpreter itself would have it."""
    sys.argv = [module, *argv]
    if root not in sys.path:
        # At the end: nothing beside the checker may stand in for a module of the standard library.
        sys.path.append(root)
    try:
        __import__(module)
        status = _exit_status(sys.modules[module].main(argv))
    except SystemExit as leaving:
        status = _exit_status(leaving.code)
    except MemoryError:
        status = EXIT_MEMORY
    except BaseException:  # noqa: BLE001 - the checker's failure is the checker's; its traceback belongs in the log
        sys.excepthook(*sys.exc_info())
        status = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except MemoryError:
        return EXIT_MEMORY
    except (OSError, ValueError):
        return status or 1
    return status


def _exit_status(value: object) -> int:
    if value is None:
        return 0
    # Only the low byte reaches the parent; a multiple of 256 must not turn into success.
    return (value & 0xFF) or int(value != 0) if isinstance(value, int) else 1


def _watch(checker: int, control: int, max_processes: int) -> tuple[int | None, str | None]:
    """Wait status of the checker, or None where it has to be ended, and the limit that it broke."""
    poller = select.poll()
    poller.register(os.pidfd_open(checker), select.POLLIN)
    poller.register(control, select.POLLIN)
    while True:
        ready = poller.poll(TICK_MS)
        status = _reap(checker)
        if status is not None:
            return status, None
        if _stop_signals or any(fd == control for fd, _ in ready):
            return None, None
        if len(descendants(os.getpid())) > max_processes:
            return None, "limit_pids"


def _reap(checker: int) -> int | None:
    """Collect every process that has ended; the wait status of the checker if it is among them."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == checker:
            return status
        if pid == 0:
            return None


def _end_children(supervisor: int) -> bool:
    """True once no descendant is left; False if one could not be ended in time (say, stuck in the kernel)."""
    deadline = time.monotonic() + END_WITHIN_S
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        if time.monotonic() >= deadline:
            return False
        end_descendants(supervisor)
        time.sleep(0.001)


def descendants(root: int) -> list[int]:
    """Process ids below `root`, as far as one walk sees them."""
    found: list[int] = []
    pending = [root]
    while pending:
        children = _children(pending.pop())
        found += children
        pending += children
    return found


def end_descendants(root: int, *, within_s: float = 1.0) -> None:
    """Kill everything below `root`.

    All are stopped before any is killed: a stopped process cannot fork, so the walk catches up with one that does
    nothing else, and a killed parent cannot hand its children out of the walk.
    """
    deadline = time.monotonic() + within_s
    stopped: set[int] = set()
    while fresh := [pid for pid in descendants(root) if pid not in stopped]:
        for pid in fresh:
            _send(pid, SIGSTOP)
        stopped.update(fresh)
        if time.monotonic() >= deadline:
            break
    for pid in stopped:
        _send(pid, SIGKILL)


def _children(pid: int) -> list[int]:
    """Every thread keeps children of its own; a process that has just ended has none."""
    found: list[int] = []
    try:
        # No pathlib, no contextlib: each import here is paid for by every check.
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as children:  # noqa: PTH123
                found += [int(text) for text in children.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def _send(pid: int, number: int) -> None:
    try:  # noqa: SIM105 - contextlib is not imported here
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _let_go_of_the_log() -> None:
    """Leave the log pipe to the checker, and take /dev/null instead."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _set_handler(number: int, handler: Any) -> None:
    """`signal.signal`, without the half interpreter start that the `enum`s of `signal` cost; None is the default."""
    try:
        import _signal as signals  # type: ignore[import-not-found]
    except ImportError:
        import signal as signals
    signals.signal(number, signals.SIG_DFL if handler is None else handler)


def _prctl_function() -> Callable[[int, int], None]:
    """`prctl` of the C library through the core of `ctypes`, or through all of it where the core has changed."""
    function: Any
    try:
        import _ctypes

        class Word(_ctypes._SimpleCData):  # type: ignore[type-arg]
            _type_ = "L"

        class Function(_ctypes.CFuncPtr):
            _flags_ = _ctypes.FUNCFLAG_CDECL
            _restype_ = Word
            _argtypes_ = (Word,) * 5

        function = Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"))  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):
        import ctypes

        function = ctypes.CDLL(None).prctl
        function.restype = ctypes.c_ulong
        function.argtypes = [ctypes.c_ulong] * 5

    def prctl(option: int, value: int) -> None:
        if function(option, value, 0, 0, 0) != 0:
            raise OSError(f"prctl({option}, {value}) was refused")

    return prctl
