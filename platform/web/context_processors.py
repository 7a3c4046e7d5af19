"""What every template knows besides Django's own: the navigation."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from web.navigation import NavigationItem, navigation_items


def navigation(request: HttpRequest) -> dict[str, Any]:
    """The links of the header, worked out only when a template draws them."""

    def items() -> list[NavigationItem]:
        return navigation_items(request.user, request.path) if hasattr(request, "user") else []

    return {"navigation": SimpleLazyObject(items)}
