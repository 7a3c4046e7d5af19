"""How what came back from a sandbox is read: a limit first, then the exit, then the result file, then the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, TypeAlias

from verification.engine.documents import DocumentRefused, parse_json, validate_against
from verification.engine.evidence import tree_digest
from verification.engine.names import is_safe_character
from verification.engine.reasons import RESULT_OF, ReasonCode, Result
from verification.engine.sandbox.base import (
    LIMIT_CODES,
    MAX_EVIDENCE_BYTES,
    MAX_RESULT_BYTES,
    EvidenceFile,
    Execution,
)

# The numbers of schemas/result.json; a test holds the two together.
MAX_FINDINGS = 200
MAX_FINDING_MEMBERS = 20
MAX_TEXT_CHARACTERS = 4000
SUMMARY_NAME = "summary.json"

FindingText: TypeAlias = str | Mapping[str, str | int | float | bool | None]

_MEMBERS = frozenset({"result", "score", "reason", "findings"})
_CLAIMS: Mapping[str, tuple[Result, ReasonCode | None]] = {
    "verified": (Result.VERIFIED, None),
    "refuted": (Result.REFUTED, ReasonCode.CHECKER_REFUTED),
    "inconclusive": (Result.INCONCLUSIVE, ReasonCode.CHECKER_INCONCLUSIVE),
}


@dataclass(frozen=True)
class StageExpectation:
    """What the Contract says of a sandbox stage, as far as reading its outcome depends on it.

    `result_kind` is the stage's effective kind; the bounds are the Contract's, None where it declares none.
    """

    result_kind: Literal["pass_fail", "score"]
    score_min: float | None = None
    score_max: float | None = None
    evidence_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class StageOutcome:
    """What one sandbox stage came to.

    `reason` and `findings` are the checker's words, bounded and safe to show: a finding is a text or a flat object. Of
    a result `error` the checker's are
    dropped, and `findings` says in ours which rule was broken. `score` is given only with `verified`.
    """

    result: Result
    reason_code: ReasonCode | None
    score: float | None = None
    reason: str | None = None
    findings: tuple[FindingText, ...] = ()
    evidence_digest: str | None = None
    evidence_files: tuple[EvidenceFile, ...] = ()


@dataclass(frozen=True)
class _Claim:
    """A result file that follows the rules."""

    result: Result
    reason_code: ReasonCode | None
    score: float | None
    reason: str | None
    findings: tuple[FindingText, ...]


class _Malformed(Exception):
    """The result file breaks a rule; the message says which."""


def interpret(execution: Execution, expectation: StageExpectation) -> StageOutcome:
    """What the execution of a stage comes to (SPEC 9).

    Nothing but exit status 0 with a valid result file and good evidence yields `verified` or `refuted`.
    """
    if execution.limit is not None:
        if execution.limit not in LIMIT_CODES:
            raise ValueError(f"expected a limit among {sorted(LIMIT_CODES)}, found {execution.limit}; mend the backend")
        return _ended(execution, execution.limit)
    if execution.exit_code != 0 or execution.signal is not None:
        return _ended(execution, ReasonCode.EXIT_NONZERO, _exit_words(execution))
    if execution.output.problem is ReasonCode.RESULT_MALFORMED:
        found = f"expected result.json to be a plain file of at most {MAX_RESULT_BYTES} bytes"
        return _ended(execution, ReasonCode.RESULT_MALFORMED, found)
    if execution.output.result is None:
        return _ended(execution, ReasonCode.RESULT_MISSING)
    try:
        claim = _read_claim(execution.output.result, expectation)
    except _Malformed as broken:
        return _ended(execution, ReasonCode.RESULT_MALFORMED, str(broken))
    if execution.output.problem is not None:
        return _ended(execution, execution.output.problem)
    if expectation.evidence_schema is not None:
        broken_rule = _evidence_fault(execution.output.evidence, expectation.evidence_schema, claim.result)
        if broken_rule is not None:
            return _ended(execution, ReasonCode.EVIDENCE_INVALID, broken_rule)
    return StageOutcome(
        result=claim.result,
        reason_code=claim.reason_code,
        score=claim.score if claim.result is Result.VERIFIED else None,
        reason=claim.reason,
        findings=claim.findings,
        evidence_digest=_digest_or_none(execution.output.evidence),
        evidence_files=execution.output.evidence,
    )


def display_safe(text: str, *, max_characters: int = MAX_TEXT_CHARACTERS) -> str:
    """Text that shows as what it is: bounded, with control, bidirectional and format characters spelled out.

    Line feeds and tabs stay. What was cut ends in `…`.
    """
    pieces: list[str] = []
    length = 0
    for character in text:
        is_shown = character in "\n\t" or is_safe_character(character) or character in "/\\"
        piece = character if is_shown else f"\\u{{{ord(character):x}}}"
        length += len(piece)
        if length > max_characters:
            return "".join(_cut(pieces, max_characters - 1)) + "…"
        pieces.append(piece)
    return "".join(pieces)


def _cut(pieces: list[str], room: int) -> list[str]:
    while sum(map(len, pieces)) > room:
        pieces.pop()
    return pieces


def _ended(execution: Execution, reason_code: ReasonCode, *broken: str) -> StageOutcome:
    """An outcome without a claim. What evidence there is, is kept: it may tell why."""
    evidence = execution.output.evidence
    return StageOutcome(
        result=RESULT_OF[reason_code],
        reason_code=reason_code,
        findings=tuple(display_safe(text) for text in broken),
        evidence_digest=_digest_or_none(evidence),
        evidence_files=evidence,
    )


def _exit_words(execution: Execution) -> str:
    if execution.signal is not None:
        return f"expected exit status 0, found the end by signal {execution.signal}"
    if execution.exit_code is not None:
        return f"expected exit status 0, found {execution.exit_code}"
    return "expected exit status 0, found that the checker did not end by itself"


def _read_claim(content: bytes, expectation: StageExpectation) -> _Claim:
    try:
        document = parse_json(content, max_bytes=MAX_RESULT_BYTES, max_depth=4)
    except DocumentRefused as refusal:
        raise _Malformed(f"result.json: {refusal}") from refusal
    if not isinstance(document, dict):
        raise _Malformed("result.json: expected an object")
    unknown = sorted(document.keys() - _MEMBERS)
    if unknown:
        raise _Malformed(f"result.json: expected only {', '.join(sorted(_MEMBERS))}, found {unknown[0]!r:.80}")
    claimed = document.get("result")
    if not isinstance(claimed, str) or claimed not in _CLAIMS:
        raise _Malformed(f"result.json: expected result to be verified, refuted or inconclusive, found {claimed!r:.80}")
    result, reason_code = _CLAIMS[claimed]
    return _Claim(
        result=result,
        reason_code=reason_code,
        score=_read_score(document, result, expectation),
        reason=_read_reason(document),
        findings=_read_findings(document),
    )


def _read_score(document: dict[str, Any], result: Result, expectation: StageExpectation) -> float | None:
    if expectation.result_kind != "score":
        if "score" in document:
            raise _Malformed("result.json: expected no score from a stage that gives none")
        return None
    if "score" not in document:
        if result is Result.VERIFIED:
            raise _Malformed("result.json: expected a score with the result verified")
        return None
    score = document["score"]
    if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score):
        raise _Malformed(f"result.json: expected the score to be a finite number, found {score!r:.80}")
    low, high = expectation.score_min, expectation.score_max
    if (low is not None and score < low) or (high is not None and score > high):
        raise _Malformed(f"result.json: expected a score from {low} to {high}, found {score}")
    # Adding zero turns -0.0 into 0.0, which canonical JSON cannot tell apart.
    return float(score) + 0.0


def _read_reason(document: dict[str, Any]) -> str | None:
    return _read_text(document["reason"], "the reason") if "reason" in document else None


def _read_findings(document: dict[str, Any]) -> tuple[FindingText, ...]:
    findings = document.get("findings", [])
    if not isinstance(findings, list) or len(findings) > MAX_FINDINGS:
        raise _Malformed(f"result.json: expected findings to be an array of at most {MAX_FINDINGS}")
    return tuple(_read_finding(finding) for finding in findings)


def _read_finding(finding: object) -> FindingText:
    if not isinstance(finding, dict):
        return _read_text(finding, "a finding")
    if len(finding) > MAX_FINDING_MEMBERS or any(isinstance(value, dict | list) for value in finding.values()):
        raise _Malformed(f"result.json: expected a flat finding of at most {MAX_FINDING_MEMBERS} members")
    return {
        display_safe(name): _read_text(value, "a finding's text") if isinstance(value, str) else value
        for name, value in finding.items()
    }


def _read_text(text: object, what: str) -> str:
    if not isinstance(text, str) or len(text) > MAX_TEXT_CHARACTERS:
        raise _Malformed(f"result.json: expected {what} to be text of at most {MAX_TEXT_CHARACTERS} characters")
    return display_safe(text)


def _evidence_fault(evidence: tuple[EvidenceFile, ...], schema: Mapping[str, Any], result: Result) -> str | None:
    """Which rule the summary breaks, or None.

    A checker that could not decide may have nothing to sum up; one that decided owes the evidence.
    """
    summary = next((file for file in evidence if file.path == SUMMARY_NAME), None)
    if summary is None:
        return None if result is Result.INCONCLUSIVE else "expected evidence/summary.json, found none"
    try:
        document = parse_json(summary.content, max_bytes=MAX_EVIDENCE_BYTES)
    except DocumentRefused as refusal:
        return f"evidence/summary.json: {refusal}"
    findings = validate_against(dict(schema), document)
    if findings:
        return f"evidence/summary.json{findings[0].pointer}: {findings[0].message}"
    return None


def _digest_or_none(evidence: tuple[EvidenceFile, ...]) -> str | None:
    return tree_digest(evidence) if evidence else None
