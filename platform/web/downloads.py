"""Bytes as files to download: never shown by the browser as a page of ours."""

from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from blobs.services import blob_name, blob_store
from web.views.errors import problem_response

# Whatever a browser makes of the bytes, they run nothing and load nothing.
_HARMLESS = "default-src 'none'; sandbox"


def bytes_response(content: bytes, *, filename: str, content_type: str) -> HttpResponse:
    """Bytes in memory as an attachment."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    response["Content-Security-Policy"] = _HARMLESS
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def stored_response(request: HttpRequest, content_hash: str, *, filename: str) -> HttpResponseBase:
    """Stored bytes as an attachment, streamed; a tombstone (410) where they were deleted."""
    try:
        file = blob_store().open(blob_name(content_hash), "rb")
    except FileNotFoundError:
        return gone_response(request, content_hash)
    response = FileResponse(file, as_attachment=True, filename=filename, content_type="application/octet-stream")
    response["Content-Security-Policy"] = _HARMLESS
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def gone_response(request: HttpRequest, content_hash: str) -> HttpResponse:
    """The tombstone of deleted bytes."""
    detail = f"These bytes were deleted. What was recorded of them stays; their digest is {content_hash}."
    return problem_response(request, 410, detail=detail)
