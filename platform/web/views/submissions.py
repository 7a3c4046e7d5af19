"""Submissions: choosing what to submit, checking it, sending it once, the receipt, and the page of each."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.clock import database_now
from accounts.models import User
from submissions.models import Artifact, Attempt
from submissions.selectors import quota_of, submissions_of_attempt
from submissions.services import WorkRefused, own_work
from verification.runs.selectors import derived_state, runs_of_submission, submission_for
from verification.runs.services import submit_work
from web.attempt_words import attempt_context, attempt_crumbs, unmet_words
from web.drafts import Draft, DraftGone, draft_of, keep_draft, send_once
from web.forms.submissions import NO_FILE, ChooseForm, SendForm, role_field
from web.refusals import invalid_response, refusal_response
from web.submission_page import submission_context
from web.views.attempts import own_attempt
from web.views.errors import problem_response, wants_json


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def choose_page(request: HttpRequest, attempt_id: str) -> HttpResponse:
    """First page of submitting: which file for which role, and the summary."""
    attempt = own_attempt(request, attempt_id)
    offered = [artifact for artifact in attempt.artifacts.all() if artifact.withdrawn_at is None]
    form = ChooseForm(
        request.POST if request.method == "POST" else None,
        artifacts=offered,
        contract=attempt.revision.verifier_contract,
        initial=_initial(request, attempt),
    )
    if form.is_bound and form.is_valid():
        keep_draft(request, attempt.pk, artifact_ids=form.artifact_ids, summary_md=form.summary_md)
        return redirect("attempt_check", attempt.pk)
    if form.is_bound and wants_json(request):
        return invalid_response(request, form)
    context = attempt_context(attempt, at=timezone.now()) | {
        "form": form,
        "offered": offered,
        "crumbs": [*attempt_crumbs(attempt), ("Submit", "")],
    }
    return render(request, "submissions/choose.html", context, status=422 if form.is_bound else 200)


def _initial(request: HttpRequest, attempt: Attempt) -> dict[str, object]:
    """What was chosen before, for those who come back to change it."""
    draft = draft_of(request, attempt.pk)
    if draft is None:
        return {}
    contract = attempt.revision.verifier_contract
    roles = [] if contract is None else list(contract.roles.all())
    chosen = {role_field(role): NO_FILE for role in roles} | {
        role_field(role): artifact_id for role, artifact_id in zip(roles, draft.artifact_ids, strict=False)
    }
    return {**chosen, "artifacts": list(draft.artifact_ids), "summary": draft.summary_md}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def check_page(request: HttpRequest, attempt_id: str) -> HttpResponse:
    """Second page: what will be submitted, with what it costs and misses; the post sends it, once."""
    attempt = own_attempt(request, attempt_id)
    if request.method == "POST":
        return _send(request, attempt)
    draft = draft_of(request, attempt.pk)
    if draft is None:
        messages.info(request, "Nothing is chosen yet, or it was sent already.")
        return redirect("attempt_submit", attempt.pk)
    return _drawn_check(request, attempt, draft)


def _drawn_check(request: HttpRequest, attempt: Attempt, draft: Draft) -> HttpResponse:
    at = timezone.now()
    participant = cast("User", request.user)
    chosen = _chosen(attempt, draft)
    context = attempt_context(attempt, at=at)
    roles = [row["key"] for row in context["asked"]]
    quota = quota_of(participant, attempt.revision.problem, at=at)
    context |= {
        "form": SendForm(initial={"token": draft.token}),
        "chosen": [
            {"role": roles[place] if place < len(roles) else f"file {place + 1}", **row}
            for place, row in enumerate(row for artifact in chosen for row in _rows(context, artifact))
        ],
        "missing": roles[len(chosen) :],
        "summary_md": draft.summary_md,
        "unmet": unmet_words(context["contract"], chosen, draft.summary_md),
        "quota": quota,
        "is_used_up": quota is not None and quota.left == 0,
        "own_work": own_work(participant, attempt.revision),
        "crumbs": [*attempt_crumbs(attempt), ("Check", "")],
    }
    return render(request, "submissions/check.html", context)


def _chosen(attempt: Attempt, draft: Draft) -> list[Artifact]:
    by_id = {artifact.pk: artifact for artifact in attempt.artifacts.all()}
    return [by_id[artifact_id] for artifact_id in draft.artifact_ids if artifact_id in by_id]


def _rows(context: dict[str, object], artifact: Artifact) -> list[dict[str, object]]:
    files = cast("list[dict[str, object]]", context["files"])
    return [row for row in files if row["artifact"] == artifact]


def _send(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    participant = cast("User", request.user)

    def send(draft: Draft) -> str:
        submission = submit_work(
            participant=participant,
            attempt_id=attempt.pk,
            artifact_ids=draft.artifact_ids,
            summary_md=draft.summary_md,
            at=database_now(),
        )
        return str(submission.number)

    form = SendForm(request.POST)
    if not form.is_valid():
        return problem_response(request, 400)
    try:
        number = send_once(request, attempt.pk, form.cleaned_data["token"], send)
    except DraftGone:
        messages.warning(request, "What you sent was put together differently meanwhile. Check it again.")
        return redirect("attempt_check", attempt.pk)
    except WorkRefused as refused:
        return refusal_response(request, refused)
    return redirect(f"{reverse('attempt_receipt', args=[attempt.pk])}?number={number}")


@require_safe
@login_required
def receipt_page(request: HttpRequest, attempt_id: str) -> HttpResponse:
    """Third page: when it was received, its digest, and where it goes on. Without a number, the newest."""
    attempt = own_attempt(request, attempt_id)
    number = request.GET.get("number", "")
    submissions = submissions_of_attempt(attempt).prefetch_related("places__artifact", "runs")
    if number.isascii() and number.isdigit() and len(number) < 10:
        submissions = submissions.filter(number=int(number))
    submission = submissions.first()
    if submission is None:
        raise Http404
    run = min(submission.runs.all(), key=lambda run: run.number, default=None)
    context = attempt_context(attempt, at=timezone.now()) | {
        "submission": submission,
        "run": run,
        "places": [place.artifact for place in submission.places.all()],
        "crumbs": [*attempt_crumbs(attempt), ("Receipt", "")],
    }
    return render(request, "submissions/receipt.html", context)


@require_safe
def submission_page(request: HttpRequest, submission_id: str) -> HttpResponse:
    """One Submission: its derived verdict and the run it rests on, its runs, files and events."""
    submission = submission_for(request.user, submission_id)
    if submission is None:
        raise Http404
    runs = runs_of_submission(request.user, submission.pk)
    state = derived_state(submission, runs)
    context = submission_context(submission, state, runs, viewer=request.user, at=timezone.now())
    return render(request, "submissions/page.html", context)
