"""The process backend with checkers that mean well."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verification.engine.sandbox.hostile.executions import BEHAVIOURS, HERE, backend, ends, execute, invocation
from verification.engine.checkers.registry import BUILTINS, Builtin, resolve
from verification.engine.reasons import ReasonCode
from verification.engine.sandbox.base import (
    BackendUnavailable,
    Cancelled,
    EvidenceFile,
    Guard,
    ImageMissing,
    InputFile,
    InputMissing,
    select,
)
from verification.engine.sandbox.process import ENFORCED, ProcessBackend
from verification.engine.sandbox.scratch import PREFIX, remove_abandoned


def described(tmp_path: Path) -> dict[str, object]:
    found = execute(tmp_path, "describe").output.evidence[0].content
    told: dict[str, object] = json.loads(found)
    return told


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


WORKER = """
import sys
from pathlib import Path
from tests.verification.engine.sandbox.hostile import executions

executions.execute(Path(sys.argv[1]), "run_a_child", sys.argv[2])
"""


def test_a_checker_that_verifies_leaves_result_evidence_and_log(tmp_path):
    found = execute(tmp_path, "verify")

    assert (found.exit_code, found.signal, found.limit) == (0, None, None)
    assert found.output.result == b'{"result": "verified"}'
    assert [(file.path, file.content) for file in found.output.evidence] == [
        ("detail/trace.txt", b"step 1\n"),
        ("summary.json", b'{"clauses_total": 3}'),
    ]
    assert found.output.problem is None
    assert (found.log.content, found.log.size_bytes, found.log.truncated) == (b"looked at it\n", 13, False)
    assert (found.backend, found.enforced) == ("process", ENFORCED)


def test_an_evidence_file_carries_its_hash_and_size(tmp_path):
    found = execute(tmp_path, "many_files", 1).output.evidence

    digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert found == (EvidenceFile("0.txt", b"{}", digest, 2),)


def test_both_streams_arrive_in_one_log_in_order(tmp_path):
    assert execute(tmp_path, "both_streams").log.content == b"out\nerr\n"


def test_use_of_time_and_memory_is_reported(tmp_path):
    found = execute(tmp_path, "verify")

    assert found.wall_s > 0
    assert found.cpu_s > 0
    assert found.peak_memory_bytes > 1 << 20


def test_a_checker_sees_nothing_of_the_worker(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")

    told = described(tmp_path)

    # The interpreter sets LC_CTYPE for itself when it finds no locale at all.
    assert set(told["environment"]) - {"LC_CTYPE"} == set()
    assert told["directory"] == []
    assert told["descriptors"] == [0, 1, 2]
    assert (told["stdin"], told["stdin_is_null"]) == ("", True)


def test_a_checker_runs_isolated_in_a_session_of_its_own(tmp_path):
    told = described(tmp_path)

    assert told["session"] is True
    assert told["flags"] == [1, 1, 1]
    assert told["no_new_privileges"] == "1"


def test_the_limits_are_in_force_in_the_checker(tmp_path):
    told = described(tmp_path)

    assert told["limits"] == {"AS": 512 << 20, "FSIZE": 32 << 20, "NOFILE": 256, "CORE": 0, "CPU": 61}


def test_the_limits_of_the_sat_checker_can_be_set(tmp_path):
    found = execute(tmp_path, "describe", memory_mb=4096, timeout_seconds=600)

    assert json.loads(found.output.evidence[0].content)["limits"]["AS"] == 4096 << 20


def test_a_module_beside_the_script_is_not_imported(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit(0)", encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(0)", encoding="utf-8")

    assert Path(described(tmp_path)["json"]).parent != tmp_path


@pytest.mark.parametrize(
    ("behaviour", "exit_code"),
    [
        (("exit", 0), 0),
        (("exit", 3), 3),
        (("exit", 256), 1),
        (("exit", 512), 1),
        (("exit", -1), 255),
        (("return", 7), 7),
        (("return", 256), 1),
        (("raise",), 1),
        (("say_why_and_exit",), 1),
        (("recurse",), 1),
        (("leave_at_once", 0), 0),
        (("leave_at_once", 9), 9),
    ],
)
def test_an_exit_status_is_told_as_it_was(tmp_path, behaviour, exit_code):
    found = execute(tmp_path, *behaviour)

    assert (found.exit_code, found.signal, found.limit) == (exit_code, None, None)


def test_a_checkers_traceback_is_in_the_log(tmp_path):
    assert execute(tmp_path, "raise").log.content.splitlines()[-1] == b"ValueError: the checker's own fault"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_the_signal_that_ended_a_checker_is_told(tmp_path, number):
    found = execute(tmp_path, "signal_self", int(number))

    assert (found.exit_code, found.signal, found.limit) == (None, number, None)


def test_an_unknown_module_is_the_checkers_failure(tmp_path):
    builtin = Builtin("absent", 1, "no_such_module", ("behaviours.py",), root=HERE)
    wanted = replace(invocation(tmp_path, "verify"), image_digest=builtin.image_digest)

    found = ProcessBackend([builtin], scratch_root=tmp_path).execute(wanted)

    assert found.exit_code == 1


def test_every_run_starts_empty_and_leaves_nothing(tmp_path):
    execute(tmp_path, "verify")
    execute(tmp_path, "nothing")

    assert list((tmp_path / "scratch").iterdir()) == []
    assert execute(tmp_path, "nothing").output.result is None


def test_a_run_leaves_no_descriptor_open(tmp_path):
    execute(tmp_path, "verify")
    before = open_descriptors()

    execute(tmp_path, "verify")
    execute(tmp_path, "raise")

    assert open_descriptors() == before


def test_many_threads_can_run_checkers_at_once(tmp_path):
    folders = [tmp_path / str(number) for number in range(12)]
    for folder in folders:
        folder.mkdir()
    names = ["verify", "refute"] * 6

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(execute, folders, names))

    assert [one.output.result for one in found] == [b'{"result": "verified"}', b'{"result": "refuted"}'] * 6


def test_a_cancelled_checker_is_ended_and_gives_no_execution(tmp_path):
    pid_path = tmp_path / "pid"

    with pytest.raises(Cancelled):
        execute(tmp_path, "run_a_child", pid_path, is_cancelled=pid_path.exists)

    assert ends(int(pid_path.read_text()))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_an_exception_of_the_caller_ends_the_checker(tmp_path):
    pid_path = tmp_path / "pid"

    def break_off() -> bool:
        if pid_path.exists():
            raise KeyError("from outside")
        return False

    with pytest.raises(KeyError, match="from outside"):
        execute(tmp_path, "run_a_child", pid_path, is_cancelled=break_off)

    assert ends(int(pid_path.read_text()))


def test_a_caller_that_never_cancels_is_not_in_the_way(tmp_path):
    assert execute(tmp_path, "verify", is_cancelled=lambda: False).exit_code == 0


def test_a_checker_does_not_outlive_a_killed_worker(tmp_path):
    pid_path = tmp_path / "pid"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), str(pid_path)], cwd=HERE.parents[4])
    while not (pid_path.exists() and pid_path.read_text()):
        assert worker.poll() is None
        time.sleep(0.01)

    worker.kill()
    worker.wait()

    assert ends(int(pid_path.read_text()))


def test_the_scratch_of_a_dead_worker_is_removed_and_that_of_a_live_one_is_not(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    for path in (tmp_path / f"{PREFIX}dead", tmp_path / f"{PREFIX}busy", tmp_path / f"{PREFIX}fresh", elsewhere):
        path.mkdir()
        (path / "left.txt").write_text("of an earlier run")
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    for name in ("dead", "busy", "link"):
        os.utime(tmp_path / f"{PREFIX}{name}", (0, 0), follow_symlinks=False)
    lock = os.open(tmp_path / f"{PREFIX}busy", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)

    removed = remove_abandoned(tmp_path)

    os.close(lock)
    assert removed == 1
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["elsewhere", f"{PREFIX}busy", f"{PREFIX}fresh", f"{PREFIX}link"]
    assert (elsewhere / "left.txt").exists()


def test_an_unknown_digest_is_a_missing_image(tmp_path):
    wanted = replace(invocation(tmp_path, "verify"), image_digest=f"sha256:{'0' * 64}")

    with pytest.raises(ImageMissing):
        backend(tmp_path).execute(wanted)


def test_a_changed_source_is_another_image(tmp_path):
    source = tmp_path / "checker.py"
    source.write_text("def main(argv): return 0\n")
    builtin = Builtin("checker", 1, "checker", ("checker.py",), root=tmp_path)
    before = builtin.image_digest

    source.write_text("def main(argv): return 1\n")

    assert resolve(before, [builtin]) is None
    assert resolve(builtin.image_digest, [builtin]) is builtin


def test_a_missing_source_is_a_missing_image(tmp_path):
    builtin = Builtin("checker", 1, "checker", ("checker.py",), root=tmp_path)

    assert resolve(f"sha256:{'0' * 64}", [builtin]) is None


def test_builtins_with_the_same_sources_have_digests_of_their_own():
    digests = {builtin.image_digest for builtin in BUILTINS.values()}

    assert len(digests) == len(BUILTINS)
    assert BUILTINS["sat-assignment"].image_ref == "tfp-builtin/sat-assignment:1"


def test_a_script_checker_is_refused_without_isolation(tmp_path):
    program = InputFile("/input/checker/checker.py", tmp_path / "checker.py")

    with pytest.raises(BackendUnavailable, match="isolating backend"):
        backend(tmp_path).execute(replace(invocation(tmp_path, "verify"), program=program))


def test_missing_input_bytes_are_the_platforms_failure(tmp_path):
    wanted = invocation(tmp_path, "verify")
    (tmp_path / "script").unlink()

    with pytest.raises(InputMissing):
        backend(tmp_path).execute(wanted)


def test_a_mount_outside_the_input_is_refused(tmp_path):
    wanted = replace(invocation(tmp_path, "verify"), inputs=(InputFile("/etc/artifacts/x/y", tmp_path / "script"),))

    with pytest.raises(ValueError, match="expected a mount"):
        backend(tmp_path).execute(wanted)


def test_an_interpreter_that_cannot_be_started_is_an_unavailable_backend(tmp_path):
    (tmp_path / "scratch").mkdir()
    broken = ProcessBackend([BEHAVIOURS], scratch_root=tmp_path / "scratch", python=str(tmp_path / "python"))

    with pytest.raises(BackendUnavailable):
        broken.execute(invocation(tmp_path, "verify"))


def test_an_interpreter_that_starts_nothing_is_an_unavailable_backend(tmp_path):
    (tmp_path / "scratch").mkdir()
    broken = ProcessBackend([BEHAVIOURS], scratch_root=tmp_path / "scratch", python="/bin/false")

    with pytest.raises(BackendUnavailable, match="exit status 1"):
        broken.execute(invocation(tmp_path, "verify"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may raise its limits")
def test_a_worker_that_may_use_less_memory_than_promised_starts_no_checker(tmp_path):
    hard = 1 << 33
    lowered = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({hard}, {hard}))\n"
    script = lowered + WORKER.replace('"run_a_child", sys.argv[2]', f'"verify", memory_mb={hard >> 19}')

    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=HERE.parents[4], capture_output=True)

    assert done.stderr.splitlines()[-1].startswith(b"verification.engine.sandbox.base.BackendUnavailable")


def test_a_missing_scratch_root_is_an_unavailable_backend(tmp_path):
    lost = ProcessBackend([BEHAVIOURS], scratch_root=tmp_path / "nowhere")

    with pytest.raises(BackendUnavailable):
        lost.execute(invocation(tmp_path, "verify"))


def test_the_first_backend_that_has_the_image_is_selected(tmp_path):
    without, having = ProcessBackend([], scratch_root=tmp_path), ProcessBackend([BEHAVIOURS], scratch_root=tmp_path)

    assert select([without, having], BEHAVIOURS.image_digest) is having
    with pytest.raises(ImageMissing, match="process"):
        select([without], BEHAVIOURS.image_digest)


def test_the_backend_does_not_claim_isolation_that_it_has_not():
    assert ENFORCED & {Guard.NO_NETWORK, Guard.READ_ONLY_ROOT, Guard.HOST_HIDDEN, Guard.SYSTEM_CALLS} == set()


def test_time_that_runs_out_is_a_limit(tmp_path):
    found = execute(tmp_path, "sleep", timeout_seconds=1)

    assert (found.exit_code, found.signal, found.limit) == (None, None, ReasonCode.LIMIT_TIME)
