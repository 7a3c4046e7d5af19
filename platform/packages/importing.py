"""Importing a package: Verifier by name, Contract by normative hash, then a draft revision with its bindings."""

import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from django.db import transaction

from accounts.models import User
from blobs.services import StagedBytes, end_hold, hold_staged, stage_bytes
from packages.checking import chunks_of, implementation_document, package_findings
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
from verification.engine.documents import Finding

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
    findings = package_findings(package)
    if findings:
        raise PackageRefused(findings)
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
    """The fixtures' bytes, which `package_findings` has compared with what contract.json states of them."""
    assert package.contract is not None
    return {
        (fixture["key"], member, key): stack.enter_context(
            stage_bytes(chunks_of(package.files[f"fixtures/{fixture['key']}/{member}/{key}"]), max_bytes=MAX_FILE_BYTES)
        )
        for fixture in package.contract["conformance_fixtures"]
        for member in ("reference", "artifacts")
        for key in fixture[member]
    }


def _import_implementations(package: Package, contract: VerifierContract, author: User, at: datetime) -> dict[str, str]:
    """Publish each Implementation; the digest that each runtime name stands for here, by stage."""
    digests, findings = {}, []
    for stage_key, source in package.implementations.items():
        file = f"implementations/{stage_key}.json"
        document = implementation_document(stage_key, source)
        try:
            publish_implementation(contract=contract, document=document, author=author, at=at)
        except ContractRefused as refused:
            findings += [PackageFinding(file, finding) for finding in refused.findings]
        digests[stage_key] = document["runtime"]["image_digest"]
    if findings:
        raise PackageRefused(findings)
    return digests


def _bind(
    stack: ExitStack, package: Package, revision: ProblemRevision, contract: VerifierContract | None, at: datetime
) -> None:
    slots = {} if contract is None else {slot.key: slot for slot in contract.slots.all()}
    files, links = package.reference_files(), package.links
    findings: list[PackageFinding] = []
    for key, path in files.items():
        slot = slots[key]
        staged = stack.enter_context(stage_bytes(chunks_of(path), max_bytes=MAX_FILE_BYTES))
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


def _refuse(file: str, code: str, pointer: str, message: str) -> NoReturn:
    raise _refused(file, code, pointer, message)


def _refused(file: str, code: str, pointer: str, message: str) -> PackageRefused:
    return PackageRefused([PackageFinding(file, Finding(code, pointer, message))])
