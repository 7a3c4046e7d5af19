"""One's own work, by whose turn it is, and one's notices."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.clock import database_now
from accounts.models import User
from notices.selectors import notices_of, unread_count
from notices.services import mark_read
from submissions.selectors import open_attempts
from verification.runs.selectors import submissions_settled, submissions_under_way, told_runs
from web.my_words import needs_you, notice_rows
from web.submission_words import submission_rows

PAGE_SIZE = 20
MAX_UNDER_WAY = 50


@require_safe
@login_required
def my_work(request: HttpRequest) -> HttpResponse:
    """What needs the participant, what is under way, what is finished."""
    user = cast("User", request.user)
    under_way = list(submissions_under_way(user)[:MAX_UNDER_WAY])
    page = Paginator(submissions_settled(user), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = submission_rows([*under_way, *page.object_list])
    context = {
        "needs_you": needs_you(open_attempts(user), at=timezone.now()),
        "under_way": rows[: len(under_way)],
        "finished": rows[len(under_way) :],
        "page_obj": page,
        "unread": unread_count(user),
    }
    return render(request, "my/page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def notices(request: HttpRequest) -> HttpResponse:
    """What happened to one's own work; a post marks all of it read."""
    user = cast("User", request.user)
    if request.method == "POST":
        mark_read(user=user, at=database_now())
        messages.success(request, "All notices are marked read.")
        return redirect("notices")
    page = Paginator(notices_of(user), PAGE_SIZE).get_page(request.GET.get("page"))
    listed = list(page.object_list)
    runs = told_runs(user, [notice.subject_id for notice in listed])
    context = {
        "notices": notice_rows(listed, runs),
        "page_obj": page,
        "unread": unread_count(user),
        "crumbs": [("Account", "/account/"), ("Notices", "")],
    }
    return render(request, "notices/page.html", context)
