"""How the machinery stands: the queue, the runners, what came out lately, what had to be mended."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.clock import database_now
from verification.runs.tallies import platform_status

SWEEP_WORDS = {
    "dead_executor": "A runner died in the middle of a run; another took it over.",
    "lease_expired": "A runner went silent; its run was handed on.",
    "message_lost": "A message to the runners was lost; it was sent again.",
    "wait_over": "A wait reached its bound.",
    "wake_lost": "A waiting run was not woken in time.",
    "run_missing": "A Submission had no run yet; one was made.",
}


@require_safe
def status_page(request: HttpRequest) -> HttpResponse:
    """Queue and runners, for everyone; never whose runs they are."""
    at = database_now()
    standing = platform_status(at=at)
    waited_s = None
    if standing.oldest_queued_at is not None:
        waited_s = max(0.0, (at - standing.oldest_queued_at).total_seconds())
    context = {
        "at": at,
        "standing": standing,
        "waited_s": waited_s,
        "results": list(standing.results.items()),
        "finished": sum(standing.results.values()) + standing.untold,
        "sweeps": [(SWEEP_WORDS.get(kind, kind.replace("_", " ")), fired) for kind, fired in standing.sweeps],
        "crumbs": [("Queue and runners", "")],
    }
    return render(request, "status/page.html", context)
