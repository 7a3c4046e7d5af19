"""Shows moments in the reader's own time zone; without one, in UTC."""

from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone


def reader_timezone(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that runs each request in the zone of `User.timezone`."""

    def respond(request: HttpRequest) -> HttpResponse:
        # Without the cookie nobody is signed in; not looking keeps such answers free of `Vary: Cookie`.
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        name = getattr(request.user, "timezone", "") if has_session else ""
        with timezone.override(_zone(name or "UTC")):
            return get_response(request)

    return respond


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        # A zone that a newer system knew, or that was written past the form.
        return ZoneInfo("UTC")
