"""Review protocols: read strictly, published once, named by their content."""

import hashlib
import json

import pytest

from accounts.clock import database_now
from reviews.models import ReviewProtocol
from reviews.services import publish_protocol
from tests.factories.people import make_author
from tests.factories.protocols import protocol_content, published_protocol
from tests.factories.sql import NOT_GRANTED, REFUSED, TAKEN, insertion_refusal, owner_refusal, refusal, row_of
from verification.engine.documents import DocumentRefused

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["single_expert", "panel_of_five"])
def test_the_shipped_protocols_are_published(name):
    protocol = published_protocol(name)

    assert (protocol.purpose, protocol.subject_kind) == ("acceptance", "submission")
    assert protocol.protocol_hash == "sha256:" + hashlib.sha256(protocol.canonical.encode()).hexdigest()


def test_the_same_content_is_the_same_protocol_whoever_publishes_it():
    first = published_protocol()
    rewritten = json.dumps(json.loads(protocol_content()), indent=8, sort_keys=True).encode()

    second = publish_protocol(content=rewritten, author=make_author(), at=database_now())

    assert first == second
    assert ReviewProtocol.objects.count() == 1


def test_another_word_is_another_protocol():
    assert published_protocol() != published_protocol(title="Another title")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"schema": "review-protocol/1"}', b"\xff", b'{"a":1,"a":2}'])
def test_what_is_no_protocol_is_refused_and_leaves_nothing_behind(content):
    with pytest.raises(DocumentRefused):
        publish_protocol(content=content, author=make_author(), at=database_now())

    assert ReviewProtocol.objects.count() == 0


def test_the_database_holds_the_name_to_the_content():
    row = row_of("reviews_reviewprotocol", published_protocol().pk) | {"id": "rvp_" + "0" * 26}

    assert insertion_refusal("reviews_reviewprotocol", row) == TAKEN
    assert insertion_refusal("reviews_reviewprotocol", row | {"canonical": "{}"}) == REFUSED
    assert refusal("UPDATE reviews_reviewprotocol SET canonical = '{}'") == NOT_GRANTED
    assert refusal("DELETE FROM reviews_reviewprotocol") == NOT_GRANTED


@pytest.mark.django_db(transaction=True)
def test_the_owner_rewrites_no_protocol_either(database_urls):
    published_protocol()

    for statement in ("UPDATE reviews_reviewprotocol SET title = 'x'", "DELETE FROM reviews_reviewprotocol"):
        assert owner_refusal(database_urls["owner"], statement) == REFUSED
