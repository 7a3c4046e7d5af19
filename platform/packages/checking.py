"""Everything that is wrong with a package as far as no database has to tell, listed at once."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blobs.services import CHUNK_BYTES
from packages.reading import LINK_SUFFIX, Package, PackageFinding
from verification.engine.checkers.registry import BUILTIN_PREFIX, BUILTINS
from verification.engine.documents import Finding, validate_document
from verification.engine.plan import contract_findings, implementation_findings

FOLDERS = ("protocols", "implementations", "checker", "reference", "fixtures")
FILES = ("problem.json", "statement.md", "verifier.json", "contract.json", "skill.md", "requirements.json")


class RuntimeUnknown(Exception):
    """The package names a runtime that this deployment does not enable."""


def package_findings(package: Package) -> list[PackageFinding]:
    """Every rule that the package breaks; empty when its import may be tried."""
    findings = list(_stray_files(package))
    if package.contract is not None:
        found = contract_findings(package.contract)
        findings += [PackageFinding("contract.json", finding) for finding in found]
        findings += _fixture_findings(package)
        # Under a broken plan an Implementation is judged by its own form alone.
        plan = None if found else package.contract
        for stage_key, source in package.implementations.items():
            file = f"implementations/{stage_key}.json"
            findings += [PackageFinding(file, finding) for finding in _implementation_findings(plan, stage_key, source)]
    return findings + list(_binding_findings(package))


def implementation_document(stage_key: str, source: dict[str, Any]) -> dict[str, Any]:
    """A registered document from the package's: the runtime's name becomes the digest that it stands for here.

    Raises:
        RuntimeUnknown: no runtime of that name is enabled here.
    """
    runtime = source.get("runtime")
    if isinstance(runtime, str):
        runtime = {"image_ref": runtime, "image_digest": _digest_of(runtime)}
    return {
        "schema": "tfp.verifier-implementation/v1",
        "stage_key": stage_key,
        "runtime": runtime,
        "program": source.get("program"),
        "limits": source.get("limits"),
        "source": source.get("source"),
    }


def chunks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a plain file, never through a link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _digest_of(runtime: str) -> str:
    name, _, version = runtime.removeprefix(BUILTIN_PREFIX).partition(":")
    builtin = BUILTINS.get(name) if runtime.startswith(BUILTIN_PREFIX) else None
    if builtin is None or version != str(builtin.version):
        raise RuntimeUnknown(f"No runtime of the name {runtime!r:.80} is enabled here.")
    return builtin.image_digest


def _stray_files(package: Package) -> Iterator[PackageFinding]:
    for name in package.files:
        if name not in FILES and name.partition("/")[0] not in FOLDERS:
            yield PackageFinding(name, Finding("file_unknown", "", "A package has no place for this file; remove it."))


def _fixture_findings(package: Package) -> Iterator[PackageFinding]:
    """Fixture bytes that are missing, or not what contract.json states of them."""
    assert package.contract is not None
    for place, fixture in enumerate(package.contract["conformance_fixtures"]):
        for member in ("reference", "artifacts"):
            for key, stated in fixture[member].items():
                pointer = f"/conformance_fixtures/{place}/{member}/{key}"
                path = package.fixture_file(fixture["key"], member, key)
                if path is None:
                    message = f"Add the bytes as fixtures/{fixture['key']}/{member}/{key}."
                    yield PackageFinding("contract.json", Finding("bytes_missing", pointer, message))
                    continue
                digest, size_bytes = hashlib.sha256(), 0
                for chunk in chunks_of(path):
                    digest.update(chunk)
                    size_bytes += len(chunk)
                found = f"sha256:{digest.hexdigest()}"
                if (found, size_bytes) != (stated["content_hash"], stated["size_bytes"]):
                    message = f"The file is {found}, {size_bytes} bytes; state that, or mend the file."
                    yield PackageFinding("contract.json", Finding("bytes_differ", pointer, message))


def _implementation_findings(contract: dict[str, Any] | None, stage_key: str, source: dict[str, Any]) -> list[Finding]:
    try:
        document = implementation_document(stage_key, source)
    except RuntimeUnknown as unknown:
        return [Finding("runtime_unknown", "/runtime", str(unknown))]
    found = validate_document("verifier-implementation", document)
    return found or ([] if contract is None else implementation_findings(contract, document))


def _binding_findings(package: Package) -> Iterator[PackageFinding]:
    slots = set() if package.contract is None else {slot["key"] for slot in package.contract["reference_inputs"]}
    files = package.reference_files()
    for key, suffix in [*((key, "") for key in files), *((key, LINK_SUFFIX) for key in package.links)]:
        if key not in slots:
            message = "The Contract has no slot of this name; rename or remove the file."
            yield PackageFinding(f"reference/{key}{suffix}", Finding("slot_unknown", "", message))
    for key in files.keys() & package.links.keys():
        message = "Bind the slot by bytes or by link, not both."
        yield PackageFinding(f"reference/{key}", Finding("slot_twice", "", message))
