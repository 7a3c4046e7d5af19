"""Runs: the page, its live part, logs and evidence of stages, the record as a file."""

import hashlib

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from verification.engine.names import safe_filename
from verification.runs.documents import is_settled, record_bytes
from verification.runs.projection import ProjectedRun, ProjectedStage
from verification.runs.selectors import event_number, run_for
from web.downloads import bytes_response, stored_response
from web.log_text import log_html
from web.run_page import crumbs, live_context, run_context
from web.run_parts import log_content, redaction_words, truncation_words
from web.run_words import SEALED
from web.views.errors import problem_response


def _run(request: HttpRequest, run_id: str) -> ProjectedRun:
    run = run_for(request.user, run_id)
    if run is None:
        raise Http404
    return run


def _stage(run: ProjectedRun, stage_key: str) -> ProjectedStage:
    stage = next((stage for stage in run.stages if stage.key == stage_key), None)
    if stage is None:
        raise Http404
    return stage


@require_safe
def run_page(request: HttpRequest, run_id: str) -> HttpResponse:
    """One run: result, cause and next step, stages, inputs and evidence, record."""
    run = _run(request, run_id)
    context = run_context(run, at=timezone.now(), given=request.GET.get("compare", "")[:200])
    return render(request, "runs/page.html", context)


@require_safe
def run_live(request: HttpRequest, run_id: str) -> HttpResponse:
    """What changed since the page was drawn: 204 for nothing, else the changed parts."""
    at = timezone.now()
    seen, until = _number(request, "v"), _number(request, "until")
    number = event_number(request.user, run_id)
    if number is None:
        raise Http404
    if number == seen and (not until or at.timestamp() < until):
        return HttpResponse(status=204)
    context = live_context(_run(request, run_id), seen=seen, at=at)
    return render(request, "runs/live.html", context | {"is_changed": number != seen, "oob": True})


def _number(request: HttpRequest, name: str) -> int:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 12 else 0


@require_safe
def run_record(request: HttpRequest, run_id: str) -> HttpResponse:
    """The run's document, in the form whose SHA-256 is the record digest."""
    run = _run(request, run_id)
    record = record_bytes(run)
    etag = f'"{hashlib.sha256(record).hexdigest()}"'
    if is_settled(run) and etag in request.headers.get("If-None-Match", ""):
        return HttpResponseNotModified(headers={"ETag": etag})
    response = bytes_response(record, filename=f"{run.id}.json", content_type="application/json")
    if is_settled(run):
        response["ETag"] = etag
    return response


@require_safe
def stage_log(request: HttpRequest, run_id: str, stage_key: str) -> HttpResponse:
    """A stage's whole log, every byte shown as what it is; `?raw=1` gives the bytes."""
    run = _run(request, run_id)
    stage = _stage(run, stage_key)
    way = [*crumbs(run), (f"Run {run.number}", reverse("run", args=[run.id])), (f"Log of {stage.title}", "")]
    context = {"run": run, "stage": stage, "crumbs": way}
    log = stage.log
    if stage.is_withheld or stage.state == "withheld":
        return render(request, "runs/log.html", context | {"note_state": "withheld", "note": SEALED})
    if log is None:
        return render(request, "runs/log.html", context | {"note_state": "info", "note": _no_log(stage)})
    if log.redaction is not None:
        return render(request, "runs/log.html", context | {"note_state": "redacted", "note": redaction_words(log)})
    content = log_content(log)
    if content is None:
        return problem_response(request, 410, detail=f"The log of {stage.title} is gone. Its digest stays.")
    if request.GET.get("raw") == "1":
        return bytes_response(content, filename=f"{run.id}-{stage.key}.log", content_type="text/plain; charset=utf-8")
    note = truncation_words(log) if log.is_truncated else ""
    return render(request, "runs/log.html", context | {"text": log_html(content), "note": note, "note_state": "info"})


def _no_log(stage: ProjectedStage) -> str:
    if stage.result is None:
        return "This stage has left no log yet. It appears here once the stage has ended."
    return "This stage wrote no log."


@require_safe
def stage_evidence(request: HttpRequest, run_id: str, stage_key: str) -> HttpResponseBase:
    """One evidence file of a stage, named by its digest."""
    stage = _stage(_run(request, run_id), stage_key)
    digest = request.GET.get("digest", "")
    path = next((path for path, content_hash, _ in stage.evidence_files if content_hash == digest), None)
    if path is None:
        raise Http404
    name = safe_filename(path.rpartition("/")[2], fallback="evidence")
    return stored_response(request, digest, filename=name)
