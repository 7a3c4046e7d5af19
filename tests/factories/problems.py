"""Problems and revisions, published through the services."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accounts.clock import database_now
from accounts.models import User
from blobs.services import StagedBytes, stage_bytes
from problems.models import Problem, ProblemRevision, SlotBinding
from problems.services import bind_stored, create_problem, draft_revision, publish_revision
from tests.factories.contracts import passed_implementation, sat_contract, sat_package
from tests.factories.people import make_author
from verification.contracts.documents import slot_validator
from verification.contracts.execution import builtin_digest
from verification.contracts.models import ReferenceAcceptance, VerifierContract
from verification.contracts.services import validate_reference
from verification.contracts.services.validation import ReferenceFile
from verification.engine.hashes import validator_key

_numbers = itertools.count(1)


@contextmanager
def staged(content: bytes) -> Iterator[StagedBytes]:
    """Bytes as an upload brings them."""
    with stage_bytes([content], max_bytes=len(content)) as bytes_:
        yield bytes_


def make_problem(manager: User | None = None, *, slug: str | None = None, **policies: Any) -> Problem:
    """A Problem without a revision."""
    number = next(_numbers)
    return create_problem(
        slug=slug or f"problem-{number}",
        title=f"Problem {number}",
        summary="Colour the numbers.",
        manager=manager or make_author(),
        at=database_now(),
        policies=policies,
    )


def make_draft(problem: Problem, contract: VerifierContract | None) -> ProblemRevision:
    """A draft with nothing bound."""
    return draft_revision(
        problem=problem,
        statement_md="Find an assignment that satisfies the formula.",
        contract=contract,
        skill=None,
        author=problem.created_by,
        at=database_now(),
    )


def bind_instance(revision: ProblemRevision, content: bytes | None = None, *, is_asked: bool = True) -> SlotBinding:
    """Bind the slot `instance`, by default the small package's formula, and ask its validator."""
    content = sat_package().files["reference/instance"].read_bytes() if content is None else content
    assert revision.verifier_contract is not None
    slot = revision.verifier_contract.slots.get(key="instance")
    with staged(content) as bytes_:
        binding = bind_stored(
            revision=revision,
            slot=slot,
            staged=bytes_,
            media_type="text/plain",
            filename="instance.cnf",
            at=database_now(),
        )
    if is_asked:
        file = ReferenceFile(binding.content_hash, binding.size_bytes, binding.filename, binding.media_type)
        validate_reference(slot=slot, file=file, at=database_now())
    return binding


def write_acceptance(binding: SlotBinding) -> None:
    """Write down, without executing anything, that the slot's validator accepted the bytes."""
    validator = slot_validator(binding.slot)
    assert validator is not None
    ReferenceAcceptance.objects.bulk_create(
        [
            ReferenceAcceptance(
                validator_key=validator_key(validator),
                blob_id=binding.content_hash,
                is_accepted=True,
                image_digest=builtin_digest("sat-instance"),
                backend="process",
                checked_at=database_now(),
            )
        ],
        ignore_conflicts=True,
    )


def published_revision(problem: Problem, contract: VerifierContract | None) -> ProblemRevision:
    """A published revision; under a Contract it binds the small formula."""
    draft = make_draft(problem, contract)
    if contract is not None:
        write_acceptance(bind_instance(draft, is_asked=False))
    return publish_revision(revision=draft, published_by=problem.created_by, at=database_now())


def published_problem(
    manager: User | None = None, *, slug: str | None = None, has_implementation: bool = True, **policies: Any
) -> ProblemRevision:
    """The published first revision of a new Problem under the SAT Contract, ready to execute runs.

    `.problem` and `.verifier_contract` lead on. The manager is the Contract's author, unless one exists already.
    """
    manager = manager or make_author()
    existing = VerifierContract.objects.filter(verifier__name="sat-assignment").first()
    contract = existing or sat_contract(manager)
    if has_implementation and not contract.implementations.exists():
        passed_implementation(contract)
    return published_revision(make_problem(manager, slug=slug, **policies), contract)


def revision_without_contract(**policies: Any) -> ProblemRevision:
    """A published revision that pins no Contract."""
    return published_revision(make_problem(**policies), None)
