"""Whether a Submission is checkable: the one sentence that names the requirement it misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OfferedArtifact:
    """What counts of one submitted file: the media type its owner declared, and its measured size."""

    media_type: str
    size_bytes: int


def bare_media_type(declared: str) -> str:
    """The media type without parameters and in lower case, as Contracts write it."""
    return declared.partition(";")[0].strip().lower()


def unmet_requirement(
    requirements: Mapping[str, Any], artifacts: Sequence[OfferedArtifact], has_summary: bool
) -> str | None:
    """The first requirement that a Submission misses, as a sentence; None when it can be checked.

    Roles go to artifacts by order. The sentence holds nothing that a participant wrote, since a run's record quotes
    it for good.

    Args:
        requirements: a Contract's `submission_requirements`.
        artifacts: the Submission's files, in its order.
        has_summary: whether it comes with a summary that is not blank.
    """
    if requirements["summary"] == "required" and not has_summary:
        return "This Contract requires a summary, and the Submission has none: write one."
    if requirements["summary"] == "refused" and has_summary:
        return "This Contract takes no summary, and the Submission has one: submit the files alone."
    roles = requirements["required_artifacts"]
    if len(artifacts) < len(roles):
        missing = roles[len(artifacts)]["role"]
        return f"This Contract requires {_files(len(roles))}, the Submission has {len(artifacts)}: add “{missing}”."
    if len(artifacts) > len(roles):
        return f"This Contract takes {_files(len(roles))}, the Submission has {len(artifacts)}: leave out the rest."
    for role, artifact in zip(roles, artifacts, strict=True):
        if bare_media_type(artifact.media_type) not in role["media_types"]:
            allowed = " or ".join(role["media_types"])
            return f"“{role['role']}” must be declared as {allowed}, and is not: upload it with that media type."
        if artifact.size_bytes > role["max_bytes"]:
            return (
                f"“{role['role']}” may have at most {role['max_bytes']} bytes and has {artifact.size_bytes}: "
                "submit a smaller file."
            )
    return None


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
