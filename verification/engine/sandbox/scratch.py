"""Directories that live as long as one invocation, and the removal of those whose worker died."""

import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verification.engine.sandbox.collect import DIRECTORY_FLAGS

logger = logging.getLogger(__name__)

PREFIX = "tfp-sandbox-"
# A directory is locked right after it is made; anything this old and unlocked has lost its worker.
_ABANDONED_AFTER_S = 60.0


@contextmanager
def scratch_directory(root: Path) -> Iterator[Path]:
    """A fresh private directory below `root`, removed at the end whatever a checker made of it."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    lock = os.open(path, DIRECTORY_FLAGS)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path
    finally:
        remove_directory(path, lock)
        os.close(lock)


def remove_abandoned(root: Path) -> int:
    """How many scratch directories of dead workers were removed.

    A later checker could read in them what an earlier one left.
    """
    removed = 0
    for path in root.glob(f"{PREFIX}*"):
        try:
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            if time.time() - found.st_mtime < _ABANDONED_AFTER_S:
                continue
            lock = os.open(path, DIRECTORY_FLAGS)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            removed += int(remove_directory(path, lock))
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
    return removed


def remove_directory(path: Path, directory_fd: int) -> bool:
    """True if the directory and everything below is gone; follows no link, however deep and odd the tree.

    Depth is taken away rather than walked: what lies in a subdirectory is moved up beside it, so two descriptors
    are enough for a tree of any depth.

    Args:
        path: only for the last step; what lies there now may no longer be what was made there.
        directory_fd: of the directory, opened when it was made.
    """
    try:
        os.fchmod(directory_fd, 0o700)
        _empty(directory_fd)
        path.rmdir()
    except OSError:
        logger.warning("a scratch directory could not be removed", exc_info=True)
        return False
    return True


def _empty(root_fd: int) -> None:
    moved = 0
    while names := os.listdir(root_fd):
        for name in names:
            if not stat.S_ISDIR(os.stat(name, dir_fd=root_fd, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=root_fd)
                continue
            # A checker may have taken our own permissions away; it is a directory and nobody else is here any more.
            os.chmod(name, 0o700, dir_fd=root_fd)
            child_fd = os.open(name, DIRECTORY_FLAGS, dir_fd=root_fd)
            try:
                for inner in os.listdir(child_fd):  # noqa: PTH208 - a descriptor, not a path
                    if stat.S_ISDIR(os.stat(inner, dir_fd=child_fd, follow_symlinks=False).st_mode):
                        os.chmod(inner, 0o700, dir_fd=child_fd)
                        moved = _move_up(inner, child_fd, root_fd, moved)
                    else:
                        os.unlink(inner, dir_fd=child_fd)
            finally:
                os.close(child_fd)
            os.rmdir(name, dir_fd=root_fd)


def _move_up(name: str, source_fd: int, target_fd: int, moved: int) -> int:
    """Move a directory to a free name; how many have been moved so far."""
    while True:
        moved += 1
        try:
            os.stat(f"{moved}", dir_fd=target_fd, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, f"{moved}", src_dir_fd=source_fd, dst_dir_fd=target_fd)
            return moved
