"""What the pages of an Attempt say: what is asked, what is there, and whether it takes more."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse

from submissions.models import Artifact, Attempt
from submissions.services import WorkRefused, check_window
from verification.contracts.models import VerifierContract
from verification.engine.plan import OfferedArtifact, unmet_requirement
from web.log_text import plain_html
from web.quantities import exact_size_words, size_words
from web.run_words import now_words
from web.templatetags.tfp import hash_tag


def attempt_context(attempt: Attempt, *, at: datetime) -> dict[str, Any]:
    """The variables that all pages of an Attempt share."""
    revision = attempt.revision
    artifacts = list(attempt.artifacts.all())
    return {
        "attempt": attempt,
        "revision": revision,
        "problem": revision.problem,
        "contract": revision.verifier_contract,
        "asked": asked_rows(revision.verifier_contract),
        "artifacts": artifacts,
        "files": [file_row(artifact) for artifact in artifacts],
        "refusal": refusal_of(attempt, at=at),
        "crumbs": [*attempt_crumbs(attempt)[:-1], ("Attempt", "")],
    }


def attempt_crumbs(attempt: Attempt) -> list[tuple[str, str]]:
    """The way to the Attempt, and the Attempt."""
    revision = attempt.revision
    return [
        ("Problems", "/problems/"),
        (revision.problem.title, reverse("revision", args=[revision.problem.slug, revision.number])),
        ("Attempt", reverse("attempt", args=[attempt.pk])),
    ]


def refusal_of(attempt: Attempt, *, at: datetime) -> str:
    """Why the Attempt takes nothing now; empty when it does."""
    if attempt.closed_at is not None:
        return f"Closed on {now_words(attempt.closed_at)}. It takes no more files and no more Submissions."
    try:
        check_window(attempt.revision.problem, at=at)
    except WorkRefused as refused:
        return str(refused)
    return ""


def asked_rows(contract: VerifierContract | None) -> list[dict[str, Any]]:
    """What a checkable Submission brings: roles in order, then the summary."""
    if contract is None:
        return []
    return [
        {
            "key": role.key,
            "media_types": ", ".join(role.media_types),
            "limit": f"{size_words(role.max_bytes)} ({exact_size_words(role.max_bytes)})",
        }
        for role in contract.roles.all()
    ]


def file_row(artifact: Artifact) -> dict[str, Any]:
    """One uploaded file, for a table."""
    return {
        "artifact": artifact,
        "name": plain_html(artifact.filename),
        "size": exact_size_words(artifact.size_bytes),
        "digest": hash_tag(artifact.blob_id, href=reverse("artifact", args=[artifact.pk]), short=True),
        "is_withdrawn": artifact.withdrawn_at is not None,
    }


def requirements_of(contract: VerifierContract) -> dict[str, Any]:
    """The Contract's `submission_requirements`, as its document has them."""
    return {
        "required_artifacts": [
            {"role": role.key, "media_types": role.media_types, "max_bytes": role.max_bytes}
            for role in contract.roles.all()
        ],
        "summary": contract.summary,
    }


def unmet_words(contract: VerifierContract | None, artifacts: Sequence[Artifact], summary_md: str) -> str:
    """The requirement that this Submission would miss; empty when it can be checked."""
    if contract is None:
        return ""
    offered = [OfferedArtifact(media_type=a.media_type, size_bytes=a.size_bytes) for a in artifacts]
    return unmet_requirement(requirements_of(contract), offered, bool(summary_md)) or ""
