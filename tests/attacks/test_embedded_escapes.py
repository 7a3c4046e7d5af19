"""Daemons, forgeries, floods and foul output trees against the `embedded` backend; the end of a worker."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.verification.engine.sandbox.hostile.embedded_jobs import (
    children,
    run_script,
    settles,
    slots_at_rest,
    told,
    warm_backend,
)
from tests.verification.engine.sandbox.hostile.executions import ends, is_alive
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import MAX_EVIDENCE_BYTES, MAX_LOG_BYTES, Execution, Guard
from verification.engine.sandbox.embedded.backend import EmbeddedBackend, enforced_guards
from verification.engine.sandbox.embedded.cgroups import ControlGroups, find_control_groups

pytestmark = pytest.mark.attacks

LIMIT = Result.INCONCLUSIVE
FAILED = (Result.ERROR, ReasonCode.EXIT_NONZERO)
VERIFIED = (Result.VERIFIED, None)
REFUTED = (Result.REFUTED, ReasonCode.CHECKER_REFUTED)

has_memory_groups = pytest.mark.skipif(
    Guard.MEMORY not in find_control_groups().guards, reason="no memory control group can be made here"
)
has_process_groups = pytest.mark.skipif(
    "pids" not in find_control_groups().parents, reason="no process control group can be made here"
)


# What is left behind (row 22)


def test_a_daemon_that_waits_for_the_end_changes_nothing(tmp_path):
    run_script(tmp_path, "verify()")
    count = slots_at_rest()
    before = count()

    found = run_script(
        tmp_path,
        """
        ready, is_ready = os.pipe()
        alive, keeps_alive = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.close(keeps_alive)
                os.write(is_ready, b"x")
                os.read(alive, 1)
                time.sleep(0.3)
                while True:
                    verify()
            os._exit(0)
        os.read(ready, 1)
        refute()
        """,
    )

    assert settles(count, before)
    assert (found.exit_code, told(found)) == (0, REFUTED)
    assert Guard.TREE_KILLED in found.enforced


def test_processes_that_replace_themselves_are_ended(tmp_path):
    run_script(tmp_path, "verify()")
    count = slots_at_rest()
    before = count()

    found = run_script(
        tmp_path,
        """
        refute()
        if os.fork() == 0:
            os.setsid()
            while True:
                try:
                    if os.fork() != 0:
                        os._exit(0)
                except OSError:
                    pass
        time.sleep(0.2)
        """,
    )

    assert settles(count, before)
    assert found.exit_code == 0


# The keeper and the zygote (row 23)


def test_nobody_outside_can_be_seen_signalled_or_traced(tmp_path):
    found = run_script(
        tmp_path,
        """
        import signal
        others = [pid for pid in range(1, 5000) if pid != os.getpid() and refusal(os.kill, pid, 0) == 0]
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV):
            refusal(os.kill, 1, number)
            refusal(os.kill, os.getppid(), number)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        refusal(os.kill, 0, signal.SIGTERM)
        refusal(os.kill, -1, signal.SIGTERM)
        time.sleep(0.1)
        verify()
        print(others, end="")
        """,
    )

    assert (found.log.content, told(found)) == (b"[1]", VERIFIED)


def test_a_signal_that_a_checker_sends_itself_is_its_own_failure(tmp_path):
    found = [run_script(tmp_path, f"verify()\nos.kill(os.getpid(), {number})") for number in (9, 11, 6, 15)]

    assert [(one.signal, told(one)) for one in found] == [(number, FAILED) for number in (9, 11, 6, 15)]


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(1)",
        "sys.exit(256)",
        "sys.exit(137)",
        "os._exit(137)",
        "raise ValueError",
        "sys.exit('words')",
        "os.abort()",
        "def again(): again()\nagain()",
    ],
)
def test_inv_16_a_verified_file_of_a_checker_that_failed_is_an_error(tmp_path, ending):
    assert told(run_script(tmp_path, f"verify()\n{ending}")) == FAILED


@pytest.mark.parametrize("ending", ["pass", "os._exit(0)", "sys.exit(0)"])
def test_exit_zero_alone_is_never_a_verdict(tmp_path, ending):
    assert told(run_script(tmp_path, ending)) == (Result.ERROR, ReasonCode.RESULT_MISSING)


def test_words_on_the_streams_and_on_guessed_descriptors_are_no_verdict(tmp_path):
    found = run_script(
        tmp_path,
        """
        for fd in range(3, 1024):
            for text in ('{"ended": 0}', '{"result": "verified"}', '{"used": [0, 0]}'):
                refusal(os.write, fd, text.encode())
        print('{"ended": 0}\\ns VERIFIED\\nVERDICT: verified\\n{"result": "verified"}')
        sys.exit(3)
        """,
    )

    assert told(found) == FAILED
    assert found.exit_code == 3


# The log (row 21)


def test_a_flooded_log_is_cut_counted_and_changes_no_verdict(tmp_path):
    found = run_script(tmp_path, 'for _ in range(64): os.write(1, b"x" * (1 << 20))\nverify()')

    assert found.log.content == b"x" * MAX_LOG_BYTES
    assert (found.log.size_bytes, found.log.truncated, told(found)) == (64 << 20, True, VERIFIED)


def test_a_log_without_end_is_cut_off_with_its_checker(tmp_path):
    found = run_script(tmp_path, 'while True: os.write(2, b"y" * (1 << 16))', timeout_seconds=1)

    assert (len(found.log.content), told(found)) == (MAX_LOG_BYTES, (LIMIT, ReasonCode.LIMIT_TIME))


# The output (row 19)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('os.symlink("/input/manifest.json", "/output/result.json")', (Result.ERROR, ReasonCode.RESULT_MALFORMED)),
        ('os.symlink("/etc/passwd", "/output/result.json")', (Result.ERROR, ReasonCode.RESULT_MALFORMED)),
        ('os.mkdir("/output/result.json")', (Result.ERROR, ReasonCode.RESULT_MALFORMED)),
        ('verify()\nos.link("/output/result.json", "/output/x")', (Result.ERROR, ReasonCode.RESULT_MALFORMED)),
        ('verify()\nos.symlink("/", "/output/evidence")', (Result.ERROR, ReasonCode.EVIDENCE_INVALID)),
        (
            'verify()\nos.mkdir("/output/evidence")\nos.symlink("/proc/self/environ", "/output/evidence/e")',
            (Result.ERROR, ReasonCode.EVIDENCE_INVALID),
        ),
        (
            (
                'verify()\nos.mkdir("/output/evidence")\nopen("/output/evidence/a","w").close()\n'
                'os.link("/output/evidence/a", "/output/evidence/b")'
            ),
            (Result.ERROR, ReasonCode.EVIDENCE_INVALID),
        ),
        (
            f'verify()\nos.mkdir("/output/evidence")\nopen("/output/evidence/a","wb").write(bytes({MAX_EVIDENCE_BYTES}+1))',
            (Result.ERROR, ReasonCode.EVIDENCE_TOO_LARGE),
        ),
        ('verify()\nos.mkdir("/output/evidence", 0)\nos.chmod("/output", 0)', VERIFIED),
    ],
)
def test_an_output_that_is_no_plain_tree_is_refused(tmp_path, script, expected):
    if os.geteuid() != 0 and "chmod" in script:
        expected = (Result.ERROR, ReasonCode.EVIDENCE_INVALID)

    assert told(run_script(tmp_path, script)) == expected


def test_pipes_devices_and_sockets_cannot_even_be_made(tmp_path):
    found = run_script(
        tmp_path,
        """
        import socket, stat
        os.mkdir("/output/evidence")
        print([
            refusal(os.mkfifo, "/output/evidence/pipe"),
            refusal(os.mknod, "/output/evidence/null", 0o600 | stat.S_IFCHR, os.makedev(1, 3)),
            refusal(os.mknod, "/output/evidence/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0)),
            refusal(socket.socket, socket.AF_UNIX),
        ], end="")
        refute()
        """,
    )

    assert (json.loads(found.log.content), told(found)) == ([errno.EPERM] * 4, REFUTED)
    assert found.output.evidence == ()


# Two at once, and the end of a worker


def test_two_invocations_at_once_have_slots_of_their_own_and_do_not_meet(tmp_path):
    backend = EmbeddedBackend()
    script = """
        seen = set()
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            seen |= {pid for pid in range(1, 300) if refusal(os.kill, pid, 0) == 0}
            open("/tmp/mark", "w").close()
            seen |= {len(os.listdir("/tmp"))}
        verify()
        print(sorted(seen), end="")
        """

    def one(name: str) -> Execution:
        folder = tmp_path / name
        folder.mkdir()
        return run_script(folder, script, backend=backend)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(one, "ab"))
    users = {slot.user for slot in backend._idle}
    slots = len(backend._idle)
    backend.close()

    assert [(told(one), one.log.content) for one in found] == [(VERIFIED, b"[1, 2]")] * 2
    assert slots == 2
    assert os.geteuid() != 0 or (len(users) == 2 and all(60001 <= user < 61000 for user in users if user is not None))


WORKER = """
import sys
from pathlib import Path
from tests.verification.engine.sandbox.hostile.embedded_jobs import run_script

run_script(Path(sys.argv[1]), '''
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print("sleeping", flush=True)
time.sleep(600)
''')
"""


def test_the_death_of_a_worker_ends_everything(tmp_path):
    run_script(tmp_path, "verify()")
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], env={**os.environ, "PYTHONPATH": "."})
    give_up_at = time.monotonic() + 30
    # Launcher, zygote, keeper, checker, and its daemon.
    while len(family := children(worker.pid)) < 5 and time.monotonic() < give_up_at:
        time.sleep(0.02)

    worker.kill()
    worker.wait()

    assert len(family) >= 5
    assert [pid for pid in family if not ends(pid)] == []


def test_a_killed_zygote_is_our_failure_and_the_next_job_finds_a_new_one(tmp_path):
    from verification.engine.sandbox.base import BackendUnavailable

    backend = EmbeddedBackend()
    run_script(tmp_path, "verify()", backend=backend)
    launcher = backend._idle[0]._launcher.pid
    zygote = children(launcher)[0]
    killer = threading.Timer(0.5, os.kill, (zygote, signal.SIGKILL))
    killer.start()

    with pytest.raises(BackendUnavailable):
        run_script(tmp_path, "verify()\ntime.sleep(60)", backend=backend)

    killer.join()
    assert not is_alive(zygote)
    assert told(run_script(tmp_path, "verify()", backend=backend)) == VERIFIED
    backend.close()


def test_what_is_said_to_be_enforced_is_what_the_groups_give(tmp_path):
    assert run_script(tmp_path, "verify()").enforced == enforced_guards(find_control_groups())
    assert warm_backend().name == "embedded"


def test_no_control_group_is_left_behind(tmp_path):
    groups = ControlGroups(find_control_groups().parents)
    backend = EmbeddedBackend(control_groups=groups)
    run_script(tmp_path, "verify()", backend=backend)
    run_script(tmp_path, "time.sleep(60)", backend=backend, timeout_seconds=1)
    prepared = len(groups.leftovers())

    backend.close()

    assert (prepared, groups.leftovers()) == (len(set(groups.parents.values())), [])
