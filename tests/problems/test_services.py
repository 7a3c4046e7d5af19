"""Problems and revisions: drafts change, publication freezes or lists every violated rule."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.clock import database_now
from blobs.models import BlobHold
from blobs.services import blob_name, blob_store
from problems.models import ProblemRevision, Release, SlotBinding
from problems.services import (
    BindingRefused,
    PublicationRefused,
    RevisionIsFrozen,
    bind_link,
    bind_stored,
    draft_revision,
    publication_findings,
    publish_revision,
)
from tests.factories.contracts import sat_contract
from tests.factories.people import make_author
from tests.factories.plans import contract_of, noted_document, sealed_document
from tests.factories.problems import (
    bind_instance,
    make_draft,
    make_problem,
    published_problem,
    published_revision,
    staged,
)
from tests.factories.sql import NOT_GRANTED, refusal, write
from verification.contracts.models import ReferenceSlot

pytestmark = pytest.mark.django_db

LINK = {
    "url": "https://example.org/notes.txt", "content_hash": "sha256:" + "0" * 64, "size_bytes": 10,
    "media_type": "text/plain", "filename": "notes.txt",
}  # fmt: skip


def noted_draft() -> ProblemRevision:
    contract = contract_of(noted_document())
    return make_draft(make_problem(contract.created_by), contract)


def slot(revision: ProblemRevision, key: str) -> ReferenceSlot:
    return ReferenceSlot.objects.get(contract=revision.verifier_contract, key=key)


def link(revision: ProblemRevision, key: str = "notes", **changes) -> SlotBinding:
    return bind_link(revision=revision, slot=slot(revision, key), at=database_now(), **(LINK | changes))


def publish(revision: ProblemRevision) -> ProblemRevision:
    return publish_revision(revision=revision, published_by=revision.created_by, at=database_now())


def codes(revision: ProblemRevision) -> set[str]:
    with pytest.raises(PublicationRefused) as refused:
        publish(revision)
    return {finding.code for finding in refused.value.findings}


def test_the_first_manager_is_whoever_made_the_problem():
    author = make_author()

    assert list(make_problem(author).managers.all()) == [author]


def test_a_window_that_ends_before_it_begins_is_refused():
    now = database_now()

    with pytest.raises(IntegrityError), transaction.atomic():
        make_problem(opens_at=now, closes_at=now)


def test_revisions_are_numbered_in_order():
    problem = make_problem()

    assert [make_draft(problem, None).number for _ in range(3)] == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_drafts_made_at_once_get_numbers_of_their_own():
    problem = make_problem()
    start = threading.Barrier(6)

    def draft(_number: int) -> int:
        start.wait()
        try:
            return draft_revision(
                problem=problem, statement_md="x", contract=None, skill=None, author=problem.created_by,
                at=database_now(),
            ).number  # fmt: skip
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        numbers = sorted(pool.map(draft, range(6)))

    assert numbers == [1, 2, 3, 4, 5, 6]


def test_every_violated_rule_is_told_at_once_and_nothing_is_frozen():
    draft = noted_draft()
    write("UPDATE problems_problemrevision SET statement_md = ' ' WHERE id = %s", draft.pk)
    link(draft, size_bytes=10485761, media_type="application/json")
    write(
        "UPDATE contracts_verifiercontract SET yanked_at = now(), yanked_by_id = created_by_id, yank_reason = 'wrong'"
    )

    found = codes(draft)

    assert found == {"statement_empty", "contract_yanked", "binding_missing", "binding_size", "binding_media_type"}
    assert ProblemRevision.objects.get(pk=draft.pk).published_at is None


def test_a_required_slot_that_a_sandbox_stage_reads_is_not_linked():
    draft = noted_draft()
    link(draft, "instance")

    assert codes(draft) == {"binding_must_be_stored"}


def test_a_sealed_slot_is_not_linked():
    contract = contract_of(sealed_document())
    draft = make_draft(make_problem(contract.created_by), contract)
    link(draft, "instance")

    assert "binding_sealed_linked" in codes(draft)


def test_an_optional_slot_may_stay_unbound():
    draft = noted_draft()
    bind_instance(draft)

    assert publish(draft).published_at is not None


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"url": "http://example.org/f"}, "/url"),
        ({"url": "https://user:secret@example.org/f"}, "/url"),
        ({"url": "https://"}, "/url"),
        ({"url": "javascript:alert(1)"}, "/url"),
        ({"url": "https://example.org/" + "a" * 2000}, "/url"),
        ({"content_hash": "sha256:short"}, "/content_hash"),
        ({"size_bytes": -1}, "/size_bytes"),
        ({"size_bytes": 2**80}, "/size_bytes"),
        ({"media_type": "Text/Plain; charset=utf-8"}, "/media_type"),
        ({"filename": "../etc/passwd"}, "/filename"),
        ({"filename": "a\0b"}, "/filename"),
    ],
)
def test_a_link_that_cannot_be_written_down_is_refused_and_the_old_one_stays(changes, pointer):
    draft = noted_draft()
    link(draft)

    with pytest.raises(BindingRefused) as refused:
        link(draft, **changes)

    assert [finding.pointer for finding in refused.value.findings] == [pointer]
    assert draft.bindings.get().url == LINK["url"]


def test_a_slot_of_another_contract_is_refused():
    draft, other = make_draft(make_problem(), sat_contract()), noted_document()
    foreign = contract_of(other, draft.verifier_contract.created_by).slots.get(key="notes")

    with pytest.raises(BindingRefused):
        bind_link(revision=draft, slot=foreign, at=database_now(), **LINK)


def test_binding_again_replaces_the_bytes_and_lets_the_old_ones_go():
    draft = make_draft(make_problem(), sat_contract())

    bind_instance(draft, b"p cnf 1 1\n1 0\n", is_asked=False)
    bind_instance(draft, b"p cnf 1 1\n-1 0\n", is_asked=False)

    live = BlobHold.objects.filter(holder_kind="binding", ended_at=None)
    assert [hold.blob_id for hold in live] == [draft.bindings.get().content_hash]


def test_binding_the_same_bytes_at_the_same_moment_keeps_them_held():
    draft, at = make_draft(make_problem(), sat_contract()), database_now()

    for _ in range(2):
        with staged(b"p cnf 1 1\n1 0\n") as bytes_:
            bind_stored(
                revision=draft, slot=slot(draft, "instance"), staged=bytes_, media_type="text/plain",
                filename="f.cnf", at=at,
            )  # fmt: skip

    assert BlobHold.objects.filter(holder_kind="binding", ended_at=None).count() == 1
    assert draft.bindings.get().blob.purged_at is None


def test_bytes_that_changed_in_the_store_are_not_published():
    draft = make_draft(make_problem(), sat_contract())
    bind_instance(draft)
    path = Path(blob_store().path(blob_name(draft.bindings.get().content_hash)))
    path.chmod(0o640)
    path.write_bytes(b"p cnf 0 0\n")

    assert codes(draft) == {"bytes_differ"}


def test_a_published_revision_takes_no_binding_and_is_not_published_again():
    revision = published_problem()

    for change in (lambda: bind_instance(revision, is_asked=False), lambda: publish(revision)):
        with pytest.raises(RevisionIsFrozen):
            change()


def test_a_revision_without_a_contract_is_published_with_its_statement_alone():
    revision = published_revision(make_problem(), None)

    assert publication_findings(revision) == []
    assert (revision.verifier_contract, revision.content_hash[:7]) == (None, "sha256:")


def test_equal_revisions_have_equal_hashes_and_sealed_ones_differ_by_their_salt():
    contract = sat_contract()
    author = contract.created_by
    plain = [published_revision(make_problem(author), contract).content_hash for _ in range(2)]
    sealed = contract_of(sealed_document(), author)

    salted = [published_revision(make_problem(author), sealed).content_hash for _ in range(2)]

    assert len(set(plain)) == 1
    assert len(set(salted)) == 2


def test_a_release_is_one_act():
    problem = make_problem()
    Release.objects.create(problem=problem, released_at=database_now(), released_by=problem.created_by)

    with pytest.raises(IntegrityError), transaction.atomic():
        Release.objects.create(problem=problem, released_at=database_now(), released_by=problem.created_by)
    assert refusal("DELETE FROM problems_release") == NOT_GRANTED
    assert refusal("UPDATE problems_release SET released_at = now()") == NOT_GRANTED
