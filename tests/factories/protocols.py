"""Review protocols, published through their service."""

import json
from pathlib import Path
from typing import Any

from accounts.clock import database_now
from accounts.models import User
from reviews.models import ReviewProtocol
from reviews.services import publish_protocol
from tests.factories.people import make_author

EXAMPLES = Path(__file__).resolve().parents[2] / "reviews" / "examples"


def protocol_content(name: str = "single_expert", **changes: Any) -> bytes:
    """The text of a shipped protocol; `changes` replace its members."""
    return json.dumps(json.loads((EXAMPLES / f"{name}.json").read_text()) | changes).encode()


def published_protocol(name: str = "single_expert", *, author: User | None = None, **changes: Any) -> ReviewProtocol:
    """A published protocol."""
    content = protocol_content(name, **changes)
    return publish_protocol(content=content, author=author or make_author(), at=database_now())
