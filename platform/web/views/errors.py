"""Problem details (RFC 9457): one description of what went wrong, as a page for people and as JSON for programs."""

import logging
import secrets
import sys
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProblemDetail:
    """One kind of failure: what happened, and what the reader can do."""

    status: int
    code: str
    title: str
    detail: str
    remedy: str = ""
    reference: str = ""
    errors: tuple[dict[str, str], ...] = ()


_KNOWN = MappingProxyType(
    {
        problem.status: problem
        for problem in (
            ProblemDetail(
                400,
                "bad_request",
                "The request could not be read",
                "It is not of the form this address expects. Nothing was changed.",
                "Go back, reload the page and try again.",
            ),
            ProblemDetail(
                403,
                "forbidden",
                "Not for this account",
                "You may know that this exists, but your account does not have the right to use it.",
                "Sign in with another account, or ask whoever manages it.",
            ),
            ProblemDetail(
                404,
                "not_found",
                "No such page, or not visible to you",
                "Addresses here never die: what was withdrawn, revoked or redacted still answers. "
                "So this one was mistyped, or what stands here is private.",
                "Check the address, or sign in if it belongs to you.",
            ),
            ProblemDetail(
                405,
                "method_not_allowed",
                "This address does not do that",
                "It exists, but does not take this kind of request. Nothing was changed.",
                "Go back to the page and use its buttons.",
            ),
            ProblemDetail(
                409,
                "conflict",
                "Changed elsewhere",
                "Somebody changed this while you were working on it. Nothing of yours was written.",
                "Reload, look at what changed, and decide again.",
            ),
            ProblemDetail(
                410,
                "gone",
                "The bytes are gone",
                "They were removed for good. What was recorded about them stays: role, digest and size.",
            ),
            ProblemDetail(
                413,
                "too_large",
                "Too large",
                "What was sent is over the limit. Nothing was stored.",
                "Send a smaller file.",
            ),
            ProblemDetail(
                429,
                "too_many_requests",
                "Too many tries",
                "The limit for this is used up for now. Nothing was changed.",
                "Wait a few minutes, then try again.",
            ),
            ProblemDetail(
                500,
                "internal",
                "Our fault",
                "Something broke on our side. Nothing was saved.",
                "Try again in a minute. If it happens again, tell us the reference.",
            ),
            ProblemDetail(
                503,
                "unavailable",
                "Not available just now",
                "A service that this page needs does not answer. Nothing was saved.",
                "Try again in a minute.",
            ),
        )
    }
)
_CSRF = ProblemDetail(
    403,
    "csrf_failed",
    "The form was too old to be safe",
    "Its protection against forged requests did not match, so nothing was changed. "
    "This happens when cookies are off, or when you signed in or out in another tab.",
    "Reload the page the form was on and send it again.",
)


def problem_response(request: HttpRequest, status: int, **told: Any) -> HttpResponse:
    """The answer for a failure, in the form the asker reads.

    Args:
        request: decides between a page and JSON.
        status: one of the statuses known here.
        told: `title`, `detail`, `remedy`, `code`, `reference` or `errors`, in place of the usual ones.
    """
    return _answer(request, replace(_KNOWN[status], **told))


def wants_json(request: HttpRequest) -> bool:
    """True for programs: under `/api/`, or asking for JSON and not for HTML."""
    accepted = request.headers.get("Accept", "")
    return request.path.startswith("/api/") or ("json" in accepted and "text/html" not in accepted)


def _answer(request: HttpRequest, problem: ProblemDetail) -> HttpResponse:
    if wants_json(request):
        return JsonResponse(_document(problem), status=problem.status, content_type="application/problem+json")
    context = {"problem": problem, "status": problem.status}
    # Our own failures are drawn without the request: whatever broke may break the navigation too.
    html = render_to_string(f"{_template(problem.status)}.html", context, None if problem.status >= 500 else request)
    return HttpResponse(html, status=problem.status)


def _template(status: int) -> str:
    return str(status) if status in (403, 404, 413, 429, 500) else "error_page"


def _document(problem: ProblemDetail) -> dict[str, Any]:
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    optional = {"remedy": problem.remedy, "reference": problem.reference, "errors": list(problem.errors)}
    return document | {name: value for name, value in optional.items() if value}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: a request that could not be read, or was too large to be."""
    if isinstance(exception, (RequestDataTooBig, TooManyFilesSent)):
        return problem_response(request, 413)
    return problem_response(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  (Django's signature)
    """Django's handler403."""
    return problem_response(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  (Django's signature)
    """Django's handler404; it does not say whether the thing exists."""
    return problem_response(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: a short reference on the page, and the same in the log beside the traceback."""
    reference = f"E-{secrets.token_hex(2).upper()}"
    logger.error("unhandled error", extra={"reference": reference, "path": request.path}, exc_info=sys.exc_info())
    return problem_response(request, 500, reference=reference)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  (Django's signature)
    """Django's CSRF_FAILURE_VIEW."""
    return _answer(request, _CSRF)
