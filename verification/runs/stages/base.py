"""What a stage executor is given and what it may answer; the table of executors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from verification.contracts.models import ContractStage
from verification.engine.reasons import ReasonCode, Result
from verification.runs.models import VerificationRun


@dataclass(frozen=True)
class SandboxMechanism:
    """The platform ran an Implementation."""

    implementation_id: str
    implementation_content_hash: str
    fixture_set_id: int
    image_digest: str
    backend: str

    def columns(self) -> dict[str, object]:
        """The columns of the stage result that this mechanism fills."""
        return dict(vars(self))


@dataclass(frozen=True)
class ReviewMechanism:
    """People or agents decided under a protocol."""

    review_process_id: str
    review_protocol_id: str
    protocol_hash: str
    casefile_hash: str
    review_evidence_hash: str

    def columns(self) -> dict[str, object]:
        """The columns of the stage result that this mechanism fills."""
        return dict(vars(self))


@dataclass(frozen=True)
class ExternalMechanism:
    """An outside system or institution answered."""

    external_system: str
    durable_reference: str
    rule_owner: str
    external_evidence_hash: str
    attested_by_id: str
    attested_at: datetime

    def columns(self) -> dict[str, object]:
        """The columns of the stage result that this mechanism fills."""
        return dict(vars(self))


Mechanism = SandboxMechanism | ReviewMechanism | ExternalMechanism


@dataclass(frozen=True)
class StageOutputs:
    """Everything a stage put out; protected as a whole or not at all. Times in seconds, sizes in bytes."""

    started_at: datetime
    reason_code: ReasonCode | None = None
    findings: Sequence[Any] = ()
    exit_code: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    score: float | None = None
    summary: Any = None
    enforced: frozenset[str] = frozenset()
    log_content: bytes = b""
    log_size_bytes: int = 0
    log_truncated: bool = False
    evidence_digest: str | None = None
    evidence: Sequence[tuple[str, bytes]] = ()


@dataclass(frozen=True)
class StageDone:
    """The stage came to a result."""

    stage_id: int
    stage_key: str
    position: int
    kind: str
    result: Result
    mechanism: Mechanism
    output: StageOutputs
    is_protected: bool = False


@dataclass(frozen=True)
class StageWaits:
    """The stage cannot go on before something happens; who makes it happen wakes the run."""

    waiting_for: str
    subject: str
    bound: timedelta


@dataclass(frozen=True)
class StageUnavailable:
    """Nothing here can carry out the stage; `detail` names what is missing."""

    detail: str


StageAnswer = StageDone | StageWaits | StageUnavailable


@dataclass(frozen=True)
class StageContext:
    """One claimed run at one of its stages."""

    run: VerificationRun
    stage: ContractStage
    stages: Sequence[ContractStage]
    position: int
    # Copies of the input bytes, by content hash, all in `folder`.
    inputs: Mapping[str, Path]
    folder: Path
    prior_results: Sequence[tuple[str, str, str]]
    # Notes that the stage starts and may take so many seconds; the moment of its start.
    begin: Callable[[int], datetime]
    is_cancelled: Callable[[], bool]


class StageExecutor(Protocol):
    """One kind of stage."""

    def validate_at_publication(self, stage: ContractStage) -> list[str]:
        """Why a Contract with this stage may not be published; empty when it may."""
        ...

    def start(self, context: StageContext) -> StageAnswer:
        """Carry the stage out, or say what it waits for or lacks."""
        ...

    def is_ready(self, stage: ContractStage) -> bool:
        """True if a run that waits at this stage could go on now."""
        ...

    def cancel(self, run: VerificationRun, stage: ContractStage) -> None:
        """Close whatever the stage has opened for a run that is withdrawn."""
        ...

    def waiting_text(self, stage: ContractStage) -> str:
        """What a page says while a run waits at this stage."""
        ...


_executors: dict[str, StageExecutor] = {}


def register_executor(kind: str, executor: StageExecutor) -> None:
    """Enter the executor of one kind of stage, at start-up."""
    _executors[kind] = executor


def executor_of(kind: str) -> StageExecutor | None:
    """The executor of that kind, or None where this deployment has none."""
    return _executors.get(kind)
