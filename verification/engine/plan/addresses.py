"""Which web addresses a Contract or a binding may show to readers."""

from __future__ import annotations

from urllib.parse import urlsplit

_MAX_CHARACTERS = 2000


def is_https_url(text: object) -> bool:
    """True for an absolute https:// address with a host, without credentials, blanks or control characters."""
    if not isinstance(text, str) or len(text) > _MAX_CHARACTERS or not text.startswith("https://"):
        return False
    if not text.isprintable() or " " in text or "\\" in text:
        return False
    try:
        parts = urlsplit(text)
        # Reading the port is what refuses one that is no number.
        has_address = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return has_address and "@" not in parts.netloc
