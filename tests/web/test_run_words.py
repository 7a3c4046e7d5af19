"""The words of runs that have more to tell than one SAT stage: several kinds, sealed stages, limits, reviews."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from verification.engine.documents import validate_document
from verification.engine.ids import format_id, uuid7
from verification.engine.reasons import RESULT_OF, ReasonCode, Result
from verification.runs.documents import run_document
from verification.runs.projection import ProjectedInput, ProjectedRun, ProjectedStage, ProjectedWait
from verification.runs.selectors import QueuePlace
from web.run_page import _is_submitters_turn
from web.run_parts import command, input_rows, machine_times, poll_seconds, stage_rows, usages
from web.run_words import SEALED, Surroundings, lower_first, queue_words, run_words

QUEUED = datetime(2026, 11, 28, 14, 2, 31, tzinfo=UTC)
AT = QUEUED + timedelta(seconds=90)
HASH = f"sha256:{'a' * 64}"
COMMITMENT = f"sha256:{'c' * 64}"


def an_id(prefix: str) -> str:
    return format_id(prefix, uuid7(1_764_000_000_000, 7))


def stage(number: int, kind: str = "sandbox", result: Result | None = Result.VERIFIED, **more: Any) -> ProjectedStage:
    titles = {1: "Format", 2: "Assignment check", 3: "Review"}
    defaults: dict[str, Any] = {"state": "not_started" if result is None else result.value}
    return ProjectedStage(
        key=f"stage_{number}", number=number, title=titles[number], kind=kind, result=result, **defaults | more
    )


def run(*stages: ProjectedStage, **more: Any) -> ProjectedRun:
    defaults: dict[str, Any] = {
        "id": an_id("vrn"),
        "number": 1,
        "submission_id": an_id("sub"),
        "submission_number": 1,
        "revision_id": an_id("prv"),
        "revision_number": 3,
        "problem_slug": "heat",
        "problem_title": "Heat flow",
        "contract_id": an_id("vct"),
        "contract_name": "@tfp/heat contract 1",
        "contract_normative_hash": HASH,
        "trigger": "submission",
        "mode": "standard",
        "rerun_reason": "",
        "status": "finished",
        "result": Result.VERIFIED,
        "label": "Verified",
        "reason_code": None,
        "reason_detail": "",
        "score": None,
        "evidence_md": "# Run",
        "created_at": QUEUED,
        "started_at": QUEUED + timedelta(seconds=41),
        "finished_at": AT,
        "wait": None,
        "stages": stages,
        "inputs": (),
    }
    return ProjectedRun(**defaults | more)


def said(shown: ProjectedRun, **around: Any) -> tuple[str, str]:
    words = run_words(shown, Surroundings(AT, **around))
    return words.state, words.sentence


def test_a_pass_of_several_kinds_says_who_checked_what() -> None:
    shown = run(stage(1), stage(2), stage(3, "review"))

    assert said(shown) == ("verified", "All three stages passed: two by the platform, one by reviewers.")


def test_a_score_is_told_beside_the_pass() -> None:
    assert "Score: 0.93 K." in run_words(run(stage(1), score="0.93 K"), Surroundings(AT)).lines


@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_has_a_sentence_and_only_what_work_can_mend_asks_for_work(code: ReasonCode) -> None:
    result = RESULT_OF[code]
    shown = run(stage(1, result=result, reason_code=code), result=result, reason_code=code, is_submitter=True)

    state, sentence = said(shown)

    assert state == result.value
    assert sentence.endswith(".")
    assert _is_submitters_turn(shown) == code.value.startswith(
        ("requirement", "artifact", "submission", "checker", "limit", "review", "external")
    )


def test_a_sealed_result_says_that_it_is_sealed() -> None:
    sealed = stage(1, result=None, state="withheld", is_withheld=True)
    shown = run(sealed, result=None, label="Withheld until release", is_withheld=True, evidence_md=None)

    assert said(shown) == ("withheld", SEALED)
    assert stage_rows(shown, Surroundings(AT))[0]["say"] == SEALED


def test_a_run_with_people_says_for_whom_it_waits_and_until_when() -> None:
    wait = ProjectedWait("review", "Waiting for 1 of 2 reviewers.", AT, AT + timedelta(days=3))
    shown = run(stage(1), stage(3, "review", None, state="waiting"), status="running", result=None, wait=wait)

    words = run_words(shown, Surroundings(AT))

    assert (words.state, words.sentence) == ("waiting", "Waiting for 1 of 2 reviewers.")
    assert "If nothing happens by 1 Dec 2026, 14:04 UTC, the run ends inconclusive." in words.lines
    assert poll_seconds(shown, AT) == 30


def test_a_running_stage_counts_against_its_limit() -> None:
    going = stage(2, result=None, state="running", started_at=AT - timedelta(seconds=8))
    shown = run(stage(1), going, status="running", result=None, finished_at=None)

    assert said(shown, limits={"stage_2": 600}) == ("running", "Stage 2 of 2, Assignment check. 8 s of 600 s.")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (None, ""),
        (QueuePlace(0, None, None), "Next in line; no run waited lately."),
        (QueuePlace(1, 40.0, 120.0), "1 run ahead; lately 40 s to 2 min."),
        (QueuePlace(3, 40.0, 40.0), "3 runs ahead; lately 40 s."),
    ],
)
def test_the_queue_in_words(place: QueuePlace | None, words: str) -> None:
    assert queue_words(place) == words


@pytest.mark.parametrize(
    ("text", "lower"), [("The file", "the file"), ("A file", "a file"), ("SAT", "SAT"), ("", ""), ("“x”", "“x”")]
)
def test_only_a_plain_word_loses_its_capital(text: str, lower: str) -> None:
    assert lower_first(text) == lower


@pytest.mark.parametrize(
    ("seconds", "pace"), [(0, 2), (59, 2), (60, 5), (3600, 5)], ids=["at once", "a minute", "later", "an hour"]
)
def test_the_pace_slows(seconds: int, pace: int) -> None:
    assert poll_seconds(run(status="queued", result=None), QUEUED + timedelta(seconds=seconds)) == pace


def test_a_finished_run_is_not_asked_for_again() -> None:
    assert poll_seconds(run(stage(1)), AT) == 0


def test_use_against_limits_is_of_the_stage_that_came_nearest() -> None:
    small = stage(1, wall_s=1.0, limit_s=10, peak_memory_bytes=1, memory_limit_bytes=100)
    large = stage(2, wall_s=30.0, limit_s=120, peak_memory_bytes=93, memory_limit_bytes=100)

    told = [(usage.label, usage.used, usage.limit) for usage in usages(run(small, large))]

    assert told == [("Time, longest stage", 30.0, 120), ("Memory, peak", 93, 100)]


def test_machine_times_are_drawn_only_where_there_are_two_to_compare() -> None:
    one, two = stage(1, wall_s=1.0), stage(2, wall_s=2.0)

    assert machine_times(run(one, stage(3, "review"))) == []
    assert [row["wall_s"] for row in machine_times(run(one, two))] == [1.0, 2.0]


def test_a_stage_after_one_that_failed_says_which_did_not_pass() -> None:
    failed = stage(1, result=Result.REFUTED, findings=("No.",), reason_code=ReasonCode.CHECKER_REFUTED)
    shown = run(failed, stage(2, result=None, state="not_run"), result=Result.REFUTED)

    assert stage_rows(shown, Surroundings(AT))[1]["say"] == "Not run: stage 1 did not pass."


def given(**more: Any) -> ProjectedInput:
    defaults: dict[str, Any] = {
        "kind": "reference",
        "key": "labels",
        "filename": "labels.csv",
        "content_hash": HASH,
        "size_bytes": 44,
        "media_type": "text/csv",
    }
    return ProjectedInput(**defaults | more)


def test_a_sealed_input_shows_its_commitment_and_a_linked_one_is_never_fetched() -> None:
    sealed = given(content_hash=COMMITMENT, size_bytes=None, is_commitment=True, public_commitment=COMMITMENT)
    linked = given(key="paper", url="https://example.org/p.pdf")

    first, second = input_rows(run(stage(1), inputs=(sealed, linked)))

    assert (first["state"], first["size_bytes"], "href" in first) == ("withheld", None, False)
    assert second["access"] == "never fetched here, and given to no checker"


def test_the_document_is_the_same_for_a_manager_who_sees_the_sealed_hash() -> None:
    for_all = given(content_hash=COMMITMENT, size_bytes=None, is_commitment=True, public_commitment=COMMITMENT)
    for_manager = given(content_hash=HASH, size_bytes=44, public_commitment=COMMITMENT)
    shown = run(inputs=(for_all,), result=Result.ERROR, reason_code=ReasonCode.IMAGE_MISSING)

    documents = [run_document(shown), run_document(replace(shown, inputs=(for_manager,)))]

    assert documents[0] == documents[1]
    assert validate_document("verification-run", documents[0]) == []


def test_the_command_runs_the_builtin_and_quotes_names() -> None:
    files = (
        given(kind="artifact", key="assignment", filename="my answer; rm -rf.txt"),
        given(kind="reference", key="instance", filename="../x"),
    )

    told = command(run(stage(1, image_ref="tfp-builtin/sat-assignment:1"), inputs=files))

    assert told == (
        "python3 -m verification.engine.checkers.sat --instance instance --assignment 'my answer; rm -rf.txt'"
    )


def test_no_command_is_told_where_no_builtin_ran() -> None:
    images = [None, "tfp-runtime/python:1"]

    told = [command(run(stage(1, image_ref=image))) for image in images]

    assert told == ["", ""]
