"""The process that isolates itself and then becomes the zygote: it runs on the machine's Python and sees the machine.

It is started bare (`-I -S -B`, empty environment), gets its orders on a pipe, builds a root of nothing but the
runtime, drops to the slot's user, enters fresh namespaces, and executes the runtime's own Python there: after that
no memory, descriptor or path of the machine is left. Whatever is refused on the way is named on the control socket.
Everything is imported at the top: once it is the slot's user, it may not be able to read the machine's Python.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
from typing import Any

from verification.engine.sandbox.embedded import kernel

DEVICES = ("null", "zero", "urandom")
EMPTY_DIRECTORIES = ("input", "output", "tmp", "builtin", "dev")
NAMESPACES = kernel.NEW_MOUNTS | kernel.NEW_NETWORK | kernel.NEW_IPC | kernel.NEW_HOSTNAME | kernel.NEW_PIDS


def main(orders: dict[str, Any]) -> None:
    """Becomes the parent of the zygote and ends with it; never returns."""
    control = int(orders["control"])
    step = "start"
    try:
        user = orders["user"]
        if user is not None:
            step = "private mounts and the runtime's root, as root"
            kernel.unshare(kernel.NEW_MOUNTS)
            kernel.make_private()
            _assemble(orders)
            step = f"the change to the slot's user {user}"
            _become(user)
        step = "a user namespace (kernel.unprivileged_userns_clone, user.max_user_namespaces, or a container's filter)"
        ids = (os.geteuid(), os.getegid())
        kernel.unshare(kernel.NEW_USER)
        _map_ids(*ids)
        step = "mount, network, IPC, host name and process namespaces"
        kernel.unshare(NAMESPACES)
        kernel.make_private()
        if user is None:
            step = "the runtime's root"
            _assemble(orders)
        step = "pivot_root to the runtime's root"
        _enter_root()
        step = "the zygote"
        zygote = os.fork()
        if zygote == 0:
            _execute(orders, control)
    except BaseException as failure:  # noqa: BLE001 - whatever it is, the worker must hear of it
        _say_missing(control, step, failure)
        os._exit(1)
    for fd in range(3):
        os.close(fd)
    os.close(control)
    _pid, status = os.waitpid(zygote, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _say_missing(control: int, step: str, failure: BaseException) -> None:
    os.write(control, json.dumps({"missing": f"{step}: {failure}"}).encode())


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    # A change of user hides /proc/self from its owner; the id maps are to be written there.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def _map_ids(user: int, group: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(fd, text.encode())
        os.close(fd)


def _assemble(orders: dict[str, Any]) -> None:
    """A small file system in memory that holds mounts of the runtime, the builtins' sources and three devices.

    The current directory afterwards is this root.
    """
    runtime, target = orders["runtime"], orders["mount_point"]
    size = sum(len(file["content"]) + 8192 for file in orders["files"]) + (1 << 20)
    kernel.mount_memory(target, kernel.PLAIN, size_bytes=size, inodes=4096, mode="0755")
    os.chdir(target)
    os.umask(0o022)
    for name in EMPTY_DIRECTORIES:
        os.mkdir(name)  # noqa: PTH102
    for name in sorted(os.listdir(runtime)):  # noqa: PTH208
        source = f"{runtime}/{name}"
        found = os.lstat(source)
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(source), name)  # noqa: PTH115, PTH211
        elif stat.S_ISDIR(found.st_mode) and name not in EMPTY_DIRECTORIES:
            os.mkdir(name)  # noqa: PTH102
            kernel.bind(source, name)
            kernel.make_read_only(name)
    for name in DEVICES:
        os.close(os.open(f"dev/{name}", os.O_CREAT | os.O_WRONLY, 0o444))
        kernel.bind(f"/dev/{name}", f"dev/{name}")
    for file in orders["files"]:
        path = f"builtin/{file['path']}"
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)
        with open(fd, "wb") as out:  # noqa: PTH123
            out.write(base64.b64decode(file["content"]))
    kernel.make_read_only(target)


def _enter_root() -> None:
    # The slot's user may not be allowed to walk to the mount point, so it is shown where everybody may go; the copy,
    # unlike a mount that came from outside the user namespace, can be made the root.
    kernel.bind(".", "/proc")
    os.chdir("/proc")
    kernel.swap_root()


def _execute(orders: dict[str, Any], control: int) -> None:
    socket.sethostname("sandbox")
    handed_on = {name: orders[name] for name in ("control", "builtins", "filter")}
    text = json.dumps({"modules": orders["zygote_modules"], **handed_on})
    orders_fd = os.memfd_create("orders", 0)
    os.write(orders_fd, text.encode())
    os.lseek(orders_fd, 0, os.SEEK_SET)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.set_inheritable(control, True)
    arguments = [orders["python"], "-I", "-S", "-B", "-c", orders["boot"], str(orders_fd)]
    os.execve(orders["python"], arguments, {})  # noqa: S606
