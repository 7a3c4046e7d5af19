"""Verifiers, their Contracts, the fixtures and Implementations under them, and what conformance found."""

from verification.contracts.models.conformance import (
    ConformanceRecord,
    ConformanceRun,
    ConformanceStatus,
    FixtureSet,
    ReferenceAcceptance,
)
from verification.contracts.models.contract import (
    ArtifactRole,
    ContractStage,
    ReferenceSlot,
    StageSlot,
    Verifier,
    VerifierContract,
)
from verification.contracts.models.fixture import ConformanceFixture, FixtureFile
from verification.contracts.models.implementation import VerifierImplementation

__all__ = [
    "ArtifactRole",
    "ConformanceFixture",
    "ConformanceRecord",
    "ConformanceRun",
    "ConformanceStatus",
    "ContractStage",
    "FixtureFile",
    "FixtureSet",
    "ReferenceAcceptance",
    "ReferenceSlot",
    "StageSlot",
    "Verifier",
    "VerifierContract",
    "VerifierImplementation",
]
