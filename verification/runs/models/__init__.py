"""Runs and everything that is written down about them."""

from verification.runs.models.output import EvidenceFile, LogRedaction, ProtectedOutput, StageOutput
from verification.runs.models.run import (
    Revocation,
    RunArtifact,
    RunEvent,
    RunExecution,
    RunMode,
    RunReference,
    RunStatus,
    RunTrigger,
    SweepTally,
    VerificationRun,
)
from verification.runs.models.stage import StageResult

__all__ = [
    "EvidenceFile",
    "LogRedaction",
    "ProtectedOutput",
    "Revocation",
    "RunArtifact",
    "RunEvent",
    "RunExecution",
    "RunMode",
    "RunReference",
    "RunStatus",
    "RunTrigger",
    "StageOutput",
    "StageResult",
    "SweepTally",
    "VerificationRun",
]
