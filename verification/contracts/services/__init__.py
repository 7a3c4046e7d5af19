"""Every write of Verifiers, Contracts, fixtures, Implementations and conformance."""

from verification.contracts.services.conformance import claim_conformance, execute_conformance
from verification.contracts.services.publishing import (
    ContractRefused,
    add_fixture,
    create_verifier,
    publish_contract,
    publish_implementation,
)
from verification.contracts.services.validation import validate_reference

__all__ = [
    "ContractRefused",
    "add_fixture",
    "claim_conformance",
    "create_verifier",
    "execute_conformance",
    "publish_contract",
    "publish_implementation",
    "validate_reference",
]
