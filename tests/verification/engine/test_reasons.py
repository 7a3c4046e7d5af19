"""The closed list of reasons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification.engine.documents import shipped_schema
from verification.engine.reasons import (
    ATTRIBUTION,
    EXPLANATION,
    LABELS,
    PLATFORM_CODES,
    RESULT_OF,
    Attribution,
    ReasonCode,
    ReasonMismatch,
    Result,
    check_reason,
)

BY_ATTRIBUTION = {
    "candidate": "requirement_unmet artifact_withdrawn submission_withdrawn checker_refuted checker_inconclusive "
    "limit_time limit_memory limit_disk limit_pids",
    "verifier": "exit_nonzero result_missing result_malformed evidence_invalid evidence_too_large",
    "reviewers": "review_rejected review_unresolved review_cancelled",
    "external": "external_rejected external_undecided external_expired",
    "platform": "stage_unavailable reference_invalid image_missing program_missing backend_unavailable "
    "input_mismatch retries_exhausted",
}


def test_inv_25_every_code_has_the_attribution_that_the_specification_gives_it():
    expected = {code: name for name, codes in BY_ATTRIBUTION.items() for code in codes.split()}

    assert {code.value: attribution.value for code, attribution in ATTRIBUTION.items()} == expected


def test_the_list_of_codes_is_complete_in_every_table():
    assert set(RESULT_OF) == set(ATTRIBUTION) == set(EXPLANATION) == set(ReasonCode)


def test_the_documents_know_the_same_codes():
    in_schema = shipped_schema("terms")["$defs"]["reasonCode"]["enum"]

    assert sorted(in_schema) == sorted(code.value for code in ReasonCode)


def test_the_platforms_codes_are_those_attributed_to_it():
    assert {code.value for code in PLATFORM_CODES} == set(BY_ATTRIBUTION["platform"].split())


def test_no_code_goes_with_verified():
    assert Result.VERIFIED not in RESULT_OF.values()


def test_only_three_codes_say_that_work_was_refuted():
    refuting = {code.value for code, result in RESULT_OF.items() if result is Result.REFUTED}

    assert refuting == {"checker_refuted", "review_rejected", "external_rejected"}


@pytest.mark.parametrize("code", [code for code in ReasonCode if ATTRIBUTION[code] is Attribution.VERIFIER])
def test_a_failing_checker_is_an_error_and_no_finding(code):
    assert RESULT_OF[code] == Result.ERROR


@pytest.mark.parametrize("code", [code for code in ReasonCode if code.startswith("limit_")])
def test_an_exhausted_limit_is_inconclusive(code):
    assert RESULT_OF[code] == Result.INCONCLUSIVE


def test_people_see_four_labels():
    assert {result.value: label for result, label in LABELS.items()} == {
        "verified": "Verified",
        "refuted": "Refuted",
        "inconclusive": "Inconclusive",
        "error": "Verification error",
    }


@given(result=st.sampled_from(Result), code=st.none() | st.sampled_from(ReasonCode))
def test_inv_25_a_code_is_null_exactly_with_verified_and_fixes_the_result_otherwise(result, code):
    fits = result is Result.VERIFIED if code is None else result is RESULT_OF[code]

    if fits:
        assert check_reason(result, code) is None
    else:
        with pytest.raises(ReasonMismatch):
            check_reason(result, code)
