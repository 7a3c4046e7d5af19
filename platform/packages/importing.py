"""Importing a package: Verifier by name, Contract by normative hash, then a draft revision with its bindings."""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from django.db import transaction

from accounts.models import User
from blobs.services import CHUNK_BYTES, StagedBytes, end_hold, hold_staged, stage_bytes
from packages.reading import LINK_SUFFIX, MAX_FILE_BYTES, Package, PackageFinding, PackageRefused
from problems.models import Problem, ProblemRevision
from problems.services import BindingRefused, bind_link, bind_stored, create_problem, create_skill, draft_revision
from reviews.services import publish_protocol
from verification.contracts.models import Verifier, VerifierContract
from verification.contracts.services import (
    ContractRefused,
    create_verifier,
    publish_contract,
    publish_implementation,
)
from verification.engine.checkers.registry import BUILTINS
from verification.engine.documents import Finding

BUILTIN_PREFIX = "tfp-builtin/"
POLICIES = ("results_visibility", "artifacts_visibility", "quota_per_day", "opens_at", "closes_at")


@dataclass(frozen=True)
class ImportedPackage:
    """What an import made or found."""

    problem: Problem
    revision: ProblemRevision
    contract: VerifierContract | None
    digests: dict[str, str]


def import_package(*, package: Package, author: User, at: datetime) -> ImportedPackage:
    """A draft revision of the package's Problem; everything is written, or nothing.

    Raises:
        PackageRefused: with every finding.
    """
    with ExitStack() as stack, transaction.atomic():
        contract, digests = None, dict[str, str]()
        if package.contract is not None and package.verifier is not None:
            contract = _import_contract(stack, package, author, at)
            digests = _import_implementations(package, contract, author, at)
        problem = _problem(package, author, at)
        skill = None
        if package.skill_md is not None:
            skill = create_skill(title=f"How to check “{problem.title}”"[:200], body_md=package.skill_md, at=at)
        revision = draft_revision(
            problem=problem,
            statement_md=package.statement_md,
            contract=contract,
            skill=skill,
            author=author,
            at=at,
        )
        _bind(stack, package, revision, contract, at)
    return ImportedPackage(problem, revision, contract, digests)


def _problem(package: Package, author: User, at: datetime) -> Problem:
    document = package.problem
    existing = Problem.objects.filter(slug=document["slug"]).first()
    if existing is not None:
        if not existing.managers.filter(pk=author.pk).exists():
            _refuse("problem.json", "slug_taken", "/slug", "A Problem of other managers has this slug; choose another.")
        return existing
    policies = {name: document["policies"][name] for name in POLICIES if name in document["policies"]}
    for moment in ("opens_at", "closes_at"):
        if policies.get(moment):
            policies[moment] = _moment(policies[moment], f"/policies/{moment}")
    if policies.get("opens_at") and policies.get("closes_at") and policies["opens_at"] >= policies["closes_at"]:
        _refuse("problem.json", "window_order", "/policies/closes_at", "Expected an end after the beginning.")
    return create_problem(
        slug=document["slug"],
        title=document["title"],
        summary=document["summary"],
        manager=author,
        at=at,
        policies=policies,
    )


def _moment(text: str, pointer: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise _refused("problem.json", "no_such_moment", pointer, f"There is no {text}; correct the date.") from None


def _import_contract(stack: ExitStack, package: Package, author: User, at: datetime) -> VerifierContract:
    assert package.verifier is not None
    assert package.contract is not None
    owner, _, name = package.verifier["name"].removeprefix("@").partition("/")
    verifier = Verifier.objects.filter(owner=owner, name=name).first()
    if verifier is None:
        verifier = create_verifier(
            owner=owner, name=name, description_md=package.verifier["description"], author=author, at=at
        )
    for content in package.protocols.values():
        publish_protocol(content=content, author=author, at=at)
    staged = _stage_fixtures(stack, package)
    import_key = secrets.token_hex(16)
    for fixture in package.contract["conformance_fixtures"]:
        for member in ("reference", "artifacts"):
            for key in fixture[member]:
                _keep(staged[fixture["key"], member, key], import_key, at)
    try:
        contract = publish_contract(verifier=verifier, document=package.contract, author=author, at=at)
    except ContractRefused as refused:
        raise PackageRefused([PackageFinding("contract.json", f) for f in refused.findings]) from refused
    for bytes_ in staged.values():
        _let_go(bytes_, import_key, at)
    return contract


def _stage_fixtures(stack: ExitStack, package: Package) -> dict[tuple[str, str, str], StagedBytes]:
    """The fixtures' bytes, compared with what contract.json states of them."""
    assert package.contract is not None
    staged, findings = {}, []
    for place, fixture in enumerate(package.contract["conformance_fixtures"]):
        for member in ("reference", "artifacts"):
            for key, stated in fixture[member].items():
                pointer = f"/conformance_fixtures/{place}/{member}/{key}"
                path = package.fixture_file(fixture["key"], member, key)
                if path is None:
                    message = f"Add the bytes as fixtures/{fixture['key']}/{member}/{key}."
                    findings.append(PackageFinding("contract.json", Finding("bytes_missing", pointer, message)))
                    continue
                found = stack.enter_context(stage_bytes(_chunks(path), max_bytes=MAX_FILE_BYTES))
                staged[fixture["key"], member, key] = found
                if (found.content_hash, found.size_bytes) != (stated["content_hash"], stated["size_bytes"]):
                    message = (
                        f"The file is {found.content_hash}, {found.size_bytes} bytes; state that, or mend the file."
                    )
                    findings.append(PackageFinding("contract.json", Finding("bytes_differ", pointer, message)))
    if findings:
        raise PackageRefused(findings)
    return staged


def _import_implementations(package: Package, contract: VerifierContract, author: User, at: datetime) -> dict[str, str]:
    """Publish each Implementation; the digest that each runtime name stands for here, by stage."""
    digests, findings = {}, []
    for stage_key, source in package.implementations.items():
        file = f"implementations/{stage_key}.json"
        try:
            document = _implementation_document(stage_key, source)
            publish_implementation(contract=contract, document=document, author=author, at=at)
            digests[stage_key] = document["runtime"]["image_digest"]
        except ContractRefused as refused:
            findings += [PackageFinding(file, finding) for finding in refused.findings]
        except KeyError as missing:
            finding = Finding("member_missing", f"/{missing.args[0]}", "Expected runtime, limits and source.")
            findings.append(PackageFinding(file, finding))
    if findings:
        raise PackageRefused(findings)
    return digests


def _implementation_document(stage_key: str, source: dict[str, Any]) -> dict[str, Any]:
    """A registered document from the package's: the runtime's name becomes the digest that it stands for here."""
    runtime = source["runtime"]
    if isinstance(runtime, str):
        runtime = {"image_ref": runtime, "image_digest": _digest_of(runtime)}
    return {
        "schema": "tfp.verifier-implementation/v1",
        "stage_key": stage_key,
        "runtime": runtime,
        "program": source.get("program"),
        "limits": source["limits"],
        "source": source["source"],
    }


def _digest_of(runtime: str) -> str:
    name, _, version = runtime.removeprefix(BUILTIN_PREFIX).partition(":")
    builtin = BUILTINS.get(name) if runtime.startswith(BUILTIN_PREFIX) else None
    if builtin is None or version != str(builtin.version):
        message = f"No runtime of the name {runtime!r:.80} is enabled here."
        raise ContractRefused([Finding("runtime_unknown", "/runtime", message)])
    return builtin.image_digest


def _bind(
    stack: ExitStack, package: Package, revision: ProblemRevision, contract: VerifierContract | None, at: datetime
) -> None:
    slots = {} if contract is None else {slot.key: slot for slot in contract.slots.all()}
    files, links = package.reference_files(), package.links
    findings = [
        PackageFinding(f"reference/{key}", Finding("slot_unknown", "", "The Contract has no slot of this name."))
        for key in (*files, *links)
        if key not in slots
    ]
    findings += [
        PackageFinding(f"reference/{key}", Finding("slot_twice", "", "Bind the slot by bytes or by link, not both."))
        for key in files.keys() & links.keys()
    ]
    if findings:
        raise PackageRefused(findings)
    for key, path in files.items():
        slot = slots[key]
        staged = stack.enter_context(stage_bytes(_chunks(path), max_bytes=MAX_FILE_BYTES))
        bind_stored(revision=revision, slot=slot, staged=staged, media_type=slot.media_types[0], filename=key, at=at)
    for key, link in links.items():
        try:
            bind_link(revision=revision, slot=slots[key], at=at, **vars(link))
        except BindingRefused as refused:
            findings += [PackageFinding(f"reference/{key}{LINK_SUFFIX}", finding) for finding in refused.findings]
    if findings:
        raise PackageRefused(findings)


def _keep(staged: StagedBytes, import_key: str, at: datetime) -> None:
    hold_staged(staged=staged, holder_kind="import", holder_id=import_key, at=at)


def _let_go(staged: StagedBytes, import_key: str, at: datetime) -> None:
    end_hold(content_hash=staged.content_hash, holder_kind="import", holder_id=import_key, at=at)


def _chunks(path: Path) -> Iterator[bytes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _refuse(file: str, code: str, pointer: str, message: str) -> NoReturn:
    raise _refused(file, code, pointer, message)


def _refused(file: str, code: str, pointer: str, message: str) -> PackageRefused:
    return PackageRefused([PackageFinding(file, Finding(code, pointer, message))])
