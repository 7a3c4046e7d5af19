"""Problems: the list, the page of a revision, and the inputs it binds."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.clock import database_now
from problems.selectors import binding_for, problem_state, published_problems, revision_for
from verification.runs.tallies import COUNTED_UP_TO, submission_counts
from web.forms.problems import ProblemFilterForm
from web.problem_page import STATE_LOOKS, page_number_of, problem_context
from web.published_files import download_name, published_response
from web.quantities import bounded_words

PROBLEMS_PER_PAGE = 20


@require_safe
def problem_list(request: HttpRequest) -> HttpResponse:
    """All published Problems, searched and filtered."""
    at = database_now()
    form = ProblemFilterForm(request.GET)
    words, state = form.words(), form.state_wanted()
    problems = published_problems(request.user, words=words, state=state, at=at)
    page = Paginator(problems, PROBLEMS_PER_PAGE).get_page(page_number_of(request.GET.get("page", "")))
    counts = submission_counts(request.user, [problem.pk for problem in page])
    rows = [
        {
            "problem": problem,
            "state": STATE_LOOKS[problem_state(problem, at=at)],
            "readable": counts[problem.pk].readable,
            "readable_words": bounded_words(counts[problem.pk].readable, COUNTED_UP_TO),
            "verified_words": bounded_words(counts[problem.pk].verified, COUNTED_UP_TO),
        }
        for problem in page
    ]
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "form": form,
        "rows": rows,
        "page_obj": page,
        "query": query.urlencode(),
        "words": " ".join(words),
        "wanted_state": state,
        "is_filtered": bool(words or state),
        "crumbs": [("Problems", "")],
    }
    return render(request, "problems/list.html", context)


@require_safe
def problem_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The current revision of a Problem."""
    return _page(request, slug, None)


@require_safe
def revision_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One revision of a Problem, replaced ones included."""
    return _page(request, slug, number)


def _page(request: HttpRequest, slug: str, number: int | None) -> HttpResponse:
    found = revision_for(request.user, slug, number)
    if found is None:
        raise Http404
    context = problem_context(found, request.user, page_number=page_number_of(request.GET.get("page", "")))
    problem = found.revision.problem
    context["crumbs"] = (
        [("Problems", "/problems/"), (problem.title, "")]
        if number is None
        else [("Problems", "/problems/"), (problem.title, f"/problems/{slug}/"), (f"Revision {number}", "")]
    )
    return render(request, "problems/page.html", context)


@require_safe
def reference(request: HttpRequest, slug: str, number: int, key: str) -> HttpResponseBase:
    """What a revision gives one slot: its bytes, or the way to its link. Sealed bytes do not exist here yet."""
    binding = binding_for(request.user, slug, number, key)
    if binding is None:
        raise Http404
    if binding.kind == "linked":
        return HttpResponseRedirect(binding.url)
    fallback = f"{slug}-r{number}-{key}"
    return published_response(
        request,
        binding.content_hash,
        filename=download_name(binding.filename, fallback=fallback, media_type=binding.media_type),
        media_type=binding.media_type,
        is_public=binding.revision.published_at is not None,
    )
