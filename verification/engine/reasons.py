"""The closed list of results and reason codes, who each reason is attributed to, and what people read."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Result(StrEnum):
    """What a run or a stage found about the work it examined."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class Attribution(StrEnum):
    """Whose doing a reason is; fixed by the code, so that checked bytes cannot choose it."""

    CANDIDATE = "candidate"
    VERIFIER = "verifier"
    REVIEWERS = "reviewers"
    EXTERNAL = "external"
    PLATFORM = "platform"


class ReasonCode(StrEnum):
    """Why a result is not `verified`; null exactly when it is."""

    REQUIREMENT_UNMET = "requirement_unmet"
    ARTIFACT_WITHDRAWN = "artifact_withdrawn"
    SUBMISSION_WITHDRAWN = "submission_withdrawn"
    CHECKER_REFUTED = "checker_refuted"
    CHECKER_INCONCLUSIVE = "checker_inconclusive"
    LIMIT_TIME = "limit_time"
    LIMIT_MEMORY = "limit_memory"
    LIMIT_DISK = "limit_disk"
    LIMIT_PIDS = "limit_pids"

    EXIT_NONZERO = "exit_nonzero"
    RESULT_MISSING = "result_missing"
    RESULT_MALFORMED = "result_malformed"
    EVIDENCE_INVALID = "evidence_invalid"
    EVIDENCE_TOO_LARGE = "evidence_too_large"

    REVIEW_REJECTED = "review_rejected"
    REVIEW_UNRESOLVED = "review_unresolved"
    REVIEW_CANCELLED = "review_cancelled"

    EXTERNAL_REJECTED = "external_rejected"
    EXTERNAL_UNDECIDED = "external_undecided"
    EXTERNAL_EXPIRED = "external_expired"

    STAGE_UNAVAILABLE = "stage_unavailable"
    REFERENCE_INVALID = "reference_invalid"
    IMAGE_MISSING = "image_missing"
    PROGRAM_MISSING = "program_missing"
    BACKEND_UNAVAILABLE = "backend_unavailable"
    INPUT_MISMATCH = "input_mismatch"
    RETRIES_EXHAUSTED = "retries_exhausted"


# One row per code: result, attribution, and a sentence for people. Everything below is read off this table.
_TABLE: Mapping[ReasonCode, tuple[Result, Attribution, str]] = {
    ReasonCode.REQUIREMENT_UNMET: (
        Result.INCONCLUSIVE,
        Attribution.CANDIDATE,
        "The Submission does not offer what the Contract needs before it can be checked.",
    ),
    ReasonCode.ARTIFACT_WITHDRAWN: (
        Result.INCONCLUSIVE,
        Attribution.CANDIDATE,
        "A file of the Submission was withdrawn before the check was complete.",
    ),
    ReasonCode.SUBMISSION_WITHDRAWN: (
        Result.INCONCLUSIVE,
        Attribution.CANDIDATE,
        "The Submission was withdrawn before the check was complete.",
    ),
    ReasonCode.CHECKER_REFUTED: (
        Result.REFUTED,
        Attribution.CANDIDATE,
        "The checker worked, and the files do not satisfy the statement.",
    ),
    ReasonCode.CHECKER_INCONCLUSIVE: (
        Result.INCONCLUSIVE,
        Attribution.CANDIDATE,
        "The checker worked, and could not decide about these files.",
    ),
    ReasonCode.LIMIT_TIME: (Result.INCONCLUSIVE, Attribution.CANDIDATE, "The check ran out of time."),
    ReasonCode.LIMIT_MEMORY: (Result.INCONCLUSIVE, Attribution.CANDIDATE, "The check ran out of memory."),
    ReasonCode.LIMIT_DISK: (Result.INCONCLUSIVE, Attribution.CANDIDATE, "The check ran out of disk space."),
    ReasonCode.LIMIT_PIDS: (Result.INCONCLUSIVE, Attribution.CANDIDATE, "The check started too many processes."),
    ReasonCode.EXIT_NONZERO: (
        Result.ERROR,
        Attribution.VERIFIER,
        "The checker stopped without finishing its work, so it says nothing about the files.",
    ),
    ReasonCode.RESULT_MISSING: (Result.ERROR, Attribution.VERIFIER, "The checker left no result file."),
    ReasonCode.RESULT_MALFORMED: (
        Result.ERROR,
        Attribution.VERIFIER,
        "The checker left a result file that does not follow the rules.",
    ),
    ReasonCode.EVIDENCE_INVALID: (
        Result.ERROR,
        Attribution.VERIFIER,
        "The checker left evidence that does not follow the rules.",
    ),
    ReasonCode.EVIDENCE_TOO_LARGE: (
        Result.ERROR,
        Attribution.VERIFIER,
        "The checker left more evidence than may be kept.",
    ),
    ReasonCode.REVIEW_REJECTED: (Result.REFUTED, Attribution.REVIEWERS, "The reviewers rejected the work."),
    ReasonCode.REVIEW_UNRESOLVED: (
        Result.INCONCLUSIVE,
        Attribution.REVIEWERS,
        "The reviewers came to no decision under their protocol.",
    ),
    ReasonCode.REVIEW_CANCELLED: (Result.INCONCLUSIVE, Attribution.REVIEWERS, "The review was cancelled."),
    ReasonCode.EXTERNAL_REJECTED: (
        Result.REFUTED,
        Attribution.EXTERNAL,
        "The outside system's evidence does not satisfy the statement.",
    ),
    ReasonCode.EXTERNAL_UNDECIDED: (
        Result.INCONCLUSIVE,
        Attribution.EXTERNAL,
        "The outside system's evidence does not decide the statement.",
    ),
    ReasonCode.EXTERNAL_EXPIRED: (
        Result.INCONCLUSIVE,
        Attribution.EXTERNAL,
        "The outside system did not answer within the time the Contract allows.",
    ),
    ReasonCode.STAGE_UNAVAILABLE: (
        Result.INCONCLUSIVE,
        Attribution.PLATFORM,
        "Nothing here can carry out this stage at present.",
    ),
    ReasonCode.REFERENCE_INVALID: (
        Result.ERROR,
        Attribution.PLATFORM,
        "A reference input of the Problem has not been accepted by its validator.",
    ),
    ReasonCode.IMAGE_MISSING: (
        Result.ERROR,
        Attribution.PLATFORM,
        "The pinned checker image is not present on any worker.",
    ),
    ReasonCode.PROGRAM_MISSING: (
        Result.ERROR,
        Attribution.PLATFORM,
        "The pinned checker program is not present on any worker.",
    ),
    ReasonCode.BACKEND_UNAVAILABLE: (
        Result.ERROR,
        Attribution.PLATFORM,
        "The sandbox could not be started.",
    ),
    ReasonCode.INPUT_MISMATCH: (
        Result.ERROR,
        Attribution.PLATFORM,
        "An input no longer has the hash that was recorded for it.",
    ),
    ReasonCode.RETRIES_EXHAUSTED: (
        Result.ERROR,
        Attribution.PLATFORM,
        "The platform failed repeatedly while it worked on this run.",
    ),
}

RESULT_OF: Mapping[ReasonCode, Result] = MappingProxyType({code: row[0] for code, row in _TABLE.items()})
ATTRIBUTION: Mapping[ReasonCode, Attribution] = MappingProxyType({code: row[1] for code, row in _TABLE.items()})
EXPLANATION: Mapping[ReasonCode, str] = MappingProxyType({code: row[2] for code, row in _TABLE.items()})

LABELS: Mapping[Result, str] = MappingProxyType(
    {
        Result.VERIFIED: "Verified",
        Result.REFUTED: "Refuted",
        Result.INCONCLUSIVE: "Inconclusive",
        Result.ERROR: "Verification error",
    }
)

PLATFORM_CODES: frozenset[ReasonCode] = frozenset(
    code for code, attribution in ATTRIBUTION.items() if attribution is Attribution.PLATFORM
)


class ReasonMismatch(ValueError):
    """A result was paired with a reason code that does not go with it."""


def check_reason(result: Result, reason_code: ReasonCode | None) -> None:
    """Return if the pair may be recorded: no code with `verified`, and a code's own result otherwise.

    Raises:
        ReasonMismatch: the pair may not be recorded.
    """
    expected = Result.VERIFIED if reason_code is None else RESULT_OF[reason_code]
    if result is not expected:
        raise ReasonMismatch(
            f"reason code {reason_code or 'null'} goes with the result {expected}, found {result}; "
            "take the result from RESULT_OF"
        )
