"""What a checker in the `embedded` backend sees and may call, compared with what is written here."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.verification.engine.sandbox.hostile.embedded_jobs import (
    LIMITS,
    run_script,
    script_invocation,
    told,
    warm_backend,
)
from verification.engine.checkers.registry import BUILTINS
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import InputFile
from verification.engine.sandbox.embedded.seccomp import allowed_calls

pytestmark = pytest.mark.attacks

# Refused whatever the arguments, by name: number on x86_64, number on aarch64.
FORBIDDEN = {
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "io_uring_setup": (425, 425),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "unshare": (272, 97),
    "setns": (308, 268),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_create": (319, 279),
    "mknodat": (259, 33),
    "open_by_handle_at": (304, 265),
    "seccomp": (317, 277),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "setuid": (105, 146),
    "sethostname": (170, 161),
    "init_module": (175, 105),
    "reboot": (169, 142),
}


def view(tmp_path: Path, script: str, **limits: int) -> dict[str, Any]:
    found = run_script(tmp_path, script, **limits)
    assert told(found) == (Result.VERIFIED, None), found.log.content.decode()
    answer: dict[str, Any] = json.loads(found.output.evidence[0].content)
    return answer


def test_the_root_holds_the_runtime_and_nothing_of_the_host(tmp_path):
    answer = view(
        tmp_path,
        """
        tell(
            root=sorted(os.listdir("/")),
            dev=sorted(os.listdir("/dev")),
            usr=sorted(os.listdir("/usr")),
            tmp=os.listdir("/tmp"),
            output=os.listdir("/output"),
            input=sorted(os.path.join(at, name) for at, _, names in os.walk("/input") for name in names),
            missing=[name for name in ("/proc", "/sys", "/etc", "/root", "/home", "/var", "/work", "/run", "/mnt",
                                       "/dev/shm", "/dev/kvm", "/dev/vda", "/dev/mem") if os.path.lexists(name)],
            above=sorted(os.listdir("/..")),
        )
        """,
    )

    root = ["bin", "builtin", "dev", "input", "lib", "lib64", "output", "tmp", "usr"]
    assert answer == {
        "root": root,
        "dev": ["null", "urandom", "zero"],
        "usr": ["bin", "lib", "lib64"],
        "tmp": [],
        "output": ["evidence"] if answer["output"] else [],
        "input": ["/input/checker/checker.py", "/input/manifest.json"],
        "missing": [],
        "above": root,
    }


def test_the_builtins_directory_holds_their_sources_and_nothing_else(tmp_path):
    answer = view(
        tmp_path,
        """
        tell(files=sorted(os.path.join(at, name) for at, _, names in os.walk("/builtin") for name in names))
        """,
    )

    sources = {f"/builtin/0/{source}" for builtin in BUILTINS.values() for source in builtin.sources}
    others = [path for path in answer["files"] if path not in sources and "/__pycache__/sat_scan." not in path]
    assert others == [
        "/builtin/0/verification/__init__.py",
        "/builtin/0/verification/engine/__init__.py",
        "/builtin/0/verification/engine/checkers/__init__.py",
    ]


def test_no_path_of_the_host_is_in_the_interpreters_memory_of_itself(tmp_path):
    host = str(Path(__file__).resolve().parents[2])

    answer = view(
        tmp_path,
        """
        import gc
        words = [sys.path, sys.argv, sys.executable, sys.prefix, sys.exec_prefix, list(sys.modules), sys.orig_argv[:4]]
        files = [getattr(module, "__file__", None) for module in sys.modules.values()]
        texts = [one for held in gc.get_objects() if isinstance(held, dict) for one in list(held.values())
                 if isinstance(one, str)]
        tell(words=repr(words), files=[f for f in files if f and not f.startswith(("/usr/", "/builtin/", "/input/"))],
             texts=sorted({text for text in texts if "HOST" in text}))
        """.replace("HOST", host),
    )

    assert host not in answer["words"]
    assert (answer["files"], [text for text in answer["texts"] if "checker.py" not in text]) == ([], [])


def test_environment_identifiers_and_descriptors_are_the_same_everywhere(tmp_path):
    answer = view(
        tmp_path,
        """
        import socket
        def is_open(fd):
            return refusal(os.fstat, fd) == 0
        tell(
            environment=dict(os.environ), uids=os.getresuid(), gids=os.getresgid(), groups=os.getgroups(),
            host=socket.gethostname(), cwd=os.getcwd(), pid=os.getpid(), parent=os.getppid(), session=os.getsid(0),
            descriptors=[fd for fd in range(1024) if is_open(fd)], argv=sys.argv, path=sys.path, name=__name__,
            file=__file__, umask=os.umask(0), stdin=sys.stdin.read(),
            flags=[sys.flags.isolated, sys.flags.no_site, sys.flags.dont_write_bytecode],
        )
        """,
    )

    assert answer.pop("path")[1].startswith("/usr/lib")
    assert answer == {
        "environment": {},
        "uids": [65534] * 3,
        "gids": [65534] * 3,
        "groups": [65534] if answer["groups"] else [],
        "host": "sandbox",
        "cwd": "/tmp",
        "pid": 2,
        "parent": 1,
        "session": 2,
        "descriptors": [0, 1, 2],
        "argv": ["/input/checker/checker.py"],
        "name": "__main__",
        "file": "/input/checker/checker.py",
        "umask": 0o077,
        "stdin": "",
        "flags": [1, 1, 1],
    }


def test_the_limits_are_those_of_the_implementation_and_cannot_be_raised(tmp_path):
    answer = view(
        tmp_path,
        """
        import resource
        names = ("NOFILE", "FSIZE", "CPU", "NPROC", "STACK", "MEMLOCK", "MSGQUEUE", "CORE")
        held = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names}
        def rise(name):
            number = getattr(resource, f"RLIMIT_{name}")
            try:
                resource.setrlimit(number, (held[name][0] + 1, held[name][1] + 1))
            except (ValueError, OSError):
                return True
            return False
        tell(held=held, refused=[name for name in names if rise(name)])
        """,
    )

    wanted = {
        "NOFILE": 256,
        "FSIZE": LIMITS.disk_mb << 20,
        "CPU": LIMITS.timeout_seconds + 1,
        "NPROC": LIMITS.pids + 2,
        "STACK": 8 << 20,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "CORE": 0,
    }
    assert answer == {"held": {name: [value] * 2 for name, value in wanted.items()}, "refused": list(wanted)}


def test_capabilities_are_gone_and_none_can_come_back(tmp_path):
    answer = view(
        tmp_path,
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        libc.capget(header, held)
        tell(
            held=list(held), bounding=[n for n in range(64) if libc.prctl(23, n, 0, 0, 0) == 1],
            no_new_privileges=libc.prctl(39, 0, 0, 0, 0), dumpable=libc.prctl(3, 0, 0, 0, 0), filter=libc.prctl(21),
        )
        """,
    )

    assert answer == {"held": [0] * 6, "bounding": [], "no_new_privileges": 1, "dumpable": 0, "filter": 2}


def test_every_system_call_that_is_not_listed_is_refused(tmp_path):
    machine = os.uname().machine
    by_argument = (56, 16, 157) if machine == "x86_64" else (220, 29, 167)
    # The kernel itself keeps uretprobe and uprobe out of every filter, and answers them with SIGILL.
    probes = (335, 336) if machine == "x86_64" else ()
    listed = sorted({*allowed_calls(machine).values(), *by_argument, *probes})

    answer = view(
        tmp_path,
        f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall.argtypes = [ctypes.c_long] * 7
        libc.syscall.restype = ctypes.c_long
        odd = []
        for number in range(600):
            if number not in set({listed}):
                ctypes.set_errno(0)
                if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (1, 38):
                    odd.append([number, ctypes.get_errno()])
        tell(odd=odd, x32=[libc.syscall(0x40000000 + 39, 0, 0, 0, 0, 0, 0), ctypes.get_errno()])
        """,
    )

    assert answer == {"odd": [], "x32": [-1, errno.EPERM]}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_dangerous_system_call_is_on_no_list(name):
    assert FORBIDDEN[name][0] not in allowed_calls("x86_64").values()
    assert FORBIDDEN[name][1] not in allowed_calls("aarch64").values()


def test_no_socket_of_any_family_can_be_made(tmp_path):
    answer = view(
        tmp_path,
        """
        import socket
        made = [[family, kind] for family in range(46) for kind in range(1, 7)
                if refusal(socket.socket, family, kind) != 1]
        tell(made=made, pair=refusal(socket.socketpair), files=refusal(os.stat, "/proc/net"))
        """,
    )

    assert answer == {"made": [], "pair": errno.EPERM, "files": errno.ENOENT}


def test_no_namespace_can_be_made_by_clone(tmp_path):
    machine = os.uname().machine
    answer = view(
        tmp_path,
        f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        found = {{}}
        for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x2000, 0x8000):
            status = libc.syscall({56 if machine == "x86_64" else 220}, flag | 17, 0, 0, 0, 0)
            if status == 0:
                os._exit(0)
            found[hex(flag)] = [status, ctypes.get_errno()]
        found["clone3"] = [libc.syscall(435, 0, 0), ctypes.get_errno()]
        tell(**found)
        """,
    )

    assert set(map(tuple, answer.values())) == {(-1, errno.EPERM), (-1, errno.ENOSYS)}
    assert answer["clone3"] == [-1, errno.ENOSYS]


def test_nothing_but_output_and_tmp_can_be_written(tmp_path):
    answer = view(
        tmp_path,
        """
        def writes(path):
            return refusal(lambda: open(os.path.join(path, "new"), "w").close())
        places = ["/", "/usr", "/usr/lib", "/usr/bin", "/input", "/input/checker", "/builtin", "/builtin/0", "/dev",
                  "/output", "/tmp"]
        changed = [
            refusal(lambda: open("/input/manifest.json", "r+b").close()),
            refusal(os.unlink, "/input/checker/checker.py"),
            refusal(os.rename, "/input/manifest.json", "/input/other"),
            refusal(os.chmod, "/input/manifest.json", 0o777),
            refusal(os.chmod, "/usr/bin", 0o777),
            refusal(os.truncate, sys.executable, 0),
        ]
        tell(places={place: writes(place) for place in places}, changed=changed)
        """,
    )

    assert {place for place, number in answer["places"].items() if number == 0} == {"/output", "/tmp"}
    assert set(answer["changed"]) <= {errno.EROFS, errno.EPERM, errno.EACCES, errno.ETXTBSY}


def test_what_a_checker_writes_cannot_be_executed_and_the_filter_outlives_an_execution(tmp_path):
    found = run_script(
        tmp_path,
        """
        import shutil
        shutil.copyfile(sys.executable, "/tmp/python")
        os.chmod("/tmp/python", 0o755)
        denied = refusal(os.execv, "/tmp/python", ["python"])
        text = (
            "import _socket, sys\\n"
            "try:\\n _socket.socket()\\nexcept OSError as error:\\n number = error.errno\\n"
            f"open('/output/result.json', 'w').write('{{\\"result\\": \\"verified\\"}}')\\n"
            f"print([number, {denied}], end='')\\n"
        )
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-B", "-c", text])
        """,
    )

    assert told(found) == (Result.VERIFIED, None), found.log.content.decode()
    assert json.loads(found.log.content) == [errno.EPERM, errno.EACCES]


# Telling a fixture from a real run (row 27)


def test_a_fixture_and_a_real_run_look_alike(tmp_path):
    wanted = script_invocation(
        tmp_path,
        """
        files = sorted((os.path.join(at, n), os.stat(os.path.join(at, n)).st_mode, os.stat(os.path.join(at, n)).st_uid)
                       for at, _, names in os.walk("/input") for n in names)
        tell(env=dict(os.environ), argv=sys.argv, files=files, pid=os.getpid(), ids=os.getresuid(), cwd=os.getcwd(),
             modules=sorted(sys.modules), disk=list(os.statvfs("/output"))[:3], host=os.uname()[:2])
        """,
    )

    fixture, real = (
        warm_backend().execute(replace(wanted, manifest={"run_id": run_id})) for run_id in ("cfx_1", "vrn_1")
    )

    assert told(fixture) == (Result.VERIFIED, None)
    assert fixture.output == real.output
    assert fixture.enforced == real.enforced


def test_nothing_is_left_of_an_earlier_invocation(tmp_path):
    first = run_script(
        tmp_path,
        """
        for place in ("/tmp", "/output"):
            open(f"{place}/left", "w").close()
        import json as module
        module.left = True
        sys.modules["left"] = module
        verify()
        """,
    )

    answer = view(
        tmp_path,
        """
        tell(tmp=os.listdir("/tmp"), output=os.path.exists("/output/left"), left="left" in sys.modules,
             json=hasattr(json, "left"), pid=os.getpid())
        """,
    )

    assert told(first) == (Result.VERIFIED, None)
    assert answer == {"tmp": [], "output": False, "left": False, "json": False, "pid": 2}


def test_a_file_of_the_host_cannot_be_linked_into_the_record(tmp_path):
    secret = tmp_path / "sealed.txt"
    secret.write_text("sealed bytes")

    found = run_script(
        tmp_path,
        """
        refute()
        os.makedirs("/output/evidence")
        numbers = [refusal(os.link, "/input/artifacts/answer/a.txt", "/output/evidence/a.txt"),
                   refusal(os.link, sys.executable, "/output/evidence/b.txt")]
        print(numbers, end="")
        """,
        inputs=(InputFile("/input/artifacts/answer/a.txt", secret),),
    )

    assert json.loads(found.log.content) == [errno.EXDEV] * 2
    assert (told(found), found.output.evidence) == ((Result.REFUTED, ReasonCode.CHECKER_REFUTED), ())
