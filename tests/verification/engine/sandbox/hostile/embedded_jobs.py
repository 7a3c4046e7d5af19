"""How tests run a script checker, given as text, in the `embedded` backend."""

import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from verification.engine.outcome import StageExpectation, interpret
from verification.engine.reasons import ReasonCode, Result
from verification.engine.sandbox.base import Execution, InputFile, Invocation, Limits
from verification.engine.sandbox.embedded.backend import EmbeddedBackend
from verification.engine.sandbox.images import Runtime, build_runtime, default_runtimes_root, runtimes_in

LIMITS = Limits(vcpu=1, memory_mb=256, disk_mb=16, timeout_seconds=60, pids=32)

# What every script of the tests starts with.
PREAMBLE = """
import json, os, sys, time

def verify():
    with open("/output/result.json", "w") as file:
        file.write('{"result": "verified"}')

def refute():
    with open("/output/result.json", "w") as file:
        file.write('{"result": "refuted"}')

def tell(**found):
    os.makedirs("/output/evidence", exist_ok=True)
    with open("/output/evidence/told.json", "w") as file:
        json.dump(found, file)
    verify()

def refusal(action, *arguments, **named):
    try:
        action(*arguments, **named)
    except OSError as error:
        return error.errno
    return 0
"""


@lru_cache(maxsize=1)
def runtime() -> Runtime:
    """The runtime of this machine's Python, built once and kept."""
    present = [found for found in runtimes_in(default_runtimes_root()).values() if found.is_development]
    return present[0] if present else build_runtime(default_runtimes_root())


@lru_cache(maxsize=1)
def warm_backend() -> EmbeddedBackend:
    runtime()
    return EmbeddedBackend()


def script_invocation(folder: Path, script: str, *, inputs: tuple[InputFile, ...] = (), **limits: int) -> Invocation:
    path = folder / "checker.py"
    path.write_text(PREAMBLE + textwrap.dedent(script), encoding="utf-8")
    return Invocation(
        manifest={"run_id": "cfx_test"},
        inputs=inputs,
        image_digest=runtime().image_digest,
        limits=replace(LIMITS, **limits),
        program=InputFile("/input/checker/checker.py", path),
    )


def run_script(
    folder: Path,
    script: str,
    *,
    backend: EmbeddedBackend | None = None,
    is_cancelled: Callable[[], bool] | None = None,
    inputs: tuple[InputFile, ...] = (),
    **limits: int,
) -> Execution:
    wanted = replace(script_invocation(folder, script, inputs=inputs, **limits), is_cancelled=is_cancelled)
    return (backend or warm_backend()).execute(wanted)


def told(found: Execution) -> tuple[Result, ReasonCode | None]:
    outcome = interpret(found, StageExpectation("pass_fail"))
    return outcome.result, outcome.reason_code


def children(pid: int) -> list[int]:
    """Every process below this one, as the host sees them."""
    found, pending = [], [pid]
    while pending:
        try:
            for task in Path(f"/proc/{pending.pop()}/task").iterdir():
                below = [int(text) for text in (task / "children").read_text(encoding="ascii").split()]
                found += below
                pending += below
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def settles(number: Callable[[], int], wanted: int) -> bool:
    """True once it is so: the keeper of the next job is forked while we look. The time only bounds a failing test."""
    give_up_at = time.monotonic() + 10
    while number() != wanted and time.monotonic() < give_up_at:
        time.sleep(0.01)
    return number() == wanted


def slots_at_rest() -> Callable[[], int]:
    """Counts the processes of the warm backend's slots; at rest each has its zygote and the next job's keeper."""
    launchers = [slot._launcher.pid for slot in warm_backend()._idle]

    def count() -> int:
        return sum(len(children(launcher)) for launcher in launchers)

    assert settles(count, 2 * len(launchers))
    return count
