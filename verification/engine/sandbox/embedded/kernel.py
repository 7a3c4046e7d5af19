"""What Linux is asked for and Python has no word for: namespaces, mounts, capabilities and the filter, by `ctypes`.

This text is run inside the sandbox, before the package exists there, so it imports nothing of ours.
"""

from __future__ import annotations

import ctypes
import os

NEW_MOUNTS = 0x00020000
NEW_HOSTNAME = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PIDS = 0x20000000
NEW_NETWORK = 0x40000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTION = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
PLAIN = NO_SUID | NO_DEVICES
DETACH = 2

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
# No capability comes back by being root, none is kept by changing the user, and the bits are locked.
SECURE_BITS = 0x2F | 0xC0
_CAPABILITY_VERSION = 0x20080522
# pivot_root has no wrapper in the C library.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _check(status: int, what: str) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Fresh namespaces of these kinds for this process (of pids: for its next children)."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def enter(fd: int, flags: int) -> None:
    """Join the namespaces of the process behind a pidfd."""
    _check(_libc.setns(fd, flags), f"setns({flags:#x})")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2)."""
    status = _libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode() or None)
    _check(status, f"mount of {kind or 'a directory'} on {target}")


def mount_memory(target: str, flags: int, *, size_bytes: int, inodes: int, mode: str) -> None:
    """A file system in memory that holds so many bytes and so many files."""
    # A size of 0 would mean "no limit".
    pages = max(1, -(-size_bytes // 4096))
    mount("tmpfs", target, "tmpfs", flags, f"size={pages * 4096},nr_inodes={inodes},mode={mode}")


def bind(source: str, target: str) -> None:
    """Show a directory or file in another place as well, with what is mounted below it."""
    mount(source, target, "", BIND | RECURSIVE)


def make_read_only(target: str) -> None:
    """Take writing, set-user-id and devices from one mount; what it forbids already stays forbidden."""
    present = os.statvfs(target).f_flag & NO_EXECUTION
    mount("", target, "", BIND | REMOUNT | READ_ONLY | PLAIN | present)


def make_private() -> None:
    """No mount made here is seen elsewhere, and none made elsewhere here."""
    mount("", "/", "", RECURSIVE | PRIVATE)


def swap_root() -> None:
    """The current directory, which is a mount, becomes the root, and the old root is gone."""
    _check(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", DETACH), "umount of the old root")
    os.chdir("/")


def prctl(option: int, value: int, third: int = 0) -> None:
    """prctl(2)."""
    _check(_libc.prctl(option, value, third, 0, 0), f"prctl({option}, {value})")


def drop_capabilities() -> None:
    """No capability is left, and none can be had again."""
    last = 0
    while _libc.prctl(PR_CAPBSET_DROP, last, 0, 0, 0) == 0:
        last += 1
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    prctl(PR_SET_SECUREBITS, SECURE_BITS)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def prepare_filter(program: bytes) -> _Filter:
    """The filter in the form the kernel reads; `program` must outlive it, and does in it."""
    return _Filter(len(program) // 8, program)


def apply_filter(prepared: _Filter) -> None:
    """From here on this process and its children make only the system calls of the filter."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _check(
        _libc.prctl(PR_SET_SECCOMP, 2, ctypes.cast(ctypes.pointer(prepared), ctypes.c_void_p).value, 0, 0),
        "the system call filter",
    )
