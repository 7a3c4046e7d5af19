"""Sandbox backends that misbehave or take notes: the outside of the platform, played by the test."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.test import override_settings

from verification.contracts.execution import backends
from verification.engine.reasons import ReasonCode
from verification.engine.sandbox.base import BackendUnavailable, Execution, Invocation, Log, OutputTree
from verification.engine.sandbox.process import ProcessBackend

Answer = Callable[[Invocation], Execution]


class ScriptedBackend:
    """Answers what the test told it to and keeps every invocation; by default it really executes the checker."""

    name = "process"
    answer: Answer | None = None
    invocations: list[Invocation] = []

    def supports(self, image_digest: str) -> bool:
        """True for whatever the process backend supports."""
        return ProcessBackend().supports(image_digest)

    def execute(self, invocation: Invocation) -> Execution:
        """The scripted answer, or the real one."""
        type(self).invocations.append(invocation)
        answer = type(self).answer or ProcessBackend().execute
        return answer(invocation)


@contextmanager
def scripted_backend(answer: Answer | None = None) -> Iterator[list[Invocation]]:
    """This process executes everything on a backend that answers so; yields what it was asked."""
    ScriptedBackend.answer, ScriptedBackend.invocations = staticmethod(answer) if answer else None, []
    with override_settings(TFP_SANDBOX_BACKENDS=["tests.factories.backends.ScriptedBackend"]):
        backends.cache_clear()
        try:
            yield ScriptedBackend.invocations
        finally:
            backends.cache_clear()


def execution(result: bytes | None = b'{"result": "verified"}', **changes: Any) -> Execution:
    """An execution that ended by itself and left this result file."""
    plain = Execution(
        exit_code=0,
        signal=None,
        limit=None,
        log=Log(),
        output=OutputTree(result=result),
        wall_s=0.01,
        cpu_s=0.01,
        peak_memory_bytes=1_000_000,
        backend="process",
        enforced=frozenset(),
    )
    return dataclasses.replace(plain, **changes)


def crash(_invocation: Invocation) -> Execution:
    """The checker died of a segmentation fault."""
    return execution(None, exit_code=None, signal=11)


def unavailable(_invocation: Invocation) -> Execution:
    """The machinery failed before any checker started."""
    raise BackendUnavailable("no runner answers")


def out_of_time(_invocation: Invocation) -> Execution:
    """The time limit ended the checker."""
    return execution(None, exit_code=None, limit=ReasonCode.LIMIT_TIME)
