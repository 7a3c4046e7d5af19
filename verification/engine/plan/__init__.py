"""The rules over a whole contract, its implementations and bindings, as far as they need no database."""

from verification.engine.plan.addresses import is_https_url
from verification.engine.plan.bindings import binding_findings
from verification.engine.plan.contracts import contract_findings, protocol_findings
from verification.engine.plan.implementations import implementation_findings
from verification.engine.plan.requirements import OfferedArtifact, bare_media_type, unmet_requirement
from verification.engine.plan.stages import effective_result_kind, is_protected, sealed_slots, selected_slots

__all__ = [
    "OfferedArtifact",
    "bare_media_type",
    "binding_findings",
    "contract_findings",
    "effective_result_kind",
    "implementation_findings",
    "is_https_url",
    "is_protected",
    "protocol_findings",
    "sealed_slots",
    "selected_slots",
    "unmet_requirement",
]
