"""How an execution is read."""

import hashlib
import json
import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification.engine.documents import validate_document
from verification.engine.outcome import (
    MAX_FINDINGS,
    MAX_TEXT_CHARACTERS,
    StageExpectation,
    StageOutcome,
    display_safe,
    interpret,
)
from verification.engine.reasons import RESULT_OF, ReasonCode, Result
from verification.engine.sandbox.base import LIMIT_CODES, EvidenceFile, Execution, Log, OutputTree

PASS_FAIL = StageExpectation("pass_fail")
SCORE = StageExpectation("score", score_min=0.0, score_max=1.0)
SCHEMA = {
    "type": "object",
    "required": ["clauses_total"],
    "properties": {"clauses_total": {"type": "integer", "minimum": 0}},
}
WITH_EVIDENCE = StageExpectation("pass_fail", evidence_schema=SCHEMA)
MALFORMED = (Result.ERROR, ReasonCode.RESULT_MALFORMED)

PROBLEMS = [
    None,
    ReasonCode.RESULT_MALFORMED,
    ReasonCode.EVIDENCE_INVALID,
    ReasonCode.EVIDENCE_TOO_LARGE,
]
RESULT_FILES = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.sampled_from([b'{"result": "verified"}', b'{"result": "refuted"}', b'{"result": "inconclusive"}']),
    st.builds(lambda score: json.dumps({"result": "verified", "score": score}).encode(), st.floats() | st.booleans()),
)


def file(path: str, content: bytes) -> EvidenceFile:
    return EvidenceFile(path, content, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))


def execution(
    result: bytes | None = b'{"result": "verified"}',
    *,
    exit_code: int | None = 0,
    signal: int | None = None,
    limit: ReasonCode | None = None,
    evidence: tuple[EvidenceFile, ...] = (),
    problem: ReasonCode | None = None,
) -> Execution:
    output = OutputTree(result=result, evidence=evidence, problem=problem)
    return Execution(exit_code, signal, limit, Log(), output, 1.0, 0.5, 1 << 20, "process", frozenset())


def told(outcome: StageOutcome) -> tuple[Result, ReasonCode | None]:
    return outcome.result, outcome.reason_code


def claim(expectation: StageExpectation = PASS_FAIL, **members: object) -> StageOutcome:
    return interpret(execution(json.dumps(members).encode()), expectation)


@st.composite
def executions(draw: st.DrawFn) -> Execution:
    summaries = st.sampled_from([b'{"clauses_total": 3}', b'{"clauses_total": -3}', b"{}", b"\xff", b"[]"])
    evidence = draw(st.lists(st.builds(file, st.just("summary.json"), summaries), max_size=1))
    return execution(
        draw(RESULT_FILES),
        exit_code=draw(st.none() | st.integers(-255, 255) | st.just(0)),
        signal=draw(st.none() | st.sampled_from([9, 11])),
        limit=draw(st.none() | st.sampled_from(sorted(LIMIT_CODES))),
        evidence=tuple(evidence),
        problem=draw(st.sampled_from(PROBLEMS)),
    )


EXPECTATIONS = st.sampled_from([PASS_FAIL, SCORE, WITH_EVIDENCE])


@given(found=executions(), expectation=EXPECTATIONS)
def test_inv_16_nothing_but_exit_zero_and_a_valid_file_and_good_evidence_decides(found, expectation):
    outcome = interpret(found, expectation)

    if outcome.result in {Result.VERIFIED, Result.REFUTED}:
        assert (found.exit_code, found.signal, found.limit, found.output.problem) == (0, None, None, None)
        document = json.loads(found.output.result)
        assert document["result"] == outcome.result.value
        assert validate_document("result", document) == []
        if expectation.evidence_schema:
            assert json.loads(found.output.evidence[0].content)["clauses_total"] >= 0
        if expectation.result_kind == "score" and outcome.result is Result.VERIFIED:
            assert 0.0 <= outcome.score <= 1.0


@given(found=executions(), expectation=EXPECTATIONS)
def test_inv_25_the_reason_code_is_null_exactly_with_verified(found, expectation):
    outcome = interpret(found, expectation)

    assert (outcome.reason_code is None) == (outcome.result is Result.VERIFIED)
    assert outcome.reason_code is None or RESULT_OF[outcome.reason_code] is outcome.result


@given(found=executions(), expectation=EXPECTATIONS)
def test_inv_06_only_a_verified_scored_stage_has_a_score(found, expectation):
    outcome = interpret(found, expectation)

    has_score = expectation.result_kind == "score" and outcome.result is Result.VERIFIED
    assert (outcome.score is not None) == has_score


@given(found=executions(), expectation=EXPECTATIONS)
def test_inv_23_the_checked_bytes_never_choose_a_reason_of_the_platform(found, expectation):
    code = interpret(found, expectation).reason_code

    assert code is None or code in LIMIT_CODES | {
        ReasonCode.CHECKER_REFUTED,
        ReasonCode.CHECKER_INCONCLUSIVE,
        ReasonCode.EXIT_NONZERO,
        ReasonCode.RESULT_MISSING,
        ReasonCode.RESULT_MALFORMED,
        ReasonCode.EVIDENCE_INVALID,
        ReasonCode.EVIDENCE_TOO_LARGE,
    }


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        ("verified", (Result.VERIFIED, None)),
        ("refuted", (Result.REFUTED, ReasonCode.CHECKER_REFUTED)),
        ("inconclusive", (Result.INCONCLUSIVE, ReasonCode.CHECKER_INCONCLUSIVE)),
    ],
)
def test_a_valid_file_says_what_the_stage_came_to(claimed, expected):
    assert told(claim(result=claimed)) == expected


# The order: limit, exit, result, evidence


@pytest.mark.parametrize("limit", sorted(LIMIT_CODES))
def test_a_limit_comes_before_everything_else(limit):
    found = execution(b"junk", exit_code=1, signal=9, limit=limit, problem=ReasonCode.EVIDENCE_INVALID)

    assert told(interpret(found, PASS_FAIL)) == (Result.INCONCLUSIVE, limit)


@pytest.mark.parametrize(
    ("exit_code", "signal"), [(1, None), (2, None), (255, None), (None, 9), (None, 11), (0, 9), (None, None)]
)
def test_a_failed_exit_comes_before_the_result(exit_code, signal):
    found = execution(b"junk", exit_code=exit_code, signal=signal, problem=ReasonCode.EVIDENCE_INVALID)

    assert told(interpret(found, PASS_FAIL)) == (Result.ERROR, ReasonCode.EXIT_NONZERO)


@pytest.mark.parametrize(
    ("result", "code"), [(None, ReasonCode.RESULT_MISSING), (b"junk", ReasonCode.RESULT_MALFORMED)]
)
def test_a_bad_result_comes_before_bad_evidence(result, code):
    found = execution(result, problem=ReasonCode.EVIDENCE_TOO_LARGE)

    assert told(interpret(found, PASS_FAIL)) == (Result.ERROR, code)


@pytest.mark.parametrize("claimed", ["verified", "refuted", "inconclusive"])
@pytest.mark.parametrize("problem", [ReasonCode.EVIDENCE_INVALID, ReasonCode.EVIDENCE_TOO_LARGE])
def test_bad_evidence_spoils_a_valid_result(claimed, problem):
    found = execution(json.dumps({"result": claimed}).encode(), problem=problem)

    assert told(interpret(found, PASS_FAIL)) == (Result.ERROR, problem)


def test_a_result_that_is_no_plain_file_is_malformed():
    found = execution(None, problem=ReasonCode.RESULT_MALFORMED)

    assert told(interpret(found, PASS_FAIL)) == MALFORMED


def test_a_backend_that_reports_no_limit_as_one_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="mend the backend"):
        interpret(execution(limit=ReasonCode.EXIT_NONZERO), PASS_FAIL)


# The result file


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"verified",
        b'"verified"',
        b"[]",
        b"{}",
        b"null",
        b'\xef\xbb\xbf{"result": "verified"}',
        b'{"result": "verified"',
        b'{"result": "verified"} x',
        b'{"result": "refuted", "result": "verified"}',
        b'{"result": "verified", "extra": 1}',
        b'{"result": "verified", "reason": "\\ud800"}',
        b'{"result": "verified", "reason": "\xff"}',
        b'{"result": "verified", "findings": [[[[[["deep"]]]]]]}',
        b"[" * 30_000,
        b'{"result": "verified", "reason": "' + b"x" * 65_536 + b'"}',
    ],
)
def test_a_file_that_is_no_plain_strict_json_object_is_malformed(content):
    assert told(interpret(execution(content), PASS_FAIL)) == MALFORMED


@pytest.mark.parametrize("claimed", ["error", "Verified", "verified ", "pass", "", None, True, 1, ["verified"], {}])
def test_an_unknown_result_is_malformed(claimed):
    assert told(claim(result=claimed)) == MALFORMED


@pytest.mark.parametrize(
    "members",
    [
        {"reason": 3},
        {"reason": None},
        {"reason": "x" * (MAX_TEXT_CHARACTERS + 1)},
        {"findings": "one"},
        {"findings": None},
        {"findings": [3]},
        {"findings": [["nested"]]},
        {"findings": [{"nested": {"more": 1}}]},
        {"findings": [{str(number): 1 for number in range(21)}]},
        {"findings": ["x" * (MAX_TEXT_CHARACTERS + 1)]},
        {"findings": ["x"] * (MAX_FINDINGS + 1)},
    ],
)
def test_reason_and_findings_are_bounded_text(members):
    assert told(claim(result="verified", **members)) == MALFORMED


FLAT = st.none() | st.booleans() | st.integers(-10, 10) | st.text(st.characters(exclude_categories=("Cs", "Cc")))
JSON_LIKE = st.recursive(FLAT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner))


@given(
    document=st.fixed_dictionaries(
        {"result": st.sampled_from(["verified", "refuted", "inconclusive", "error"])},
        optional={"reason": JSON_LIKE, "findings": JSON_LIKE | st.lists(JSON_LIKE, max_size=3), "other": FLAT},
    )
)
def test_a_file_is_malformed_exactly_where_its_schema_says_so(document):
    outcome = interpret(execution(json.dumps(document).encode()), PASS_FAIL)

    assert (told(outcome) == MALFORMED) == (validate_document("result", document) != [])


def test_a_malformed_file_says_which_rule_it_broke_and_none_of_the_checkers_findings():
    outcome = claim(result="verified", findings=["all is well"], verdict="verified")

    assert outcome.findings == ("result.json: expected only findings, reason, result, score, found 'verdict'",)
    assert outcome.reason is None


@given(text=st.text(max_size=60))
def test_what_a_checker_wrote_is_safe_to_show(text):
    text = text.encode("utf-8", "ignore").decode()

    outcome = claim(result="refuted", reason=text, findings=[text, {text: text}])

    [(name, value)] = outcome.findings[1].items()
    for shown in (outcome.reason, outcome.findings[0], name, value):
        assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(c) for c in shown if c not in "\n\t"}
        assert len(shown) <= MAX_TEXT_CHARACTERS


@given(text=st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="\u200b")))
def test_plain_words_are_shown_as_they_are(text):
    assert display_safe(text, max_characters=10_000) == text


@given(text=st.text(st.characters(categories=("Cc", "L"))), size=st.integers(1, 30))
def test_shown_text_is_never_longer_than_it_may_be(text, size):
    shown = display_safe(text, max_characters=size)

    assert len(shown) <= size
    assert shown.endswith("…") or len(shown) >= len(text)


def test_dirty_text_changes_no_verdict():
    outcome = claim(result="refuted", reason="a\u0000b\u202ec\u001b[31m")

    assert told(outcome) == (Result.REFUTED, ReasonCode.CHECKER_REFUTED)
    assert outcome.reason == "a\\u{0}b\\u{202e}c\\u{1b}[31m"


# Scores


@pytest.mark.parametrize("score", [0, 1, 0.5, 1.0, -0.0])
def test_a_score_within_its_bounds_is_kept(score):
    outcome = claim(SCORE, result="verified", score=score)

    assert (told(outcome), outcome.score) == ((Result.VERIFIED, None), float(score))
    assert math.copysign(1, outcome.score) == 1


@pytest.mark.parametrize("score", ["0.5", None, True, False, [0.5], -0.001, 1.001, 5, -1])
def test_a_score_that_is_no_number_within_the_bounds_is_malformed(score):
    assert told(claim(SCORE, result="verified", score=score)) == MALFORMED


@pytest.mark.parametrize("spelling", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"1e400", b"0x1", b"1" * 400])
def test_a_score_that_is_not_finite_is_malformed(spelling):
    content = b'{"result": "verified", "score": ' + spelling + b"}"

    assert told(interpret(execution(content), StageExpectation("score"))) == MALFORMED


def test_a_missing_score_is_malformed():
    assert told(claim(SCORE, result="verified")) == MALFORMED


@pytest.mark.parametrize("claimed", ["verified", "refuted", "inconclusive"])
def test_a_score_of_a_stage_that_gives_none_is_malformed(claimed):
    assert told(claim(result=claimed, score=0.5)) == MALFORMED


@pytest.mark.parametrize("members", [{}, {"score": 0.25}])
def test_a_refutation_needs_no_score_and_keeps_none(members):
    outcome = claim(SCORE, result="refuted", **members)

    assert (told(outcome), outcome.score) == ((Result.REFUTED, ReasonCode.CHECKER_REFUTED), None)


def test_a_bad_score_spoils_a_refutation_too():
    assert told(claim(SCORE, result="refuted", score=7)) == MALFORMED


# Evidence


@pytest.mark.parametrize(
    "summary",
    [b"", b"junk", b"[]", b"{}", b'{"clauses_total": -1}', b'{"clauses_total": true}', b'{"clauses_total": NaN}'],
)
@pytest.mark.parametrize("claimed", ["verified", "refuted", "inconclusive"])
def test_a_summary_that_breaks_the_schema_is_invalid_evidence(summary, claimed):
    found = execution(json.dumps({"result": claimed}).encode(), evidence=(file("summary.json", summary),))

    assert told(interpret(found, WITH_EVIDENCE)) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)


@pytest.mark.parametrize("claimed", ["verified", "refuted"])
def test_who_decides_owes_the_summary(claimed):
    found = execution(json.dumps({"result": claimed}).encode(), evidence=(file("other.json", b"{}"),))

    assert told(interpret(found, WITH_EVIDENCE)) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)


def test_who_cannot_decide_owes_no_summary():
    found = execution(b'{"result": "inconclusive"}')

    assert told(interpret(found, WITH_EVIDENCE)) == (Result.INCONCLUSIVE, ReasonCode.CHECKER_INCONCLUSIVE)


def test_a_good_summary_is_kept_with_its_digest():
    evidence = (file("summary.json", b'{"clauses_total": 3}'), file("trace/a.txt", b"x"))

    outcome = interpret(execution(evidence=evidence), WITH_EVIDENCE)

    assert told(outcome) == (Result.VERIFIED, None)
    assert outcome.evidence_files == evidence
    assert outcome.evidence_digest == interpret(execution(evidence=evidence[::-1]), WITH_EVIDENCE).evidence_digest


def test_without_a_schema_a_summary_may_be_anything():
    found = execution(evidence=(file("summary.json", b"\xff"),))

    assert told(interpret(found, PASS_FAIL)) == (Result.VERIFIED, None)


def test_partial_evidence_of_a_failed_checker_is_kept():
    evidence = (file("partial.txt", b"so far"),)

    outcome = interpret(execution(limit=ReasonCode.LIMIT_TIME, exit_code=None, evidence=evidence), PASS_FAIL)

    assert outcome.evidence_files == evidence
    assert outcome.evidence_digest is not None


def test_no_evidence_has_no_digest():
    assert interpret(execution(), PASS_FAIL).evidence_digest is None
