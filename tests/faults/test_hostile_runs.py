"""T10, T31: hostile checkers through a real run, from the queue to the record."""

import pytest

from tests.factories.work import queued_run
from tests.faults.backend import HOSTILE
from tests.faults.conftest import finished, revision_checked_by
from tests.verification.engine.sandbox.hostile.executions import ends
from verification.engine.sandbox.base import MAX_LOG_BYTES

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

FLOOD_MB = 64


def hostile_run(*script: object):
    content = "\n".join(map(str, script)).encode()
    return queued_run(revision=revision_checked_by(HOSTILE), content=content)


def test_a_flood_of_log_is_cut_while_it_comes_and_the_verdict_stands(start_runner):
    start_runner()

    run = finished(hostile_run("flood", FLOOD_MB), within_s=30)

    output = run.stage_results.get().output
    assert run.result == "verified"
    assert (output.log_size_bytes, output.log_truncated) == (FLOOD_MB << 20, True)
    assert output.log_kept_bytes <= MAX_LOG_BYTES


def test_a_daemon_is_gone_with_its_stage_and_cannot_turn_the_result(start_runner, tmp_path):
    start_runner()
    pid_path = tmp_path / "daemon"

    run = finished(hostile_run("leave_a_daemon", pid_path), within_s=30)

    assert (run.result, run.reason_code) == ("refuted", "checker_refuted")
    assert ends(int(pid_path.read_text()))
