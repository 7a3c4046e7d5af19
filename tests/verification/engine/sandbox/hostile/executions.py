"""How tests run one behaviour of `behaviours.py` in a backend that knows only this checker."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from verification.engine.checkers.registry import Builtin
from verification.engine.sandbox.base import Execution, InputFile, Invocation, Limits
from verification.engine.sandbox.process import ProcessBackend

HERE = Path(__file__).parent
BEHAVIOURS = Builtin("behaviours", 1, "behaviours", ("behaviours.py",), root=HERE)
LIMITS = Limits(vcpu=1, memory_mb=512, disk_mb=32, timeout_seconds=60, pids=64)


def invocation(tmp_path: Path, behaviour: str, *words: object, **limits: int) -> Invocation:
    script = tmp_path / "script"
    script.write_text("\n".join([behaviour, *map(str, words)]), encoding="utf-8")
    return Invocation(
        manifest={"run_id": "cfx_test"},
        inputs=(InputFile("/input/artifacts/script/script.txt", script),),
        image_digest=BEHAVIOURS.image_digest,
        limits=replace(LIMITS, **limits),
    )


def backend(tmp_path: Path) -> ProcessBackend:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return ProcessBackend([BEHAVIOURS], scratch_root=scratch)


def execute(
    tmp_path: Path, behaviour: str, *words: object, is_cancelled: Callable[[], bool] | None = None, **limits: int
) -> Execution:
    wanted = replace(invocation(tmp_path, behaviour, *words, **limits), is_cancelled=is_cancelled)
    return backend(tmp_path).execute(wanted)


def is_alive(pid: int) -> bool:
    """True if the process exists and is no zombie that only waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int, *, within_s: float = 10.0) -> bool:
    """True once the process is gone; the time only bounds a failing test."""
    give_up_at = time.monotonic() + within_s
    while time.monotonic() < give_up_at:
        if not is_alive(pid):
            return True
        time.sleep(0.01)
    return False


def processes_of_session(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found
