"""The embedded backend with checkers that mean well, and what it says where it cannot work."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verification.engine.sandbox.hostile.embedded_jobs import (
    LIMITS,
    run_script,
    runtime,
    script_invocation,
    told,
    warm_backend,
)
from tests.verification.engine.sandbox.hostile.executions import BEHAVIOURS
from verification.engine.checkers.registry import BUILTINS, Builtin
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox import images
from verification.engine.sandbox.base import (
    BackendUnavailable,
    Cancelled,
    Guard,
    ImageMissing,
    InputFile,
    InputMissing,
    Invocation,
    Limits,
    ProgramMissing,
    select,
)
from verification.engine.sandbox.embedded import cgroups, slots
from verification.engine.sandbox.embedded.backend import EmbeddedBackend
from verification.engine.sandbox.process import ProcessBackend

EXAMPLES = Path(images.SOURCE_ROOT) / "verification" / "engine" / "examples" / "files" / "sat"
VERIFIED = (Result.VERIFIED, None)


def sat(assignment: str) -> Invocation:
    return Invocation(
        manifest={"run_id": "cfx_test"},
        inputs=(
            InputFile("/input/reference/instance/small.cnf", EXAMPLES / "small.cnf"),
            InputFile("/input/artifacts/assignment/answer.txt", EXAMPLES / assignment),
        ),
        image_digest=BUILTINS["sat-assignment"].image_digest,
        limits=LIMITS,
    )


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


# Builtins and scripts


@pytest.mark.parametrize("assignment", ["satisfying.txt", "falsified_clause.txt", "incomplete.txt", "unreadable.txt"])
def test_a_builtin_says_the_same_here_as_in_the_process_backend(assignment):
    wanted = sat(assignment)

    here, there = warm_backend().execute(wanted), ProcessBackend().execute(wanted)

    assert here.output == there.output
    assert (here.exit_code, here.log) == (there.exit_code, there.log)


def test_the_quick_reading_comes_along_where_it_is_built():
    quick = warm_backend().execute(sat("satisfying.txt")).log.content

    built = list((Path(images.SOURCE_ROOT) / "verification/engine/checkers/__pycache__").glob("sat_scan.*.so"))
    assert (b"reading plainly" in quick) is (built == [])


def test_a_script_is_run_as_main_with_the_paths_of_the_specification(tmp_path):
    artifact, reference = tmp_path / "a", tmp_path / "r"
    artifact.write_bytes(b"artifact")
    reference.write_bytes(b"")

    found = run_script(
        tmp_path,
        """
        if __name__ == "__main__":
            files = {os.path.join(at, name): open(os.path.join(at, name), "rb").read().decode()
                     for at, _, names in os.walk("/input") for name in names if name != "checker.py"}
            tell(**files)
        """,
        inputs=(
            InputFile("/input/artifacts/answer/ä b.txt", artifact),
            InputFile("/input/reference/instance/i.json", reference),
        ),
    )

    assert told(found) == VERIFIED
    assert json.loads(found.output.evidence[0].content) == {
        "/input/manifest.json": '{"run_id": "cfx_test"}',
        "/input/artifacts/answer/ä b.txt": "artifact",
        "/input/reference/instance/i.json": "",
    }


def test_many_inputs_arrive_whole(tmp_path):
    inputs = []
    for number in range(300):
        source = tmp_path / str(number)
        source.write_bytes(str(number).encode() * 1000)
        inputs.append(InputFile(f"/input/artifacts/r{number}/{number}.txt", source))

    found = run_script(
        tmp_path,
        """
        for number in range(300):
            with open(f"/input/artifacts/r{number}/{number}.txt") as file:
                assert file.read() == str(number) * 1000
        verify()
        """,
        inputs=tuple(inputs),
    )

    assert told(found) == VERIFIED


def test_both_streams_are_the_log_and_a_traceback_names_the_line(tmp_path):
    found = run_script(tmp_path, 'print("out", flush=True)\nprint("err", file=sys.stderr)\nraise ValueError("no")')

    assert found.log.content.startswith(b"out\nerr\nTraceback (most recent call last):\n")
    assert b'File "/input/checker/checker.py", line' in found.log.content
    assert told(found) == (Result.ERROR, ReasonCode.EXIT_NONZERO)


def test_threads_children_and_the_usual_modules_work(tmp_path):
    found = run_script(
        tmp_path,
        """
        import ctypes, concurrent.futures, decimal, fractions, hashlib, random, statistics, subprocess, tempfile
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            assert list(pool.map(abs, [-1, -2])) == [1, 2]
        said = subprocess.run([sys.executable, "-I", "-S", "-c", "print(6 * 7)"], capture_output=True, check=True)
        assert said.stdout == b"42\\n"
        with tempfile.TemporaryDirectory() as folder:
            assert folder.startswith("/tmp/")
        assert hashlib.sha256(b"").hexdigest().startswith("e3b0c442")
        verify()
        """,
    )

    assert told(found) == VERIFIED, found.log.content.decode()


def test_chance_is_fresh_in_every_invocation(tmp_path):
    script = "import random\nprint(random.random(), os.urandom(8).hex())\nverify()"

    assert run_script(tmp_path, script).log != run_script(tmp_path, script).log


def test_what_was_used_is_told(tmp_path):
    found = run_script(
        tmp_path,
        "until = time.process_time() + 0.3\nheld = bytearray(b'x' * (30 << 20))\n"
        "while time.process_time() < until: pass\nverify()",
    )

    assert 0.3 <= found.cpu_s < 5
    assert 30 << 20 <= found.peak_memory_bytes < 256 << 20
    assert 0.3 <= found.wall_s < 30
    assert found.backend == "embedded"


# Ends


def test_the_caller_can_end_a_job_and_the_slot_lives_on(tmp_path):
    backend = EmbeddedBackend()

    with pytest.raises(Cancelled):
        run_script(tmp_path, "time.sleep(600)", backend=backend, is_cancelled=lambda: True)

    assert len(backend._idle) == 1
    assert told(run_script(tmp_path, "verify()", backend=backend)) == VERIFIED
    backend.close()


def test_no_descriptor_is_left_open(tmp_path):
    run_script(tmp_path, "verify()")
    before = open_descriptors()

    run_script(tmp_path, "verify()")
    run_script(tmp_path, "time.sleep(600)", timeout_seconds=1)

    assert open_descriptors() == before


def test_a_closed_backend_leaves_no_process(tmp_path):
    backend = EmbeddedBackend()
    run_script(tmp_path, "verify()", backend=backend)
    launcher = backend._idle[0]._launcher

    backend.close()

    assert launcher.returncode is not None


def test_a_forked_worker_starts_zygotes_of_its_own(tmp_path):
    backend = EmbeddedBackend()
    run_script(tmp_path, "verify()", backend=backend)
    parents = backend._idle[0]._launcher.pid

    child = os.fork()
    if child == 0:
        good = told(run_script(tmp_path, "verify()", backend=backend)) == VERIFIED
        own = backend._idle[0]._launcher.pid != parents
        backend.close()
        os._exit(0 if good and own else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert told(run_script(tmp_path, "verify()", backend=backend)) == VERIFIED
    assert backend._idle[0]._launcher.pid == parents
    backend.close()


def test_a_fork_of_a_worker_does_not_keep_its_zygotes_alive(tmp_path, caplog):
    backend = EmbeddedBackend()
    run_script(tmp_path, "verify()", backend=backend)
    closing, kept_open = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(kept_open)
        os.read(closing, 1)
        os._exit(0)

    backend.close()

    os.close(kept_open)
    os.close(closing)
    assert os.waitpid(child, 0)[1] == 0
    assert caplog.records == []


def test_many_callers_at_once_get_their_own_answers(tmp_path):
    def one(number: int) -> bytes:
        folder = tmp_path / str(number)
        folder.mkdir()
        return run_script(folder, f"print({number}, end='')\nverify()").log.content

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(24)))

    assert found == [str(number).encode() for number in range(24)]


# What is missing is named


def test_an_unknown_image_is_missing(tmp_path):
    wanted = replace(script_invocation(tmp_path, "verify()"), image_digest="sha256:" + "0" * 64)

    assert not warm_backend().supports(wanted.image_digest)
    with pytest.raises(ImageMissing):
        warm_backend().execute(wanted)


def test_without_a_runtime_a_builtin_falls_to_the_next_backend(tmp_path):
    empty = EmbeddedBackend(runtimes_root=tmp_path)
    digest = BUILTINS["sat-assignment"].image_digest

    assert select([empty, ProcessBackend()], digest).name == "process"
    assert select([warm_backend(), ProcessBackend()], digest).name == "embedded"


@pytest.mark.parametrize(
    ("file", "step", "named"),
    [
        ("launcher", "kernel.unshare(kernel.NEW_USER)", "cannot isolate here, missing: a user namespace"),
        ("launcher", "kernel.unshare(NAMESPACES)", "cannot isolate here, missing: mount, network, IPC"),
        ("launcher", "kernel.swap_root()", "cannot isolate here, missing: pivot_root"),
        ("zygote", "kernel.apply_filter(system_calls)", "refused on this machine"),
        ("zygote", "kernel.drop_capabilities()", "refused on this machine"),
        ("zygote", 'kernel.make_read_only("/input")', "refused on this machine"),
    ],
)
def test_where_it_cannot_isolate_it_refuses_and_names_what_is_missing(tmp_path, monkeypatch, file, step, named):
    original = slots._text

    def without(module):
        text = original(module)
        is_meant = module.__name__.endswith(f".{file}")
        return text.replace(step, 'raise OSError(1, "refused on this machine")') if is_meant else text

    monkeypatch.setattr(slots, "_text", without)
    backend = EmbeddedBackend()
    builtin = BUILTINS["sat-assignment"].image_digest

    assert select([backend, ProcessBackend()], builtin).name == "process"
    with pytest.raises(BackendUnavailable, match=named):
        run_script(tmp_path, "verify()", backend=backend)


def test_missing_bytes_and_paths_outside_are_refused(tmp_path):
    wanted = script_invocation(tmp_path, "verify()")

    with pytest.raises(InputMissing):
        warm_backend().execute(replace(wanted, inputs=(InputFile("/input/artifacts/a/b", tmp_path / "none"),)))
    with pytest.raises(ProgramMissing):
        warm_backend().execute(replace(wanted, program=InputFile("/input/checker/checker.py", tmp_path / "none")))
    with pytest.raises(ProgramMissing):
        warm_backend().execute(replace(wanted, program=None))
    for mount in ("/tmp/x", "/input/../etc/x", "/input//x", "/output/result.json", "input/x"):
        with pytest.raises(ValueError, match="expected a mount below /input"):
            warm_backend().execute(replace(wanted, inputs=(InputFile(mount, tmp_path / "checker.py"),)))


def test_a_changed_builtin_is_another_image_and_gets_another_zygote(tmp_path):
    for name in BEHAVIOURS.sources:
        (tmp_path / name).write_bytes((BEHAVIOURS.root / name).read_bytes())
    builtin = Builtin("behaviours", 1, "behaviours", BEHAVIOURS.sources, root=tmp_path)
    backend = EmbeddedBackend([builtin])
    (tmp_path / "script").write_text("refute", encoding="utf-8")
    script = InputFile("/input/artifacts/script/script.txt", tmp_path / "script")
    wanted = Invocation({"run_id": "cfx_test"}, (script,), builtin.image_digest, LIMITS)
    before = backend.execute(wanted).output.result

    with (tmp_path / "behaviours.py").open("a", encoding="utf-8") as file:
        file.write('\nREFUTED = b\'{"result": "inconclusive"}\'\n')
    after = backend.execute(replace(wanted, image_digest=builtin.image_digest)).output.result

    assert (before, after) == (b'{"result": "refuted"}', b'{"result": "inconclusive"}')
    with pytest.raises(ImageMissing):
        backend.execute(wanted)
    backend.close()


def test_builtins_that_call_their_modules_the_same_do_not_meet(tmp_path):
    builtins = []
    for name in ("verified", "refuted"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "judge.py").write_text(
            f"def main(argv):\n    open('/output/result.json', 'w').write('{{\"result\": \"{name}\"}}')\n"
        )
        builtins.append(Builtin(name, 1, "judge", ("judge.py",), root=tmp_path / name))
    backend = EmbeddedBackend(builtins)

    found = [told(backend.execute(Invocation({}, (), one.image_digest, LIMITS)))[0] for one in builtins]

    assert found == ["verified", "refuted"]
    assert len(backend._idle) == 1
    backend.close()


def test_a_script_finds_no_builtin_loaded(tmp_path):
    found = run_script(tmp_path, 'tell(loaded=[name for name in sys.modules if name.startswith("verification")])')

    assert json.loads(found.output.evidence[0].content) == {"loaded": []}


# Control groups


def test_hierarchies_of_both_versions_are_read():
    rows = (
        "33 32 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
        "34 32 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 32 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "36 32 0:31 / / rw - ext4 /dev/vda rw\n"
    )

    found = list(cgroups._hierarchies(rows))

    assert [(str(path), root, None if names is None else sorted(names - {"rw"})) for path, root, names in found] == [
        ("/sys/fs/cgroup/memory", "/", ["memory"]),
        ("/sys/fs/cgroup/cpu,cpuacct", "/docker/abc", ["cpu", "cpuacct"]),
        ("/sys/fs/cgroup/unified", "/", None),
    ]
    assert dict(cgroups._own_groups("4:memory:/a\n3:cpu,cpuacct:/b\n0::/c\n")) == {
        "memory": "/a",
        "cpu": "/b",
        "cpuacct": "/b",
        "": "/c",
    }


def test_limits_and_counts_of_version_2_are_written_and_read(tmp_path):
    for name in ("memory.max", "memory.swap.max", "pids.max", "cpu.max"):
        (tmp_path / name).touch()
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    (tmp_path / "memory.peak").write_text("12288\n")
    (tmp_path / "pids.events").write_text("max 5\n")
    limits = Limits(vcpu=2, memory_mb=100, disk_mb=28, timeout_seconds=1, pids=7)

    groups = cgroups.JobGroups(dict.fromkeys(cgroups.CONTROLLERS, tmp_path))
    groups.set_limits(limits, free_bytes=4096)
    found = groups.usage()

    assert (tmp_path / "memory.max").read_text() == str((128 << 20) + 4096)
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    assert (tmp_path / "pids.max").read_text() == "8"
    assert (tmp_path / "cpu.max").read_text() == "200000 100000"
    assert found == cgroups.Usage(memory_kills=2, refused_forks=5, peak_memory_bytes=8192)


# An ordinary user


ORDINARY = """
import json, sys
from pathlib import Path
from tests.verification.engine.sandbox.hostile.embedded_jobs import run_script, told

found = run_script(Path(sys.argv[1]), "print(os.getuid(), os.listdir('/'))\\ntell(ids=os.getresuid())")
print(json.dumps([told(found)[0], found.log.content.decode(), sorted(found.enforced)]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_it_works_for_an_ordinary_user_with_fewer_guarantees(tmp_path):
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:  # pytest's own folders, however many there are
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    python = [str(runtime().root_path / "usr/bin/python3"), "-B", "-c", ORDINARY, str(tmp_path)]
    paths = [str(images.SOURCE_ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    environment = {
        "PYTHONPATH": ":".join(paths),
        "LD_LIBRARY_PATH": str(runtime().root_path / "usr/lib"),
        "TFP_RUNTIMES_DIR": str(images.default_runtimes_root()),
    }

    done = subprocess.run(
        python, user=65500, group=65500, extra_groups=[], env=environment, capture_output=True, cwd="/", check=False
    )

    assert done.stderr.decode() == ""
    result, log, enforced = json.loads(done.stdout)
    assert (result, log[:5]) == (Result.VERIFIED, "65534")
    assert Guard.MEMORY not in enforced
    assert {Guard.MEMORY_PER_PROCESS, Guard.SYSTEM_CALLS, Guard.HOST_HIDDEN, Guard.NO_NETWORK} <= set(enforced)
