"""Local storage that writes each name once: a temporary file, then a hard link that fails if the name is taken."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage


class WriteOnceStorage(FileSystemStorage):
    """Files named by their content's digest; saving a name that exists keeps the stored bytes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(file_permissions_mode=0o440, directory_permissions_mode=0o750, **kwargs)

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: content decides it, so a taken name already holds these bytes."""
        return name

    def _save(self, name: str, content: File[bytes]) -> str:
        final = Path(self.path(name))
        final.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        draft = final.parent / f".{secrets.token_hex(8)}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o440)
        try:
            with os.fdopen(descriptor, "wb") as target:
                for chunk in content.chunks():
                    target.write(chunk)
                target.flush()
                os.fsync(target.fileno())
            try:
                os.link(draft, final)
            except FileExistsError:
                pass
            else:
                self._sync_directory(final.parent)
        finally:
            draft.unlink(missing_ok=True)
        return name

    @staticmethod
    def _sync_directory(folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
