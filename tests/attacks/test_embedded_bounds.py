"""Bombs and floods against the `embedded` backend: every limit holds (notes/attacks.md, notes/sandbox.md)."""

import errno
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.verification.engine.sandbox.hostile.embedded_jobs import (
    run_script,
    settles,
    slots_at_rest,
    told,
)
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import Guard
from verification.engine.sandbox.embedded.backend import EmbeddedBackend
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


# Processes (row 22)


@has_process_groups
def test_a_fork_bomb_is_held_at_its_limit(tmp_path):
    most = 0

    def look() -> None:
        nonlocal most
        while not done.wait(0.02):
            most = max(most, count())

    run_script(tmp_path, "verify()")
    count, done = slots_at_rest(), threading.Event()
    before = count()
    counter = threading.Thread(target=look)
    counter.start()
    found = run_script(
        tmp_path,
        """
        verify()
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
        pids=24,
        timeout_seconds=1,
    )
    done.set()
    counter.join()

    assert told(found) == (LIMIT, ReasonCode.LIMIT_TIME)
    assert 0 < most - before <= 24 + 1
    assert settles(count, before)


@has_process_groups
def test_one_process_too_many_is_a_limit(tmp_path):
    found = run_script(
        tmp_path,
        """
        verify()
        made = 1
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(60)
                made += 1
        except BlockingIOError:
            print(made, end="")
        """,
        pids=12,
    )

    assert found.log.content == b"12"
    assert told(found) == (LIMIT, ReasonCode.LIMIT_PIDS)


def test_without_groups_the_kernel_holds_the_number_of_processes_all_the_same(tmp_path):
    plain = EmbeddedBackend(control_groups=ControlGroups({}))
    script = """
        made = 1
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(60)
                made += 1
        except BlockingIOError:
            print(made, end="")
        refute()
        """
    with ThreadPoolExecutor(2) as pool:
        tasks = []
        for name in "ab":
            folder = tmp_path / name
            folder.mkdir()
            tasks.append(pool.submit(run_script, folder, script, backend=plain, pids=12))
        found = [task.result() for task in tasks]
    plain.close()

    assert [one.log.content for one in found] == [b"13", b"13"]
    assert [told(one) for one in found] == [REFUTED] * 2
    assert {Guard.PROCESSES, Guard.MEMORY_PER_PROCESS} <= found[0].enforced
    assert not {Guard.MEMORY, Guard.CPU_COUNT} & found[0].enforced


# Memory (row 29)


@has_memory_groups
def test_endless_memory_of_one_process_is_a_limit(tmp_path):
    found = run_script(
        tmp_path, "verify()\ntaken = []\nwhile True:\n    taken.append(bytearray(1 << 20))", memory_mb=64
    )

    assert told(found) == (LIMIT, ReasonCode.LIMIT_MEMORY)
    assert found.peak_memory_bytes <= (64 + 16) << 20


@has_memory_groups
def test_memory_is_counted_over_all_processes_and_a_killed_child_is_a_limit(tmp_path):
    found = run_script(
        tmp_path,
        """
        children = []
        for _ in range(12):
            pid = os.fork()
            if pid == 0:
                held = bytearray(b"x" * (20 << 20))
                time.sleep(2)
                os._exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
        verify()
        """,
        memory_mb=64,
    )

    assert told(found) == (LIMIT, ReasonCode.LIMIT_MEMORY)
    assert found.peak_memory_bytes <= (64 + 16) << 20


def test_without_groups_a_memory_error_is_a_limit(tmp_path):
    plain = EmbeddedBackend(control_groups=ControlGroups({}))

    found = run_script(
        tmp_path,
        "verify()\ntaken = []\nwhile True:\n    taken.append(bytearray(1 << 20))",
        backend=plain,
        memory_mb=128,
    )
    plain.close()

    assert told(found) == (LIMIT, ReasonCode.LIMIT_MEMORY)


@has_memory_groups
def test_the_input_is_not_charged_to_the_checkers_memory(tmp_path):
    from verification.engine.sandbox.base import InputFile

    large = tmp_path / "large.bin"
    large.write_bytes(b"x" * (100 << 20))

    found = run_script(
        tmp_path,
        'size = os.stat("/input/artifacts/answer/a.bin").st_size\nassert size == 100 << 20\nverify()',
        inputs=(InputFile("/input/artifacts/answer/a.bin", large),),
        memory_mb=64,
    )

    assert told(found) == VERIFIED


# Disk and files (row 20, 21)


@pytest.mark.parametrize("place", ["/output", "/tmp"])
def test_a_full_disk_is_a_limit(tmp_path, place):
    found = run_script(
        tmp_path,
        f"""
        verify()
        for number in range(1 << 20):
            with open("{place}/" + str(number), "wb", buffering=0) as file:
                while file.write(bytes(1 << 16)) == 1 << 16 and file.tell() < 1 << 20:
                    pass
        """,
        disk_mb=4,
    )

    assert told(found) == (LIMIT, ReasonCode.LIMIT_DISK)


@pytest.mark.parametrize("place", ["/output", "/tmp"])
def test_too_many_files_are_a_limit(tmp_path, place):
    found = run_script(
        tmp_path,
        f"""
        verify()
        os.mkdir("{place}/many")
        number = 0
        while True:
            os.close(os.open("{place}/many/" + str(number), os.O_CREAT))
            number += 1
        """,
    )

    assert told(found) == (LIMIT, ReasonCode.LIMIT_DISK)


def test_a_sparse_giant_is_a_limit(tmp_path):
    found = run_script(tmp_path, 'verify()\nopen("/tmp/x", "wb").truncate(1 << 40)')

    assert told(found) == (LIMIT, ReasonCode.LIMIT_DISK)


def test_descriptors_run_out_inside_and_nowhere_else(tmp_path):
    found = run_script(
        tmp_path,
        """
        held = []
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            print([len(held), error.errno], end="")
        for fd in held:
            os.close(fd)
        verify()
        """,
    )

    assert (json.loads(found.log.content), told(found)) == ([256 - 3, errno.EMFILE], VERIFIED)


# Time


def test_endless_time_ends_within_a_tenth_of_a_second(tmp_path):
    found = [run_script(tmp_path, "verify()\nwhile True: pass", timeout_seconds=1) for _ in range(3)]

    assert [told(one) for one in found] == [(LIMIT, ReasonCode.LIMIT_TIME)] * 3
    # The best of three: the machine that runs the tests may be busy.
    assert 1.0 <= min(one.wall_s for one in found) < 1.1


def test_a_checker_that_ignores_every_signal_is_cut_off(tmp_path):
    found = run_script(
        tmp_path,
        """
        import signal
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        verify()
        while True:
            time.sleep(1)
        """,
        timeout_seconds=1,
    )

    assert told(found) == (LIMIT, ReasonCode.LIMIT_TIME)


@pytest.mark.skipif("cpu" not in find_control_groups().parents, reason="no processor group can be made here")
def test_four_busy_processes_get_one_processor(tmp_path):
    found = run_script(tmp_path, "os.fork(), os.fork()\nwhile True: pass", timeout_seconds=2)

    assert told(found) == (LIMIT, ReasonCode.LIMIT_TIME)
    assert found.cpu_s <= 2.0 * 1.2


def test_processor_time_is_a_limit(tmp_path):
    found = run_script(
        tmp_path, "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nverify()\nwhile True: pass"
    )

    assert told(found) == (LIMIT, ReasonCode.LIMIT_TIME)
