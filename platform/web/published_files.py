"""Published bytes as a download: named for people, with their digest as ETag, cached for as long as they stand."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from verification.engine.names import safe_filename
from web.downloads import stored_response

# Declared media types are their author's word; only these are repeated, since no browser makes a page of them.
_PLAIN_TYPES = frozenset({"text/plain", "text/csv", "application/json", "application/zip", "application/gzip"})
_ENDINGS = {"text/plain": ".txt", "text/csv": ".csv", "application/json": ".json", "application/zip": ".zip"}
_FOR_EVER = "public, max-age=31536000, immutable"


def download_name(given: str, *, fallback: str, media_type: str) -> str:
    """The name to save a file under: the given one where it is safe and has an ending, else the fallback with one."""
    name = safe_filename(given, fallback=fallback)
    return name if "." in name.strip(".") else fallback + _ENDINGS.get(media_type, "")


def published_response(
    request: HttpRequest, content_hash: str, *, filename: str, media_type: str, is_public: bool = True
) -> HttpResponseBase:
    """Stored bytes, streamed as an attachment; 304 where the reader has them, 410 where they are gone.

    Args:
        request: its If-None-Match is compared with the digest.
        content_hash: of the bytes; the caller has decided that this reader may have them.
        filename: from `download_name`.
        media_type: as declared; anything a browser might render is sent as plain bytes.
        is_public: everybody may have them, for good; else caches ask again each time.
    """
    etag = f'"{content_hash}"'
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        response = stored_response(request, content_hash, filename=filename)
        if response.status_code != 200:
            return response
        if media_type in _PLAIN_TYPES:
            response["Content-Type"] = f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
    response["ETag"] = etag
    response["Cache-Control"] = _FOR_EVER if is_public else "private, no-cache"
    return response
