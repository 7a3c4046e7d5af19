"""A worker's hold on one zygote: how it is started, on which user, and how its end is seen to."""

import base64
import fcntl
import json
import logging
import os
import platform
import select
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from verification.engine.checkers.registry import Builtin
from verification.engine.sandbox.base import BackendUnavailable, ImageMissing
from verification.engine.sandbox.embedded import kernel, launcher, seccomp, zygote
from verification.engine.sandbox.embedded.cgroups import ControlGroups, JobGroups
from verification.engine.sandbox.images import Runtime

logger = logging.getLogger(__name__)

# 65534 is what everything unmapped is shown as, and other services of the machine run under it.
FIRST_SLOT_USER, LAST_SLOT_USER = 60001, 60999
START_WITHIN_S = 30.0
END_WITHIN_S = 5.0
BUILTIN_ROOT = "/builtin"

# The texts are handed over, and not paths: what runs is what this worker was started with, and inside the sandbox
# there is no package to import from. Names are taken away again, or they would hide a checker's own package.
BOOT = """
import json, sys
with open(int(sys.argv[1]), "rb", closefd=sys.argv[1] != "0") as file:
    orders = json.load(file)
texts = orders.pop("modules")
package = type(sys)(next(iter(texts)).rpartition(".")[0])
sys.modules[package.__name__] = package
for name, text in texts.items():
    module = type(sys)(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)
    setattr(package, name.rpartition(".")[2], module)
for name in (package.__name__, *texts):
    del sys.modules[name]
del texts, package
module.main(orders)
"""


@dataclass(frozen=True)
class Loaded:
    """A builtin as a zygote holds it: where its sources lie in the sandbox, and the module to run."""

    directory: str
    module: str


@dataclass(frozen=True)
class Prepared:
    """A keeper that waits for its job: the socket to it, and the groups it is in."""

    socket: socket.socket
    groups: JobGroups


class Slot:
    """One zygote. It serves one job at a time and is not shared between threads."""

    def __init__(self, runtime: Runtime, builtins: Iterable[Builtin]) -> None:
        """Start it.

        Raises:
            BackendUnavailable: something is missing here; the message names it.
        """
        self.process_id = os.getpid()
        self._prepared: Prepared | None = None
        self.loaded: dict[str, Loaded] = {}
        self.runtime_digest = runtime.image_digest
        machine = platform.machine()
        if sys.platform != "linux" or not seccomp.is_known_machine(machine):
            raise BackendUnavailable(
                f"expected Linux on x86_64 or aarch64, found {sys.platform} on {machine}; the embedded backend has "
                "no system call filter for it"
            )
        self.user, self._user_lock = _free_user()
        self.control, self._launcher = self._start(runtime, self._orders(runtime, builtins, machine))
        _live.add(self)

    def _orders(self, runtime: Runtime, builtins: Iterable[Builtin], machine: str) -> dict[str, Any]:
        files: dict[str, bytes] = {}
        modules: dict[str, list[str]] = {}
        roots: dict[Path, str] = {}
        for builtin in builtins:
            folder = roots.setdefault(builtin.root, str(len(roots)))
            try:
                digest = builtin.image_digest
                files.update({f"{folder}/{path}": content for path, content in _builtin_files(builtin).items()})
                if builtin.image_digest != digest:
                    continue
            except OSError:
                continue
            self.loaded[digest] = Loaded(f"{BUILTIN_ROOT}/{folder}", builtin.module)
            names = modules.setdefault(f"{BUILTIN_ROOT}/{folder}", [])
            names += [name for name in _module_names(builtin) if name not in names]
        return {
            "modules": {module.__name__: _text(module) for module in (kernel, launcher)},
            "zygote_modules": {module.__name__: _text(module) for module in (kernel, zygote)},
            "boot": BOOT,
            "user": self.user,
            "runtime": str(runtime.root_path),
            "mount_point": str(runtime.mount_point),
            "python": runtime.python,
            "files": [
                {"path": path, "content": base64.b64encode(content).decode("ascii")} for path, content in files.items()
            ],
            "builtins": modules,
            "filter": seccomp.filter_program(machine).hex(),
        }

    def _start(self, runtime: Runtime, orders: dict[str, Any]) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
        if not runtime.root_path.is_dir():
            self._release_user()
            raise ImageMissing(f"expected the runtime {runtime.name} in {runtime.root_path}; build it again")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        started = None
        try:
            orders["control"] = theirs.fileno()
            started = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-c", BOOT, "0"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            pipe = cast("IO[bytes]", started.stdin)
            with suppress(BrokenPipeError), pipe:
                pipe.write(json.dumps(orders).encode())
            _expect_ready(ours, started)
        except BaseException:
            ours.close()
            theirs.close()
            if started is not None:
                _see_to_the_end(started)
            self._release_user()
            raise
        return ours, started

    def prepare(self, control_groups: ControlGroups) -> None:
        """Have the next job's keeper forked, so that it waits, in its groups and namespaces, when the job comes.

        Raises:
            BackendUnavailable: the zygote is gone.
            OSError: no descriptors or groups are to be had.
        """
        groups = control_groups.make()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                socket.send_fds(ours, [b"groups"], groups.fds)
                socket.send_fds(self.control, [b"job"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            groups.remove()
            raise BackendUnavailable(f"expected a zygote, found it gone: {error}; the next try starts one") from error
        groups.close()
        self._prepared = Prepared(ours, groups)

    def take(self, control_groups: ControlGroups) -> "Prepared":
        """The prepared job; it is the caller's from here on."""
        if self._prepared is None:
            self.prepare(control_groups)
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            raise BackendUnavailable("expected a prepared job, found none")
        return prepared

    def close(self) -> None:
        """End the zygote, and with it whatever it still runs; in a forked child, only let go of it."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.socket.close()
        self.control.close()
        if self.process_id == os.getpid():
            _see_to_the_end(self._launcher)
            if prepared is not None:
                prepared.groups.remove()
        else:
            # The parent's child, not ours: nothing is to be waited for, and no warning to be given.
            self._launcher.returncode = 0
        self._release_user()

    def _release_user(self) -> None:
        if self._user_lock is not None:
            os.close(self._user_lock)
            self._user_lock = None


# A zygote ends when the last copy of its control socket is closed; a fork of this worker must not hold one.
_live: "weakref.WeakSet[Slot]" = weakref.WeakSet()


def _let_go_after_fork() -> None:
    for slot in list(_live):
        slot.close()


os.register_at_fork(after_in_child=_let_go_after_fork)


def _expect_ready(control: socket.socket, started: "subprocess.Popen[bytes]") -> None:
    control.settimeout(START_WITHIN_S)
    try:
        found = control.recv(64 * 1024)
    except OSError as error:
        raise BackendUnavailable(f"expected the zygote to be ready, found {error}") from error
    control.settimeout(None)
    if found == b"ready":
        return
    if found:
        raise BackendUnavailable(f"cannot isolate here, missing: {json.loads(found)['missing']}")
    with suppress(subprocess.TimeoutExpired):
        started.wait(END_WITHIN_S)
    said = b""
    if started.stderr is not None:
        os.set_blocking(started.stderr.fileno(), False)
        said = started.stderr.read() or b""
    raise BackendUnavailable(
        f"expected the zygote to be ready, found its end (status {started.returncode}): "
        f"{said[-2000:].decode(errors='replace').strip() or 'it said nothing'}"
    )


def _see_to_the_end(started: "subprocess.Popen[bytes]") -> None:
    """Wait for the launcher, which ends with its zygote, which ends with the control socket."""
    if started.poll() is not None:
        return
    pidfd = os.pidfd_open(started.pid)
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        give_up_at = time.monotonic() + END_WITHIN_S
        while time.monotonic() < give_up_at:
            if poller.poll(int(END_WITHIN_S * 1000)):
                break
        else:
            logger.warning("a zygote did not end by itself", extra={"pid": started.pid})
            started.kill()
    finally:
        os.close(pidfd)
        started.wait()
        for pipe in (started.stdin, started.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _free_user() -> tuple[int | None, int | None]:
    """A user that no other slot of this machine has now, and the lock that says so; none where we are not root."""
    if os.geteuid() != 0:
        return None, None
    folder = Path("/run/tfp-slots")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for user in range(FIRST_SLOT_USER, LAST_SLOT_USER + 1):
            lock = os.open(folder / str(user), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
            else:
                return user, lock
    except OSError as error:
        raise BackendUnavailable(f"expected to lock a slot's user in {folder}, found: {error}") from error
    raise BackendUnavailable(f"expected a free user from {FIRST_SLOT_USER} to {LAST_SLOT_USER}, found all in use")


def _builtin_files(builtin: Builtin) -> dict[str, bytes]:
    """The sources, an empty `__init__.py` for each package above them, and what was compiled from C beside them."""
    files: dict[str, bytes] = {}
    for source in builtin.sources:
        path = builtin.root / source
        files[source] = path.read_bytes()
        if path.suffix == ".c":
            for library in sorted((path.parent / "__pycache__").glob(f"{path.stem}.*.so")):
                files[str(library.relative_to(builtin.root))] = library.read_bytes()
        for parent in list(Path(source).parents)[:-1]:
            files.setdefault(str(parent / "__init__.py"), b"")
    return files


def _module_names(builtin: Builtin) -> list[str]:
    return [
        source.removesuffix(".py").replace("/", ".")
        for source in builtin.sources
        if source.endswith(".py") and not source.endswith("__init__.py")
    ]


def _text(module: Any) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")
