"""Uploads: streamed to disk with the limit in force while they stream, and the media type their owner declares."""

import re
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse

from verification.engine.plan.requirements import bare_media_type
from web.quantities import size_words
from web.views.errors import problem_response

# What the form around a file may take besides it: its fields and the borders between them.
FORM_BYTES = 64 * 1024
UNKNOWN_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")


class LimitedUpload(TemporaryFileUploadHandler):
    """Writes a file to disk while it arrives, and stops at the limit; the rest is read and dropped.

    Dropping, instead of closing the connection, lets the browser show the answer.
    """

    def __init__(self, request: HttpRequest, limit_bytes: int) -> None:
        super().__init__(request)
        self.limit_bytes = limit_bytes
        self.announced_bytes = 0
        self.received_bytes = 0
        self.is_over = False

    def handle_raw_input(
        self, input_data: Any, meta: dict[str, Any], content_length: int, boundary: str, encoding: str | None = None
    ) -> None:
        """Note how much is announced, so that a request that cannot fit is dropped from its first byte on."""
        self.announced_bytes = content_length
        self.is_over = content_length > self.limit_bytes + FORM_BYTES

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin a file; refuse where the request is known not to fit."""
        if self.is_over:
            raise StopUpload(connection_reset=False)
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write a chunk, as long as all of them together fit."""
        self.received_bytes += len(raw_data)
        if self.received_bytes > self.limit_bytes:
            self.is_over = True
            raise StopUpload(connection_reset=False)
        super().receive_data_chunk(raw_data, start)


def limit_upload(request: HttpRequest) -> None:
    """Put the limit in force for this request; before anything reads its body, the protection against forgery too."""
    if request.method == "POST":
        request.upload_handlers = [LimitedUpload(request, settings.TFP_MAX_UPLOAD_BYTES)]


def too_large_response(request: HttpRequest) -> HttpResponse | None:
    """The 413 answer where the request's file was over the limit, else None."""
    handler = next((found for found in request.upload_handlers if isinstance(found, LimitedUpload)), None)
    # The handler stops while the body is parsed; asking for the files sees to it that it was.
    if handler is None or request.FILES or not handler.is_over:
        return None
    sent = size_words(max(handler.announced_bytes, handler.received_bytes))
    detail = f"{sent} is over the {size_words(handler.limit_bytes)} limit. Nothing was stored."
    return problem_response(request, 413, detail=detail)


def canonical_media_type(declared: str | None) -> str:
    """The declared media type as Contracts write it; `application/octet-stream` for what is none."""
    bare = bare_media_type(declared or "")
    return bare if _MEDIA_TYPE.fullmatch(bare) else UNKNOWN_TYPE
