"""The front page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    """What the platform is and what it promises."""
    return render(request, "home/page.html")
