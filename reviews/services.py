"""Every write of review protocols: read strictly, stored as canonical text, published once."""

from datetime import datetime

from django.db import transaction

from accounts.models import User
from reviews.models import ReviewProtocol
from reviews.rules.protocol import read_protocol


@transaction.atomic
def publish_protocol(*, content: bytes, author: User, at: datetime) -> ReviewProtocol:
    """The published protocol with that content; publishing the same content twice gives the same row.

    Raises:
        DocumentRefused: with every finding.
    """
    protocol = read_protocol(content)
    ReviewProtocol.objects.bulk_create(
        [
            ReviewProtocol(
                canonical=protocol.canonical,
                protocol_hash=protocol.protocol_hash,
                title=protocol.content["title"],
                purpose=protocol.content["purpose"],
                subject_kind=protocol.content["subject_kind"],
                author=author,
                created_at=at,
                published_at=at,
            )
        ],
        ignore_conflicts=True,
    )
    return ReviewProtocol.objects.get(protocol_hash=protocol.protocol_hash)
