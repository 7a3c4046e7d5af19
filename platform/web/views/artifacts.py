"""Artifacts: what is recorded of an uploaded file, and its bytes for those who may have them."""

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from verification.engine.names import safe_filename
from verification.runs.selectors import ReadableArtifact, artifact_for
from web.attempt_words import file_row
from web.downloads import gone_response, stored_response
from web.templatetags.tfp import hash_tag, moment


def _readable(request: HttpRequest, artifact_id: str) -> ReadableArtifact:
    found = artifact_for(request.user, artifact_id)
    if found is None:
        raise Http404
    return found


@require_safe
def artifact_page(request: HttpRequest, artifact_id: str) -> HttpResponse:
    """Name, size, digest, and the Submissions that offer it."""
    found = _readable(request, artifact_id)
    artifact = found.artifact
    problem = artifact.attempt.revision.problem
    facts = [
        ("Artifact", hash_tag(artifact.pk, copy=True)),
        ("Digest", hash_tag(artifact.blob_id, copy=True)),
        ("Size", file_row(artifact)["size"]),
        ("Declared type", artifact.media_type),
        ("Uploaded", moment(artifact.uploaded_at)),
        ("Uploaded by", str(artifact.uploaded_by)),
    ]
    crumbs = [
        ("Problems", "/problems/"),
        (problem.title, reverse("revision", args=[problem.slug, artifact.attempt.revision.number])),
        ("File", ""),
    ]
    context = {"found": found, "file": file_row(artifact), "facts": facts, "problem": problem, "crumbs": crumbs}
    return render(request, "artifacts/page.html", context)


@require_safe
def download(request: HttpRequest, artifact_id: str) -> HttpResponseBase:
    """The bytes as an attachment; 404 for those who may not read them, 410 where they were withdrawn."""
    found = _readable(request, artifact_id)
    artifact = found.artifact
    if not found.may_read_bytes:
        raise Http404
    if artifact.withdrawn_at is not None:
        return gone_response(request, artifact.blob_id)
    name = safe_filename(artifact.filename, fallback=artifact.pk)
    return stored_response(request, artifact.blob_id, filename=name)
