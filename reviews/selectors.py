"""Reads over review protocols."""

from reviews.models import ReviewProtocol


def published_protocol(protocol_id: str) -> ReviewProtocol | None:
    """The protocol of that id; every stored protocol is published, yanked ones stay readable."""
    return ReviewProtocol.objects.filter(pk=protocol_id).select_related("author", "yanked_by").first()
