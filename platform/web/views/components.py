"""Every component on one page, with content as it may come: what staff and tests look at after a change of style."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from web.component_samples import sample_context


@require_safe
def component_page(request: HttpRequest) -> HttpResponse:
    """The page of components, for staff; elsewhere only where the settings say so."""
    if not (settings.DEBUG or settings.TFP_SHOW_COMPONENTS or request.user.is_staff):
        raise Http404
    messages.success(request, "The file is stored: 1.2 MB, received 28 Nov 2026, 14:02:31 UTC.")
    return render(request, "help/components.html", sample_context(request.GET.get("compare", "")))
