"""Hostile checkers against the `process` backend: the rows of notes/attacks.md that apply without isolation.

What this backend does not hold a checker to (network, view of the host, a user of its own) is not tested here but
stated: see `ENFORCED`.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verification.engine.sandbox.hostile.executions import (
    backend,
    ends,
    execute,
    invocation,
    is_alive,
    processes_of_session,
)
from verification.engine.outcome import StageExpectation, StageOutcome, interpret
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import MAX_EVIDENCE_BYTES, MAX_LOG_BYTES, Execution, Guard

pytestmark = pytest.mark.attacks

PASS_FAIL = StageExpectation("pass_fail")
SECRET = b"sealed bytes of the host"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_bytes(SECRET)
    return path


def told(found: Execution) -> tuple[Result, ReasonCode | None]:
    outcome = interpret(found, PASS_FAIL)
    return outcome.result, outcome.reason_code


def outcome_of(tmp_path: Path, behaviour: str, *words: object, **limits: int) -> StageOutcome:
    return interpret(execute(tmp_path, behaviour, *words, **limits), PASS_FAIL)


# Telling a fixture from a real run (row 27)


def test_a_fixture_and_a_real_run_look_alike(tmp_path):
    wanted = invocation(tmp_path, "describe")

    fixture, real = (
        backend(tmp_path).execute(replace(wanted, manifest={"run_id": run_id})) for run_id in ("cfx_1", "vrn_1")
    )

    assert fixture.output == real.output
    assert fixture.enforced == real.enforced


# Ends that are no verdict (rows 3, 23, 29; T06)


@pytest.mark.parametrize("behaviour", [("nothing",), ("leave_at_once", 0)])
def test_exit_zero_alone_is_never_a_verdict(tmp_path, behaviour):
    assert told(execute(tmp_path, *behaviour)) == (Result.ERROR, ReasonCode.RESULT_MISSING)


@pytest.mark.parametrize(
    "behaviour",
    [
        ("exit", 1),
        ("exit", 256),
        ("exit", 137),
        ("raise",),
        ("recurse",),
        ("signal_self", 11),
        ("signal_self", 9),
        ("signal_self", 6),
    ],
)
def test_inv_16_a_verified_file_of_a_checker_that_failed_is_an_error(tmp_path, behaviour):
    assert told(execute(tmp_path, *behaviour)) == (Result.ERROR, ReasonCode.EXIT_NONZERO)


def test_inv_16_a_checker_that_kills_its_supervisor_verifies_nothing(tmp_path):
    found = execute(tmp_path, "kill_the_supervisor")

    assert told(found) == (Result.ERROR, ReasonCode.EXIT_NONZERO)
    assert Guard.TREE_KILLED not in found.enforced


def test_a_checker_that_kills_its_supervisor_from_afar_is_found_all_the_same(tmp_path):
    pid_path = tmp_path / "pid"

    found = execute(tmp_path, "kill_the_supervisor_from_afar", pid_path)

    assert told(found) == (Result.ERROR, ReasonCode.EXIT_NONZERO)
    assert ends(int(pid_path.read_text()))


def test_a_checker_that_stops_its_supervisor_runs_out_of_time(tmp_path):
    found = execute(tmp_path, "stop_the_supervisor", timeout_seconds=1)

    assert told(found) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_TIME)


def test_words_on_the_streams_are_no_verdict(tmp_path):
    assert told(execute(tmp_path, "print_a_verdict")) == (Result.REFUTED, ReasonCode.CHECKER_REFUTED)


# Limits (rows 15, 20, 21, 22)


def test_endless_time_is_cut_off_and_nobody_survives(tmp_path):
    pid_path = tmp_path / "pid"

    found = execute(tmp_path, "run_a_child", pid_path, timeout_seconds=1)

    assert told(found) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_TIME)
    assert ends(int(pid_path.read_text()))


def test_a_checker_that_ignores_signals_is_cut_off(tmp_path):
    assert outcome_of(tmp_path, "ignore_signals", timeout_seconds=1).reason_code == ReasonCode.LIMIT_TIME


def test_a_thread_left_running_does_not_hold_the_run(tmp_path):
    assert told(execute(tmp_path, "leave_a_thread")) == (Result.VERIFIED, None)


def test_endless_memory_is_a_limit(tmp_path):
    found = execute(tmp_path, "take_memory", memory_mb=128)

    assert told(found) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_MEMORY)
    assert found.peak_memory_bytes <= 128 << 20


def test_an_endless_file_is_a_limit(tmp_path):
    found = execute(tmp_path, "fill_disk", disk_mb=4)

    assert told(found) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_DISK)


def test_processor_time_is_a_limit(tmp_path):
    assert told(execute(tmp_path, "use_cpu")) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_TIME)


def test_too_many_processes_are_a_limit(tmp_path):
    found = execute(tmp_path, "fork_many", 40, pids=16)

    assert told(found) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_PIDS)


# What is left behind (row 22; T14, T31)


def test_a_daemon_left_behind_is_ended_before_the_result_is_read(tmp_path):
    pid_path = tmp_path / "pid"

    found = execute(tmp_path, "leave_a_daemon", pid_path)

    assert not is_alive(int(pid_path.read_text()))
    assert found.exit_code == 0
    assert found.enforced >= {Guard.TREE_KILLED}


def test_processes_that_replace_themselves_are_ended(tmp_path):
    pid_path = tmp_path / "session"

    found = execute(tmp_path, "leave_a_fork_storm", pid_path)

    assert processes_of_session(int(pid_path.read_text())) == []
    assert told(found) == (Result.REFUTED, ReasonCode.CHECKER_REFUTED)


# The log (row 21; T09, T10)


def test_a_flooded_log_is_cut_counted_and_changes_no_verdict(tmp_path):
    found = execute(tmp_path, "flood", 64)

    assert found.log.content == b"x" * MAX_LOG_BYTES
    assert (found.log.size_bytes, found.log.truncated) == (64 << 20, True)
    assert told(found) == (Result.VERIFIED, None)


def test_a_log_without_end_is_cut_off_with_its_checker(tmp_path):
    found = execute(tmp_path, "flood_for_ever", timeout_seconds=1)

    assert len(found.log.content) == MAX_LOG_BYTES
    assert found.log.truncated
    assert told(found) == (Result.INCONCLUSIVE, ReasonCode.LIMIT_TIME)


def test_dirty_bytes_in_the_log_are_kept_as_they_are(tmp_path):
    found = execute(tmp_path, "dirty_log")

    assert found.log.content == b"\x00\xff\xfe\x1b[31m s VERIFIED \xe2\x80\xae\xe2\x82"
    assert told(found) == (Result.VERIFIED, None)


# The result file (rows 4, 16, 17)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "verified",
        "[]",
        '{"result": "error"}',
        '{"result": "Verified"}',
        '{"result": "refuted", "result": "verified"}',
        '{"result": "verified", "score": 1}',
        '{"result": "verified", "verdict": "verified"}',
        '{"result": "verified"}{"result": "verified"}',
        "[" * 10_000 + "]" * 10_000,
    ],
)
def test_a_result_file_outside_the_rules_is_an_error(tmp_path, text):
    assert told(execute(tmp_path, "raw_result", text)) == (Result.ERROR, ReasonCode.RESULT_MALFORMED)


def test_a_long_result_file_is_an_error(tmp_path):
    assert told(execute(tmp_path, "long_result")) == (Result.ERROR, ReasonCode.RESULT_MALFORMED)


@pytest.mark.parametrize("behaviour", ["link_result", "hard_link_result"])
def test_a_result_file_that_is_a_link_is_an_error(tmp_path, behaviour):
    target = tmp_path / "target.json"
    target.write_bytes(b'{"result": "verified"}')

    found = execute(tmp_path, behaviour, target)

    assert found.output.result is None
    assert told(found) == (Result.ERROR, ReasonCode.RESULT_MALFORMED)


@pytest.mark.parametrize("behaviour", ["fifo_result", "result_directory"])
def test_a_result_file_that_is_no_file_is_an_error(tmp_path, behaviour):
    assert told(execute(tmp_path, behaviour)) == (Result.ERROR, ReasonCode.RESULT_MALFORMED)


# The evidence (row 19; T15)


@pytest.mark.parametrize(
    "behaviour",
    ["link_evidence", "link_evidence_directory", "link_directory_in_evidence", "hard_link_evidence"],
)
def test_links_in_the_evidence_are_refused_and_not_followed(tmp_path, secret, behaviour):
    target = tmp_path if "directory" in behaviour else secret

    found = execute(tmp_path, behaviour, target)

    assert told(found) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)
    assert found.output.evidence == ()
    assert secret.read_bytes() == SECRET


def test_a_link_to_nowhere_is_refused_and_nothing_is_created(tmp_path):
    found = execute(tmp_path, "link_evidence", tmp_path / "not" / "yet")

    assert told(found) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize(
    "behaviour",
    [
        "fifo_evidence",
        "socket_evidence",
        pytest.param(
            "device_evidence", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
        ),
    ],
)
def test_evidence_that_is_no_plain_file_is_refused_without_waiting(tmp_path, behaviour):
    assert told(execute(tmp_path, behaviour)) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)


@pytest.mark.parametrize("depth", [9, 300])
def test_deep_evidence_is_refused_and_removed(tmp_path, depth):
    found = execute(tmp_path, "deep_evidence", depth)

    assert told(found) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_many_small_files_are_refused(tmp_path):
    assert outcome_of(tmp_path, "many_files", 1000).result == Result.VERIFIED
    assert outcome_of(tmp_path, "many_files", 1001).reason_code == ReasonCode.EVIDENCE_TOO_LARGE


def test_evidence_is_bounded_in_sum(tmp_path):
    assert outcome_of(tmp_path, "much_evidence", MAX_EVIDENCE_BYTES).result == Result.VERIFIED
    assert outcome_of(tmp_path, "much_evidence", MAX_EVIDENCE_BYTES + 1).reason_code == ReasonCode.EVIDENCE_TOO_LARGE


def test_a_sparse_file_counts_with_its_length(tmp_path):
    found = execute(tmp_path, "sparse_evidence", disk_mb=2048)

    assert told(found) == (Result.ERROR, ReasonCode.EVIDENCE_TOO_LARGE)


@pytest.mark.parametrize(
    "name", [r"\xff\xfe.txt", r"a\nb.txt", r".hidden", r"a\x1b[31m.txt", r"\xe2\x80\xaegpj.exe", r" a"]
)
def test_evidence_with_a_misleading_name_is_refused(tmp_path, name):
    assert told(execute(tmp_path, "odd_name", name)) == (Result.ERROR, ReasonCode.EVIDENCE_INVALID)


def test_other_things_in_the_output_are_not_read(tmp_path, secret):
    found = execute(tmp_path, "extra_output", secret)

    assert told(found) == (Result.VERIFIED, None)
    assert found.output.evidence == ()


def test_an_output_directory_put_in_the_place_of_the_real_one_is_not_read(tmp_path):
    bait = tmp_path / "bait"
    bait.mkdir()
    (bait / "result.json").write_bytes(b'{"result": "verified"}')

    found = execute(tmp_path, "swap_the_output", bait)

    assert told(found) == (Result.REFUTED, ReasonCode.CHECKER_REFUTED)
    assert [path.name for path in bait.iterdir()] == ["result.json"]


def test_what_a_checker_locked_away_is_removed_all_the_same(tmp_path):
    execute(tmp_path, "lock_the_output")

    assert list((tmp_path / "scratch").iterdir()) == []
