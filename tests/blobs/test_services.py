"""Bytes: kept while a record needs them, gone when the last one lets go, never lost between the two."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection, transaction

from accounts.clock import database_now
from blobs.models import Blob, BlobHold
from blobs.services import (
    BytesDiffer,
    BytesGone,
    BytesTooLarge,
    HoldEnded,
    blob_name,
    blob_store,
    copy_verified,
    delete_left_over,
    end_hold,
    hold_blob,
    hold_staged,
    keep_bytes,
    open_blob,
    stage_bytes,
)
from tests.factories.problems import staged

HELLO = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def keep(content: bytes = b"hello", holder: str = "one") -> Blob:
    return keep_bytes(content, holder_kind="test", holder_id=holder, at=database_now())


def let_go(holder: str = "one") -> bool:
    return end_hold(content_hash=HELLO, holder_kind="test", holder_id=holder, at=database_now())


def stored() -> bool:
    return blob_store().exists(blob_name(HELLO))


def test_bytes_are_named_by_their_hash_while_they_stream():
    with stage_bytes([b"he", b"llo"], max_bytes=5) as bytes_:
        assert (bytes_.content_hash, bytes_.size_bytes, bytes_.file.read()) == (HELLO, 5, b"hello")


def test_more_bytes_than_the_limit_are_refused_before_they_are_all_read():
    unread = iter([b"hello", b"x", b"never"])

    with pytest.raises(BytesTooLarge), stage_bytes(unread, max_bytes=5):
        pass

    assert list(unread) == [b"never"]


@pytest.mark.django_db
def test_kept_bytes_are_read_back():
    keep()

    with open_blob(HELLO) as file:
        assert file.read() == b"hello"


@pytest.mark.django_db
def test_stored_files_cannot_be_written_to(blob_directory: Path):
    keep()

    (path,) = [path for path in blob_directory.rglob("*") if path.is_file()]

    assert path.stat().st_mode & 0o777 == 0o440


@pytest.mark.django_db
def test_holding_bytes_that_nobody_stored_or_that_were_deleted_is_refused():
    with pytest.raises(BytesGone):
        hold_blob(content_hash=HELLO, holder_kind="test", holder_id="one", at=database_now())
    keep()
    let_go()

    with pytest.raises(BytesGone):
        hold_blob(content_hash=HELLO, holder_kind="test", holder_id="two", at=database_now())


@pytest.mark.django_db
def test_the_last_hold_decides(django_capture_on_commit_callbacks):
    keep(holder="one")
    keep(holder="two")

    with django_capture_on_commit_callbacks(execute=True):
        first = let_go("one")
    between = stored()
    with django_capture_on_commit_callbacks(execute=True):
        last = let_go("two")

    assert (first, between, last, stored()) == (False, True, True, False)
    assert Blob.objects.get(pk=HELLO).purged_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_fails_after_letting_go_keeps_the_bytes():
    keep()

    with transaction.atomic():
        let_go()
        transaction.set_rollback(True)

    assert stored()
    assert BlobHold.objects.filter(ended_at=None).count() == 1
    assert Blob.objects.get(pk=HELLO).purged_at is None


@pytest.mark.django_db(transaction=True)
def test_bytes_let_go_and_kept_again_in_one_transaction_stay():
    keep(holder="old binding")

    with transaction.atomic():
        let_go("old binding")
        keep(holder="new binding")

    assert stored()
    assert Blob.objects.get(pk=HELLO).purged_at is None


@pytest.mark.django_db(transaction=True)
def test_deleted_bytes_come_back_with_a_new_upload():
    keep(holder="one")
    let_go("one")

    keep(holder="two")

    with open_blob(HELLO) as file:
        assert file.read() == b"hello"


@pytest.mark.django_db
def test_a_name_that_let_go_does_not_hold_again():
    keep(holder="one")
    let_go("one")

    with pytest.raises(HoldEnded):
        keep(holder="one")


@pytest.mark.django_db
def test_what_a_process_that_died_left_behind_is_deleted_later():
    keep()
    let_go()
    left_over = stored()

    assert (left_over, delete_left_over(at=database_now()), stored()) == (True, 1, False)
    assert delete_left_over(at=database_now()) == 0


@pytest.mark.django_db
def test_bytes_that_changed_in_the_store_are_not_copied(tmp_path: Path):
    keep()
    path = Path(blob_store().path(blob_name(HELLO)))
    path.chmod(0o640)

    for changed in (b"hellO", b"hell", b"hello!"):
        path.write_bytes(changed)
        with (tmp_path / "copy").open("wb") as target, pytest.raises(BytesDiffer):
            copy_verified(HELLO, size_bytes=5, target=target)


@pytest.mark.django_db
def test_bytes_missing_from_the_store_are_written_again_by_the_next_upload():
    keep(holder="one")
    Path(blob_store().path(blob_name(HELLO))).unlink()

    with pytest.raises(BytesGone), open_blob(HELLO):
        pass
    keep(holder="two")

    assert stored()


def in_threads(work, arguments):
    """The answers of all calls, made at the same moment, each on a connection of its own."""
    start = threading.Barrier(len(arguments))

    def call(argument):
        start.wait()
        try:
            return work(argument)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(call, arguments))


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_t30_the_same_bytes_uploaded_at_once_are_one_blob_with_a_hold_each():
    def upload(number: int) -> None:
        with staged(b"hello") as bytes_:
            hold_staged(staged=bytes_, holder_kind="artifact", holder_id=str(number), at=database_now())

    in_threads(upload, range(20))

    assert Blob.objects.count() == 1
    assert BlobHold.objects.filter(ended_at=None).count() == 20


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_an_upload_that_meets_the_end_of_the_last_hold_never_loses_its_bytes():
    for round_ in range(8):
        keep(holder=f"old{round_}")
        works = [lambda r=round_: let_go(f"old{r}"), lambda r=round_: keep(holder=f"new{r}")]

        in_threads(lambda work: work(), works)

        assert stored()
        assert Blob.objects.get(pk=HELLO).purged_at is None
        let_go(f"new{round_}")
        assert not stored()
