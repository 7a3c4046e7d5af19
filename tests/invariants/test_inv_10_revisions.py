"""Invariant 10 by raw SQL: a published revision binds every required slot once, within its limits, with its bytes."""

import pytest

from accounts.clock import database_now
from problems.models import ProblemRevision
from tests.factories.contracts import sat_contract
from tests.factories.plans import contract_of, noted_document, sealed_document
from tests.factories.problems import bind_instance, make_draft, make_problem, published_problem
from tests.factories.sql import (
    NOT_GRANTED,
    REFUSED,
    TAKEN,
    insertion,
    insertion_refusal,
    owner_refusal,
    refusal,
    row_of,
    write,
)

pytestmark = pytest.mark.django_db

PUBLISH = (
    "UPDATE problems_problemrevision SET published_at = now(), published_by_id = created_by_id, "
    "content_hash = 'sha256:{}' WHERE id = %s".format("0" * 64)
)
BINDING = "UPDATE problems_slotbinding SET {} WHERE revision_id = %s"


def bound_draft() -> ProblemRevision:
    draft = make_draft(make_problem(), sat_contract())
    bind_instance(draft, is_asked=False)
    return draft


def test_the_draft_that_the_refusals_start_from_is_published():
    assert write(PUBLISH, bound_draft().pk) == 1


def test_inv_10_a_required_slot_without_a_binding_is_refused():
    draft = make_draft(make_problem(), sat_contract())

    assert refusal(PUBLISH, draft.pk) == REFUSED


def test_inv_10_a_slot_is_bound_once():
    draft = bound_draft()
    again = row_of("problems_slotbinding", draft.pk, column="revision_id")
    del again["id"]

    assert insertion_refusal("problems_slotbinding", again) == TAKEN


def test_inv_10_a_slot_of_another_contract_is_refused():
    draft = bound_draft()
    other = contract_of(noted_document(), draft.verifier_contract.created_by)
    foreign = row_of("problems_slotbinding", draft.pk, column="revision_id")
    del foreign["id"]
    foreign["slot_id"] = other.slots.get(key="notes").pk
    statement, parameters = insertion("problems_slotbinding", foreign)
    write(statement, *parameters)

    assert refusal(PUBLISH, draft.pk) == REFUSED


@pytest.mark.parametrize(
    "change",
    [
        "media_type = 'application/json'",
        "size_bytes = 10485761",
        "size_bytes = size_bytes + 1",
        "content_hash = 'sha256:" + "0" * 64 + "'",
    ],
)
def test_inv_10_bindings_out_of_the_slots_limits_or_unlike_their_bytes_are_refused(change):
    draft = bound_draft()
    write(BINDING.format(change), draft.pk)

    assert refusal(PUBLISH, draft.pk) == REFUSED


def test_inv_10_bytes_that_are_gone_are_refused():
    draft = bound_draft()
    write("UPDATE blobs_blobhold SET ended_at = now() WHERE holder_kind = 'binding'")
    write("UPDATE blobs_blob SET purged_at = now() WHERE content_hash = (SELECT blob_id FROM problems_slotbinding)")

    assert refusal(PUBLISH, draft.pk) == REFUSED


def test_inv_10_bytes_that_a_binding_holds_are_not_purged():
    draft = bound_draft()

    assert refusal("UPDATE blobs_blob SET purged_at = now() WHERE content_hash = %s", instance_hash(draft)) == REFUSED


def instance_hash(revision: ProblemRevision) -> str:
    return str(row_of("problems_slotbinding", revision.pk, column="revision_id")["content_hash"])


@pytest.mark.parametrize(
    "change", ["kind = 'linked'", "url = 'https://example.org'", "blob_id = NULL", "kind = 'other'"]
)
def test_inv_10_a_binding_is_stored_or_linked_and_not_both(change):
    draft = bound_draft()

    assert refusal(BINDING.format(change), draft.pk) == REFUSED


def test_inv_10_a_link_is_https():
    draft = bound_draft()

    change = BINDING.format("kind = 'linked', blob_id = NULL, url = 'http://example.org'")

    assert refusal(change, draft.pk) == REFUSED


def test_inv_10_a_sealed_slot_is_neither_linked_nor_bare():
    contract = contract_of(sealed_document())
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft, is_asked=False)

    write(BINDING.format("commitment = ''"), draft.pk)
    bare = refusal(PUBLISH, draft.pk)
    write(BINDING.format("kind = 'linked', blob_id = NULL, url = 'https://example.org/f'"), draft.pk)

    assert (bare, refusal(PUBLISH, draft.pk)) == (REFUSED, REFUSED)


def test_inv_10_a_yanked_contract_is_not_pinned():
    draft = bound_draft()
    write(
        "UPDATE contracts_verifiercontract SET yanked_at = now(), yanked_by_id = created_by_id, yank_reason = 'x' "
        "WHERE id = %s",
        draft.verifier_contract_id,
    )

    assert refusal(PUBLISH, draft.pk) == REFUSED


FROZEN = [
    "UPDATE problems_problemrevision SET statement_md = 'rewritten'",
    "UPDATE problems_problemrevision SET published_at = NULL, published_by_id = NULL, content_hash = ''",
    "UPDATE problems_problemrevision SET verifier_contract_id = NULL",
    "UPDATE problems_problemrevision SET number = 7",
    "DELETE FROM problems_problemrevision",
    "UPDATE problems_slotbinding SET filename = 'another.cnf'",
    "DELETE FROM problems_slotbinding",
]


def test_inv_10_a_published_revision_and_its_bindings_never_change():
    revision = published_problem()
    binding = row_of("problems_slotbinding", revision.pk, column="revision_id")
    del binding["id"]

    assert [refusal(statement) for statement in FROZEN] == [REFUSED] * len(FROZEN)
    assert insertion_refusal("problems_slotbinding", binding) == REFUSED


@pytest.mark.django_db(transaction=True)
def test_inv_10_the_triggers_refuse_the_owner_too(database_urls):
    published_problem()

    refused = [
        owner_refusal(database_urls["owner"], "SET pgtrigger.ignore = '{all}'", statement) for statement in FROZEN
    ]

    assert refused == [REFUSED] * len(FROZEN)


def test_inv_10_a_revision_is_not_born_published_without_its_bindings():
    draft = row_of("problems_problemrevision", make_draft(make_problem(), sat_contract()).pk)
    published = {"published_at": database_now(), "published_by_id": draft["created_by_id"]}

    born = draft | published | {"id": "prv_" + "0" * 26, "number": 2, "content_hash": "sha256:" + "0" * 64}

    assert insertion_refusal("problems_problemrevision", born) == REFUSED


def test_inv_10_what_a_problem_is_named_by_stays():
    problem = make_problem()

    assert refusal("UPDATE problems_problem SET slug = 'another' WHERE id = %s", problem.pk) == NOT_GRANTED
    assert refusal("DELETE FROM problems_problem") == NOT_GRANTED
