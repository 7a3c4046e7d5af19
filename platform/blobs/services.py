"""Every write of bytes: staging, keeping, holding and letting go."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import BinaryIO, cast

from django.core.files.base import File
from django.core.files.storage import Storage, storages
from django.db import connection, transaction

from blobs.models import Blob, BlobHold

CHUNK_BYTES = 1 << 20
# How far back the recovery looks for bytes that should be gone.
LEFT_OVER_WITHIN = timedelta(days=2)


class BytesTooLarge(Exception):
    """More bytes came than the limit allows; nothing was kept."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"More than {limit_bytes} bytes were sent. Nothing was stored.")
        self.limit_bytes = limit_bytes


class BytesDiffer(Exception):
    """The bytes are not the ones that were announced; nothing was kept."""


class BytesGone(Exception):
    """The bytes were deleted, or the store does not hold them."""


class HoldEnded(Exception):
    """A record that let its bytes go asks for them under the same name again; a new need takes a new name."""


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
    _store(blob, staged.file)
    _add_hold(blob, holder_kind=holder_kind, holder_id=holder_id, at=at)
    return blob


def keep_bytes(content: bytes, *, holder_kind: str, holder_id: str, at: datetime) -> Blob:
    """Keep bytes that are already in memory for a record."""
    with stage_bytes([content], max_bytes=len(content)) as staged:
        return hold_staged(staged=staged, holder_kind=holder_kind, holder_id=holder_id, at=at)


@dataclass(frozen=True)
class Kept:
    """Bytes in memory, and the record that needs them."""

    content: bytes
    holder_kind: str
    holder_id: str


@transaction.atomic
def keep_all(kept: Sequence[Kept], *, at: datetime) -> list[Blob]:
    """Keep bytes that are in memory, each for its record, in as many queries as one; the blobs in the order given."""
    digests = [f"sha256:{hashlib.sha256(item.content).hexdigest()}" for item in kept]
    contents = dict(zip(digests, (item.content for item in kept), strict=True))
    # Sorted, so that two transactions with the same bytes never wait for each other in a circle.
    Blob.objects.bulk_create(
        [Blob(content_hash=digest, size_bytes=len(contents[digest]), created_at=at) for digest in sorted(contents)],
        ignore_conflicts=True,
    )
    blobs = {b.pk: b for b in Blob.objects.select_for_update(no_key=True).filter(pk__in=contents).order_by("pk")}
    for digest, blob in blobs.items():
        _store(blob, BytesIO(contents[digest]))
    BlobHold.objects.bulk_create(
        [
            BlobHold(blob=blobs[digest], holder_kind=item.holder_kind, holder_id=item.holder_id, created_at=at)
            for digest, item in zip(digests, kept, strict=True)
        ],
        ignore_conflicts=True,
    )
    return [blobs[digest] for digest in digests]


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
    """End one record's need; True when that was the last hold and the bytes are deleted.

    They go once the transaction stands: were it rolled back, the record would need them again.
    """
    blob = _locked(content_hash)
    live = BlobHold.objects.filter(blob=blob, ended_at=None)
    live.filter(holder_kind=holder_kind, holder_id=holder_id).move(ended_at=at)
    if live.exists():
        return False
    if blob.purged_at is None:
        Blob.objects.filter(pk=blob.pk).move(purged_at=at)
    # A lambda, not a partial: Django names the callback in the log of its failure, and a partial has no name.
    transaction.on_commit(lambda: _delete_purged(content_hash), robust=True)
    return True


def delete_left_over(*, at: datetime) -> int:
    """Delete bytes that were let go lately and are still in the store, since a process died between; their number."""
    purged = Blob.objects.filter(purged_at__gt=at - LEFT_OVER_WITHIN).values_list("pk", flat=True)
    return sum(_delete_purged(content_hash) for content_hash in purged.iterator())


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


@transaction.atomic
def _delete_purged(content_hash: str) -> bool:
    """Delete the bytes unless an upload brought them back meanwhile; True if there was something to delete."""
    name = blob_name(content_hash)
    if _locked(content_hash).purged_at is None or not blob_store().exists(name):
        return False
    blob_store().delete(name)
    return True


def _locked(content_hash: str) -> Blob:
    return Blob.objects.select_for_update(no_key=True).get(pk=content_hash)


def _store(blob: Blob, file: BinaryIO) -> None:
    """Write the bytes of a locked blob unless they are there."""
    name = blob_name(blob.content_hash)
    if blob.purged_at is None and blob_store().exists(name):
        return
    file.seek(0)
    blob_store().save(name, File(file))
    if blob.purged_at is not None:
        Blob.objects.filter(pk=blob.pk).move(purged_at=None)


def _add_hold(blob: Blob, *, holder_kind: str, holder_id: str, at: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO blobs_blobhold (blob_id, holder_kind, holder_id, created_at) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [blob.pk, holder_kind, holder_id, at],
        )
        if cursor.rowcount:
            return
    named = BlobHold.objects.filter(blob=blob, holder_kind=holder_kind, holder_id=holder_id)
    if not named.filter(ended_at=None).exists():
        raise HoldEnded(f"{holder_kind} {holder_id} let {blob.content_hash} go before.")
