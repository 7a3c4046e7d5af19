"""What makes a Submission checkable."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.engine.plan import OfferedArtifact, bare_media_type, unmet_requirement

ROLES = [
    {"role": "proof", "media_types": ["text/plain", "application/json"], "max_bytes": 100},
    {"role": "notes", "media_types": ["text/plain"], "max_bytes": 10},
]
PROOF, NOTES = OfferedArtifact("application/json", 100), OfferedArtifact("text/plain", 10)


def requirements(summary: str = "optional", roles: list[dict[str, Any]] = ROLES) -> dict[str, Any]:
    return {"required_artifacts": roles, "summary": summary}


@pytest.mark.parametrize(
    ("summary", "has_summary", "is_checkable"),
    [
        ("required", True, True),
        ("required", False, False),
        ("optional", True, True),
        ("optional", False, True),
        ("refused", True, False),
        ("refused", False, True),
    ],
)
def test_a_summary_is_required_optional_or_refused(summary: str, has_summary: bool, is_checkable: bool):
    sentence = unmet_requirement(requirements(summary), [PROOF, NOTES], has_summary)

    assert (sentence is None) is is_checkable


@pytest.mark.parametrize(
    ("artifacts", "sentence"),
    [
        ([PROOF, NOTES], None),
        ([], "This Contract requires 2 files, the Submission has 0: add “proof”."),
        ([PROOF], "This Contract requires 2 files, the Submission has 1: add “notes”."),
        ([PROOF, NOTES, NOTES], "This Contract takes 2 files, the Submission has 3: leave out the rest."),
        (
            [NOTES, PROOF],
            "“notes” must be declared as text/plain, and is not: upload it with that media type.",
        ),
        (
            [OfferedArtifact("image/png", 1), NOTES],
            "“proof” must be declared as text/plain or application/json, and is not: upload it with that media type.",
        ),
        (
            [PROOF, OfferedArtifact("text/plain", 11)],
            "“notes” may have at most 10 bytes and has 11: submit a smaller file.",
        ),
    ],
)
def test_the_first_unmet_requirement_is_named(artifacts: list[OfferedArtifact], sentence: str | None):
    assert unmet_requirement(requirements(), artifacts, has_summary=False) == sentence


def test_a_contract_may_ask_for_a_summary_alone():
    assert unmet_requirement(requirements("required", []), [], has_summary=True) is None
    assert unmet_requirement(requirements("required", []), [PROOF], has_summary=True) == (
        "This Contract takes 0 files, the Submission has 1: leave out the rest."
    )


def test_parameters_and_case_of_a_declared_media_type_do_not_count():
    assert bare_media_type(" Text/Plain ; charset=utf-8") == "text/plain"
    assert unmet_requirement(requirements(), [OfferedArtifact("TEXT/PLAIN;x=y", 1), NOTES], has_summary=False) is None


@settings(deadline=None)
@given(declared=st.text(max_size=30).filter(lambda text: len(text.strip()) > 12), size=st.integers(0, 10**12))
def test_the_sentence_holds_nothing_that_the_participant_wrote(declared: str, size: int):
    offered = [OfferedArtifact(declared, size), NOTES]

    sentence = unmet_requirement(requirements(), offered, has_summary=False)
    plain = unmet_requirement(requirements(), [OfferedArtifact("x/y", size), NOTES], has_summary=False)

    assert bare_media_type(declared) in ROLES[0]["media_types"] or sentence == plain
