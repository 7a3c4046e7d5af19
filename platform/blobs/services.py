"""Every write of bytes: staging, keeping, holding and letting go."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, cast

from django.core.files.base import File
from django.core.files.storage import Storage, storages
from django.db import transaction

from blobs.models import Blob, BlobHold

CHUNK_BYTES = 1 << 20


class BytesTooLarge(Exception):
    """More bytes came than the limit allows; nothing was kept."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"More than {limit_bytes} bytes were sent. Nothing was stored.")
        self.limit_bytes = limit_bytes


class BytesDiffer(Exception):
    """The bytes are not the ones that were announced; nothing was kept."""


class BytesGone(Exception):
    """The bytes were deleted, or the store does not hold them."""


@dataclass(frozen=True)
class StagedBytes:
    """Bytes that came in and were hashed, not yet kept by any record."""

    file: BinaryIO
    content_hash: str
    size_bytes: int


def blob_store() -> Storage:
    """The storage that holds all content-addressed bytes."""
    return storages["blobs"]


def blob_name(content_hash: str) -> str:
    """The name of the bytes in the store, spread over 256 folders."""
    digest = content_hash.removeprefix("sha256:")
    return f"sha256/{digest[:2]}/{digest}"


@contextmanager
def stage_bytes(chunks: Iterable[bytes], *, max_bytes: int) -> Iterator[StagedBytes]:
    """Bytes read to their end and hashed while they stream; the temporary file goes with the block.

    Raises:
        BytesTooLarge: as soon as the limit is passed.
    """
    digest = hashlib.sha256()
    size_bytes = 0
    with tempfile.SpooledTemporaryFile(max_size=CHUNK_BYTES) as file:
        for chunk in chunks:
            size_bytes += len(chunk)
            if size_bytes > max_bytes:
                raise BytesTooLarge(max_bytes)
            digest.update(chunk)
            file.write(chunk)
        file.seek(0)
        yield StagedBytes(cast("BinaryIO", file), f"sha256:{digest.hexdigest()}", size_bytes)


@transaction.atomic
def hold_staged(*, staged: StagedBytes, holder_kind: str, holder_id: str, at: datetime) -> Blob:
    """Keep staged bytes for a record. Uploads and the end of a last hold meet at the blob's row lock."""
    Blob.objects.bulk_create(
        [Blob(content_hash=staged.content_hash, size_bytes=staged.size_bytes, created_at=at)], ignore_conflicts=True
    )
    blob = _locked(staged.content_hash)
    name = blob_name(blob.content_hash)
    if blob.purged_at is not None or not blob_store().exists(name):
        staged.file.seek(0)
        blob_store().save(name, File(staged.file))
        if blob.purged_at is not None:
            Blob.objects.filter(pk=blob.pk).move(purged_at=None)
    _add_hold(blob, holder_kind=holder_kind, holder_id=holder_id, at=at)
    return blob


def keep_bytes(content: bytes, *, holder_kind: str, holder_id: str, at: datetime) -> Blob:
    """Keep bytes that are already in memory for a record."""
    with stage_bytes([content], max_bytes=len(content)) as staged:
        return hold_staged(staged=staged, holder_kind=holder_kind, holder_id=holder_id, at=at)


@transaction.atomic
def hold_blob(*, content_hash: str, holder_kind: str, holder_id: str, at: datetime) -> Blob:
    """One more record needs bytes that are already stored.

    Raises:
        BytesGone: nobody stored such bytes, or they were deleted.
    """
    try:
        blob = _locked(content_hash)
    except Blob.DoesNotExist as missing:
        raise BytesGone(f"No bytes with digest {content_hash} are stored.") from missing
    if blob.purged_at is not None:
        raise BytesGone(f"The bytes with digest {content_hash} were deleted on {blob.purged_at:%Y-%m-%d}.")
    _add_hold(blob, holder_kind=holder_kind, holder_id=holder_id, at=at)
    return blob


@transaction.atomic
def end_hold(*, content_hash: str, holder_kind: str, holder_id: str, at: datetime) -> bool:
    """End one record's need; True when that was the last hold and the bytes were deleted."""
    blob = _locked(content_hash)
    live = BlobHold.objects.filter(blob=blob, ended_at=None)
    live.filter(holder_kind=holder_kind, holder_id=holder_id).move(ended_at=at)
    if live.exists():
        return False
    # Under the lock and before the commit: a crash between the two leaves bytes missing that nobody holds.
    blob_store().delete(blob_name(content_hash))
    Blob.objects.filter(pk=blob.pk).move(purged_at=at)
    return True


@contextmanager
def open_blob(content_hash: str) -> Iterator[BinaryIO]:
    """The stored bytes, for reading.

    Raises:
        BytesGone: the store does not hold them.
    """
    try:
        file = blob_store().open(blob_name(content_hash), "rb")
    except FileNotFoundError as missing:
        raise BytesGone(f"The store holds no bytes with digest {content_hash}.") from missing
    with file:
        yield cast("BinaryIO", file)


def copy_verified(content_hash: str, *, size_bytes: int, target: BinaryIO) -> None:
    """Write the stored bytes to `target`, hashing every one again.

    Raises:
        BytesGone: the store does not hold them.
        BytesDiffer: what the store holds is not what the digest names.
    """
    digest = hashlib.sha256()
    copied = 0
    with open_blob(content_hash) as source:
        while chunk := source.read(CHUNK_BYTES):
            digest.update(chunk)
            copied += len(chunk)
            target.write(chunk)
    if copied != size_bytes or f"sha256:{digest.hexdigest()}" != content_hash:
        raise BytesDiffer(f"The store's bytes for {content_hash} ({size_bytes} bytes) have changed.")


def _locked(content_hash: str) -> Blob:
    return Blob.objects.select_for_update(no_key=True).get(pk=content_hash)


def _add_hold(blob: Blob, *, holder_kind: str, holder_id: str, at: datetime) -> None:
    BlobHold.objects.bulk_create(
        [BlobHold(blob=blob, holder_kind=holder_kind, holder_id=holder_id, created_at=at)], ignore_conflicts=True
    )
