"""The rules over an Implementation and the Contract it serves (invariant 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from verification.engine.documents import Finding, capped, shown, validate_document
from verification.engine.hashes import implementation_content_hash

_SCRIPT_RUNTIME: Final = "tfp-runtime/"


def implementation_findings(contract: Mapping[str, Any], implementation: object) -> list[Finding]:
    """Every rule that an Implementation breaks by itself; empty when it may be registered.

    That `limits.network` is none, and the bounds of the other limits, are part of the shape.

    Args:
        contract: one without findings.
        implementation: any value; where its shape is wrong, only the shape is reported.
    """
    findings = validate_document("verifier-implementation", implementation)
    if findings:
        return findings
    assert isinstance(implementation, dict)
    return capped(_rule_findings(contract, implementation))


def _rule_findings(contract: Mapping[str, Any], implementation: Mapping[str, Any]) -> Iterator[Finding]:
    kinds = {stage["key"]: stage["kind"] for stage in contract["stages"]}
    kind = kinds.get(implementation["stage_key"])
    if kind is None:
        message = f"expected a stage of the Contract, found {shown(implementation['stage_key'])}"
        yield Finding("stage_unknown", "/stage_key", message)
    elif kind != "sandbox":
        message = f"expected a sandbox stage, found the {kind} stage {shown(implementation['stage_key'])}"
        yield Finding("stage_not_sandbox", "/stage_key", message)
    is_script = implementation["runtime"]["image_ref"].startswith(_SCRIPT_RUNTIME)
    if is_script and implementation["program"] is None:
        yield Finding("program_missing", "/program", "expected the script that this runtime executes; add its program")
    if not is_script and implementation["program"] is not None:
        message = "expected null: only a script runtime executes a program; name a runtime, or remove the program"
        yield Finding("program_unexpected", "/program", message)
    stated = implementation.get("content_hash")
    if stated is not None and stated != implementation_content_hash(implementation):
        message = f"expected {implementation_content_hash(implementation)}, which this text hashes to; found {stated}"
        yield Finding("content_hash_mismatch", "/content_hash", message)
