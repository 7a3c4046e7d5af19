"""Attempts: opening one, its page with uploads, closing it. They are private to their participant."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from accounts.clock import database_now
from accounts.models import User
from blobs.services import BytesTooLarge, stage_bytes
from problems.selectors import revision_for
from submissions.models import Artifact, Attempt
from submissions.selectors import attempt_of, quota_of, submissions_of_attempt
from submissions.services import WorkRefused, add_artifact, close_attempt, open_attempt
from verification.engine.outcome import display_safe
from web.attempt_words import attempt_context, attempt_crumbs
from web.forms.submissions import CloseForm, UploadForm
from web.quantities import size_words
from web.refusals import add_refusal, invalid_response, refusal_response
from web.submission_words import submission_rows
from web.uploads import limit_upload, too_large_response
from web.views.errors import wants_json

MAX_LISTED = 10
UPLOAD_LIMITS = "One file at a time, at most {}. It is stored at once, and submitted only when you say so."


def own_attempt(request: HttpRequest, attempt_id: str) -> Attempt:
    """The signed-in participant's Attempt; for everybody else there is none."""
    attempt = attempt_of(cast("User", request.user), attempt_id)
    if attempt is None:
        raise Http404
    return attempt


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def open_attempt_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Go on with the open Attempt on a revision, or begin one."""
    found = revision_for(request.user, slug, number)
    if found is None:
        raise Http404
    if request.method != "POST":
        # Where signing in leads back to: the button that brought them there.
        return redirect("revision", slug, number)
    try:
        attempt = open_attempt(participant=cast("User", request.user), revision=found.revision, at=database_now())
    except WorkRefused as refused:
        return refusal_response(request, refused)
    return redirect("attempt", attempt.pk)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def attempt_page(request: HttpRequest, attempt_id: str) -> HttpResponse:
    """What is asked, the files so far, and the way to a Submission; a post uploads one file."""
    # Before the protection against forgery, which reads the body, and with it the file.
    limit_upload(request)
    return _attempt_page(request, attempt_id)


@csrf_protect
@login_required
def _attempt_page(request: HttpRequest, attempt_id: str) -> HttpResponse:
    attempt = own_attempt(request, attempt_id)
    contract = attempt.revision.verifier_contract
    roles = [] if contract is None else list(contract.roles.all())
    if request.method != "POST":
        return _drawn(request, attempt, UploadForm(roles=roles))
    if (too_large := too_large_response(request)) is not None:
        return too_large
    form = UploadForm(request.POST, request.FILES, roles=roles)
    if form.is_valid():
        artifact = _store(attempt, form)
        if artifact is not None:
            name = display_safe(artifact.filename, max_characters=120)
            messages.success(request, f"{name} is stored: {artifact.size_bytes:,} bytes.")
            return redirect("attempt", attempt.pk)
    if wants_json(request):
        return invalid_response(request, form)
    return _drawn(request, attempt, form, status=422)


def _store(attempt: Attempt, form: UploadForm) -> Artifact | None:
    """The stored file; None where it was refused, which the form then says."""
    upload = form.upload
    try:
        with stage_bytes(upload.chunks(), max_bytes=upload.size or 0) as staged:
            return add_artifact(
                attempt_id=attempt.pk,
                staged=staged,
                filename=upload.name or "file",
                media_type=form.declared_type,
                participant=attempt.participant,
                at=database_now(),
            )
    except (WorkRefused, BytesTooLarge) as refused:
        add_refusal(form, refused, "file")
        return None


def _drawn(request: HttpRequest, attempt: Attempt, form: UploadForm, *, status: int = 200) -> HttpResponse:
    at = timezone.now()
    participant = cast("User", request.user)
    listed = list(submissions_of_attempt(attempt)[:MAX_LISTED])
    context = {
        **attempt_context(attempt, at=at),
        "form": form,
        "upload_limits": UPLOAD_LIMITS.format(size_words(settings.TFP_MAX_UPLOAD_BYTES)),
        "quota": quota_of(participant, attempt.revision.problem, at=at),
        "submissions": submission_rows(listed),
    }
    return render(request, "attempts/page.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def close_page(request: HttpRequest, attempt_id: str) -> HttpResponse:
    """Close the Attempt, after saying what that changes."""
    attempt = own_attempt(request, attempt_id)
    refusal = None
    if attempt.closed_at is not None:
        refusal = {"why": "This Attempt is closed already.", "instead": "Open a new one on the Problem's page."}
    elif request.method == "POST":
        try:
            close_attempt(attempt_id=attempt.pk, participant=attempt.participant, at=database_now())
        except WorkRefused as refused:
            return refusal_response(request, refused)
        messages.success(request, "The Attempt is closed.")
        return redirect("attempt", attempt.pk)
    context = {
        "heading": "Close this Attempt",
        "act_label": "Close the Attempt",
        "changes": ["It takes no more files and no more Submissions.", "It cannot be opened again."],
        "stays": [
            "Its files and Submissions, and their runs.",
            "You can open another Attempt on the Problem, while the Problem takes work.",
        ],
        "form": CloseForm(),
        "cancel_url": reverse("attempt", args=[attempt.pk]),
        "refusal": refusal,
        "crumbs": [*attempt_crumbs(attempt), ("Close", "")],
        "is_danger": True,
    }
    return render(request, "components/confirm_page.html", context)
