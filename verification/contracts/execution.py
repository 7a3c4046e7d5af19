"""From stored bytes to a sandbox and back: what conformance, reference validation and real runs do alike."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from blobs.services import BytesDiffer, BytesGone, copy_verified
from verification.contracts.documents import NORMATIVE_RELATIONS
from verification.contracts.models import VerifierContract, VerifierImplementation
from verification.engine.checkers.registry import BUILTINS
from verification.engine.manifest import CHECKER_PATH
from verification.engine.outcome import StageExpectation
from verification.engine.sandbox.base import (
    Backend,
    Execution,
    InputFile,
    Invocation,
    Limits,
    ProgramMissing,
    select,
)
from verification.engine.sandbox.scratch import scratch_directory


@lru_cache(maxsize=1)
def backends() -> tuple[Backend, ...]:
    """The sandbox backends of this worker, in the order in which they are tried."""
    return tuple(import_string(path)() for path in settings.TFP_SANDBOX_BACKENDS)


@lru_cache(maxsize=64)
def frozen_contract(contract_id: str) -> VerifierContract:
    """A published Contract with its plan, kept by this process: publication froze every row of it.

    A yank and the fixtures still move; ask the database for those.
    """
    contracts = VerifierContract.objects.prefetch_related(*NORMATIVE_RELATIONS)
    return contracts.get(pk=contract_id, published_at__isnull=False)


@contextmanager
def input_folder() -> Iterator[Path]:
    """A private folder for one execution's inputs, gone with the block, or with the next worker if this one dies."""
    with scratch_directory(Path(tempfile.gettempdir())) as folder:
        yield folder


def place_bytes(folder: Path, content_hash: str, *, size_bytes: int) -> Path:
    """A copy of the stored bytes in `folder`, every byte hashed on the way.

    Raises:
        BytesGone, BytesDiffer: see `blobs.services.copy_verified`.
    """
    target = folder / content_hash.removeprefix("sha256:")
    if not target.exists():
        draft = target.with_suffix(".draft")
        with draft.open("xb") as file:
            copy_verified(content_hash, size_bytes=size_bytes, target=file)
        draft.rename(target)
    return target


def limits_of(implementation: VerifierImplementation) -> Limits:
    """The Implementation's limits as the sandbox takes them."""
    return Limits(
        vcpu=implementation.vcpu,
        memory_mb=implementation.memory_mb,
        disk_mb=implementation.disk_mb,
        timeout_seconds=implementation.timeout_seconds,
        pids=implementation.pids,
    )


def expectation_of(contract: VerifierContract, *, result_kind: str, evidence_schema: Any) -> StageExpectation:
    """What the Contract says about reading a stage's outcome; `result_kind` is the stage's effective kind."""
    return StageExpectation(
        result_kind="score" if result_kind == "score" else "pass_fail",
        score_min=contract.score_minimum,
        score_max=contract.score_maximum,
        evidence_schema=evidence_schema,
    )


def execute(
    *,
    implementation: VerifierImplementation,
    manifest: Mapping[str, Any],
    inputs: Sequence[InputFile],
    folder: Path,
    is_cancelled: Callable[[], bool] | None = None,
) -> Execution:
    """What happened when the Implementation ran on these inputs.

    Raises:
        SandboxFailure: the machinery failed; never a verdict.
        Cancelled: `is_cancelled` said so.
    """
    program = None
    if implementation.program is not None:
        try:
            source = place_bytes(
                folder, implementation.program.content_hash, size_bytes=implementation.program.size_bytes
            )
        except (BytesGone, BytesDiffer) as gone:
            raise ProgramMissing(str(gone)) from gone
        program = InputFile(mount=CHECKER_PATH, source=source)
    invocation = Invocation(
        manifest=manifest,
        inputs=tuple(inputs),
        image_digest=implementation.image_digest,
        limits=limits_of(implementation),
        program=program,
        is_cancelled=is_cancelled,
    )
    return select(backends(), implementation.image_digest).execute(invocation)


def builtin_digest(name: str) -> str:
    """The digest of the builtin of that name as it is installed here.

    Raises:
        KeyError: the platform ships no such builtin.
    """
    return BUILTINS[name].image_digest
