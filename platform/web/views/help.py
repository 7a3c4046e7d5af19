"""Help: what the words mean, and what each reason code means and asks for."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from verification.engine.reasons import ATTRIBUTION, EXPLANATION, RESULT_OF, Attribution, ReasonCode
from web.reason_help import NEXT_STEPS, PARTIES, PARTY_SENTENCES


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Where help lies."""
    return render(request, "help/page.html", {"crumbs": [("Help", "")]})


@require_safe
def words(request: HttpRequest) -> HttpResponse:
    """What the platform's words mean."""
    return render(request, "help/words.html", {"crumbs": [("Help", "/help/"), ("Words", "")]})


@require_safe
def reasons(request: HttpRequest) -> HttpResponse:
    """All reason codes, by the party they are attributed to."""
    groups = [
        {"party": PARTIES[party], "sentence": PARTY_SENTENCES[party], "reasons": _reasons_of(party)}
        for party in Attribution
    ]
    return render(request, "help/reasons.html", {"groups": groups, "crumbs": [("Help", "/help/"), ("Reasons", "")]})


@require_safe
def reason(request: HttpRequest, code: str) -> HttpResponse:
    """One reason code: what it means, whose doing it is, what to do next."""
    try:
        known = ReasonCode(code)
    except ValueError as unknown:
        raise Http404 from unknown
    crumbs = [("Help", "/help/"), ("Reasons", "/help/reasons/"), (code, "")]
    return render(request, "help/reason.html", {"reason": _described(known), "crumbs": crumbs})


def _reasons_of(party: Attribution) -> list[dict[str, Any]]:
    return [_described(code) for code in ReasonCode if ATTRIBUTION[code] is party]


def _described(code: ReasonCode) -> dict[str, Any]:
    party = ATTRIBUTION[code]
    return {
        "code": code.value,
        "result": RESULT_OF[code].value,
        "explanation": EXPLANATION[code],
        "party": PARTIES[party],
        "party_sentence": PARTY_SENTENCES[party],
        "next_step": NEXT_STEPS[code],
    }
