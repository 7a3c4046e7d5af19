"""The warm process that every invocation is forked from, and the two processes that an invocation consists of.

It runs inside the sandbox, on the runtime's Python, as process 1 of its own process namespace: when it ends, the
kernel ends everything below it. It holds the checkers' modules and nothing else. For each job it forks a process 1 of
a fresh process namespace (the *keeper*), which makes the job's mounts, gives up what it could do, and forks the
checker. When the keeper ends, by itself or by the worker's signal, the kernel ends all that is left of the job.

The keeper is out of a checker's reach: no signal from inside reaches process 1, tracing is refused by the filter, and
the socket on which the end is reported is closed in the checker.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import types
from typing import Any

from verification.engine.sandbox.embedded import kernel

EXIT_MEMORY = 86
MAX_MESSAGE_BYTES = 128 * 1024
MAX_FDS = 128
MAX_OPEN_FILES = 256
STACK_BYTES = 8 << 20
INPUT_INODES, OUTPUT_INODES = 64, 4096
# What most script checkers import; loaded once, it costs them nothing.
WARM_MODULES = ("collections", "dataclasses", "decimal", "fractions", "hashlib", "itertools", "json", "math", "re")


def main(orders: dict[str, Any]) -> None:
    """Serve jobs until the worker closes its end, or dies; never returns."""
    control = socket.socket(fileno=int(orders["control"]))
    control.set_inheritable(False)
    for name in WARM_MODULES:
        importlib.import_module(name)
    for directory, modules in orders["builtins"].items():
        sys.path.append(directory)
        for module in modules:
            _import_quietly(module)
        sys.path.remove(directory)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    system_calls = kernel.prepare_filter(bytes.fromhex(orders["filter"]))
    own_pids = os.pidfd_open(os.getpid())
    orders.clear()
    gc.collect()
    gc.freeze()
    control.send(b"ready")
    _serve(control, own_pids, system_calls)


def _import_quietly(module: str) -> None:
    """A builtin that fails to load fails when it is run, in its own sandbox and with its own log."""
    try:
        importlib.import_module(module)
    except Exception:  # noqa: BLE001 - whatever it is, it shows again when the builtin is run
        sys.modules.pop(module, None)


def _serve(control: socket.socket, own_pids: int, system_calls: Any) -> None:
    jobs: dict[int, tuple[int, socket.socket]] = {}
    poller = select.poll()
    poller.register(control.fileno(), select.POLLIN)
    while True:
        for fd, _event in poller.poll():
            if fd == control.fileno():
                _word, fds, _flags, _address = socket.recv_fds(control, 16, 1)
                if not fds:
                    os._exit(0)
                job = socket.socket(fileno=fds[0])
                pid, pidfd = _start(job, control, own_pids, system_calls)
                jobs[pidfd] = (pid, job)
                poller.register(pidfd, select.POLLIN)
            elif fd in jobs:
                pid, job = jobs.pop(fd)
                poller.unregister(fd)
                os.close(fd)
                _pid, _status, used = os.wait4(pid, 0)
                _tell(job, {"used": [used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]})
                job.close()


def _tell(job: socket.socket, message: dict[str, Any], fds: list[int] | None = None) -> None:
    """Say it, unless the worker no longer listens."""
    with contextlib.suppress(OSError):
        socket.send_fds(job, [json.dumps(message).encode()], fds or [])


def _start(job: socket.socket, control: socket.socket, own_pids: int, system_calls: Any) -> tuple[int, int]:
    """The keeper's process id and pidfd, after the worker has been given the latter."""
    kernel.unshare(kernel.NEW_PIDS)
    pid = os.fork()
    if pid == 0:
        control.close()
        os.close(own_pids)
        _keep(job, system_calls)
    kernel.enter(own_pids, kernel.NEW_PIDS)
    pidfd = os.pidfd_open(pid)
    _tell(job, {"keeper": True}, [pidfd])
    return pid, pidfd


def _keep(job: socket.socket, system_calls: Any) -> None:
    """The keeper: make the surroundings, start the checker, report how it ended, and take all else with it."""
    try:
        _prepare(job)
        request, log, files = _receive(job)
        _place_inputs(files)
        output = _make_output(request["disk_bytes"])
        kernel.unshare(kernel.NEW_USER)
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        _tell(job, {"started": True}, [output])
        checker = os.fork()
        if checker == 0:
            _become_checker(job, log, request, system_calls)
    except BaseException as failure:  # noqa: BLE001 - whatever it is, the worker must hear of it
        _tell(job, {"failed": f"{type(failure).__name__}: {failure}"})
        os._exit(1)
    os.closerange(0, job.fileno())
    os.closerange(job.fileno() + 1, 1 << 20)
    while True:
        pid, status = os.wait()
        if pid == checker:
            _tell(job, {"ended": status})
            os._exit(0)


def _prepare(job: socket.socket) -> None:
    """Everything that takes the kernel long, ahead of the job: joining the groups and making the namespaces."""
    _word, groups, _flags, _address = socket.recv_fds(job, MAX_MESSAGE_BYTES, MAX_FDS)
    for group in groups:
        os.write(group, b"0")
        os.close(group)
    kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_IPC | kernel.NEW_HOSTNAME | kernel.NEW_NETWORK)


def _receive(job: socket.socket) -> tuple[dict[str, Any], int, list[tuple[str, int, int]]]:
    """The request, the log's descriptor, and the inputs as (path, size, descriptor)."""
    data, fds, _flags, _address = socket.recv_fds(job, MAX_MESSAGE_BYTES, MAX_FDS)
    if not data:
        # The worker needs no further job.
        os._exit(0)
    request = json.loads(data)
    files: list[tuple[str, int, int]] = []
    for _ in range(request["batches"]):
        data, file_fds, _flags, _address = socket.recv_fds(job, MAX_MESSAGE_BYTES, MAX_FDS)
        rows = json.loads(data)
        if len(rows) != len(file_fds):
            raise OSError("not all descriptors of the inputs came through")
        files += [(path, size, fd) for (path, size), fd in zip(rows, file_fds, strict=True)]
    return request, fds[0], files


def _place_inputs(files: list[tuple[str, int, int]]) -> None:
    """Copy the inputs below /input, which then is read-only."""
    pages = sum(-(-size // 4096) for _path, size, _fd in files)
    inodes = INPUT_INODES + 4 * len(files)
    flags = kernel.PLAIN | kernel.NO_EXECUTION
    kernel.mount_memory("/input", flags, size_bytes=(pages + 16) * 4096, inodes=inodes, mode="0755")
    for path, size, source in files:
        os.makedirs(path.rpartition("/")[0], exist_ok=True)  # noqa: PTH103
        target = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)
        left = size
        while left and (sent := os.sendfile(target, source, None, left)):
            left -= sent
        if left:
            raise OSError(f"the bytes of {path} ended {left} early")
        os.close(target)
        os.close(source)
    kernel.make_read_only("/input")


def _make_output(disk_bytes: int) -> int:
    """One file system for /output and /tmp, so that its size bounds both; a descriptor of /output.

    The descriptor keeps the file system after every process has ended, so that the worker can read it in peace.
    """
    flags = kernel.PLAIN | kernel.NO_EXECUTION
    kernel.mount_memory("/output", flags, size_bytes=disk_bytes, inodes=OUTPUT_INODES, mode="0700")
    for name in ("/output/output", "/output/tmp"):
        os.mkdir(name, 0o700)  # noqa: PTH102
    kernel.bind("/output/tmp", "/tmp")  # noqa: S108
    kernel.bind("/output/output", "/output")
    return os.open("/output", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _become_checker(job: socket.socket, log: int, request: dict[str, Any], system_calls: Any) -> None:
    """The checker: limits, the filter, then its program; never returns."""
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        failure_fd = os.dup(job.fileno())
        os.closerange(3, failure_fd)
        os.closerange(failure_fd + 1, 1 << 20)
        os.set_inheritable(failure_fd, False)
        os.chdir("/tmp")  # noqa: S108
        os.umask(0o077)
        # Python ignores SIGXFSZ, and would go on after the limit; the default ends the process, recognisably.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        for name, value in request["rlimits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        kernel.apply_filter(system_calls)
        os.close(failure_fd)
    except BaseException as failure:  # noqa: BLE001
        try:
            os.write(failure_fd, json.dumps({"failed": f"{type(failure).__name__}: {failure}"}).encode())
        finally:
            os._exit(1)
    os._exit(_run(request))


def _run(request: dict[str, Any]) -> int:
    """Exit status of the program, as the interpreter itself would have it; threads left running are not waited for."""
    try:
        if request["module"] is None:
            _forget_builtins("")
            status = _run_script(request["argv"])
        else:
            _forget_builtins(f"{request['directory']}/")
            sys.path.append(request["directory"])
            sys.argv = [request["module"], *request["argv"]]
            status = _exit_status(importlib.import_module(request["module"]).main(request["argv"]))
    except SystemExit as leaving:
        status = _exit_status(leaving.code)
    except MemoryError:
        status = EXIT_MEMORY
    except BaseException:  # noqa: BLE001 - the checker's failure is the checker's; its traceback belongs in the log
        sys.excepthook(*sys.exc_info())
        status = 1
    try:
        if "atexit" in sys.modules:
            sys.modules["atexit"]._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except MemoryError:
        return EXIT_MEMORY
    except (OSError, ValueError, AttributeError):
        return status or 1
    return status


def _forget_builtins(directory: str) -> None:
    """Take out what was loaded for other checkers: two may call their modules the same."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith("/builtin/") and not (directory and file.startswith(directory)):
            del sys.modules[name]


def _run_script(argv: list[str]) -> int:
    with open(argv[0], "rb") as file:  # noqa: PTH123
        text = file.read()
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=argv[0], __builtins__=builtins)
    sys.modules["__main__"] = module
    sys.argv = list(argv)
    exec(compile(text, argv[0], "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - this is what it is for
    return 0


def _exit_status(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        # Only the low byte reaches the parent; a multiple of 256 must not turn into success.
        return (value & 0xFF) or int(value != 0)
    sys.stderr.write(f"{value}\n")
    return 1
