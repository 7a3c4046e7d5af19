"""What to do next, for each reason code and for each party it can be attributed to."""

from collections.abc import Mapping
from types import MappingProxyType

from verification.engine.reasons import Attribution, ReasonCode

PARTIES: Mapping[Attribution, str] = MappingProxyType(
    {
        Attribution.CANDIDATE: "the submitted work",
        Attribution.VERIFIER: "the checker",
        Attribution.REVIEWERS: "the reviewers",
        Attribution.EXTERNAL: "the outside system",
        Attribution.PLATFORM: "the platform",
    }
)
PARTY_SENTENCES: Mapping[Attribution, str] = MappingProxyType(
    {
        Attribution.CANDIDATE: "It rests on the files that were submitted; the machinery did what it should.",
        Attribution.VERIFIER: "The checker misbehaved. That says nothing about the submitted files.",
        Attribution.REVIEWERS: "It is the outcome of a review under the protocol that the Contract names.",
        Attribution.EXTERNAL: "It is the outcome of a check outside this platform.",
        Attribution.PLATFORM: "The platform could not do its part. That says nothing about the submitted files.",
    }
)

_CHECKER_NEXT = (
    "Nothing is asked of you. The verifier's authors and staff see it; once the checker is mended, "
    "an operator can start a new run on the same bytes."
)
_STAFF_NEXT = "Nothing is asked of you. Staff see it, and can start a new run on the same bytes once it is mended."

NEXT_STEPS: Mapping[ReasonCode, str] = MappingProxyType(
    {
        ReasonCode.REQUIREMENT_UNMET: "The run's page names what was missing; submit again with it.",
        ReasonCode.ARTIFACT_WITHDRAWN: "Upload the file again and make a new Submission, if you want it checked.",
        ReasonCode.SUBMISSION_WITHDRAWN: "Make a new Submission, if you want the work checked.",
        ReasonCode.CHECKER_REFUTED: "Read the findings and the stage's log, mend the work, and submit again.",
        ReasonCode.CHECKER_INCONCLUSIVE: (
            "Read the findings: often the file is not of the form the Contract asks for. Mend it and submit again."
        ),
        ReasonCode.LIMIT_TIME: "Offer something that can be checked within the stage's time limit.",
        ReasonCode.LIMIT_MEMORY: "Offer something that can be checked within the stage's memory limit.",
        ReasonCode.LIMIT_DISK: "Offer something that can be checked within the stage's disk limit.",
        ReasonCode.LIMIT_PIDS: "Offer something whose check needs fewer processes at once.",
        ReasonCode.EXIT_NONZERO: _CHECKER_NEXT,
        ReasonCode.RESULT_MISSING: _CHECKER_NEXT,
        ReasonCode.RESULT_MALFORMED: _CHECKER_NEXT,
        ReasonCode.EVIDENCE_INVALID: _CHECKER_NEXT,
        ReasonCode.EVIDENCE_TOO_LARGE: _CHECKER_NEXT,
        ReasonCode.REVIEW_REJECTED: "Read the reviewers' reasons, mend the work, and submit again.",
        ReasonCode.REVIEW_UNRESOLVED: "Read what they disagreed on. An operator can start a new run with a new review.",
        ReasonCode.REVIEW_CANCELLED: "Read why on the run's page. An operator can start a new run with a new review.",
        ReasonCode.EXTERNAL_REJECTED: "Read the evidence that came back, mend the work, and submit again.",
        ReasonCode.EXTERNAL_UNDECIDED: "Read which part of the evidence was missing. An operator can start a new run.",
        ReasonCode.EXTERNAL_EXPIRED: "An operator can start a new run, which asks the outside system again.",
        ReasonCode.STAGE_UNAVAILABLE: (
            "Nothing is asked of you. The run's page names what is missing; "
            "when it is there, an operator can start a new run."
        ),
        ReasonCode.REFERENCE_INVALID: (
            "Nothing is asked of you. The Problem's managers must bind an input that its validator accepts."
        ),
        ReasonCode.IMAGE_MISSING: _STAFF_NEXT,
        ReasonCode.PROGRAM_MISSING: _STAFF_NEXT,
        ReasonCode.BACKEND_UNAVAILABLE: _STAFF_NEXT,
        ReasonCode.INPUT_MISMATCH: _STAFF_NEXT,
        ReasonCode.RETRIES_EXHAUSTED: _STAFF_NEXT,
    }
)
