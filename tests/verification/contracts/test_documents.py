"""Documents become rows and rows become the same documents: Contracts, Implementations, revisions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from accounts.clock import database_now
from blobs.models import Blob
from problems.documents import binding_document, revision_document
from problems.services import bind_link, bind_stored, create_skill, publish_revision
from tests import strategies
from tests.factories.contracts import implementation_document, make_verifier, sat_contract, sat_document
from tests.factories.people import make_author
from tests.factories.plans import contract_of, example_stage, measured_document, scored_document, sealed_document
from tests.factories.problems import make_draft, make_problem, published_problem, staged
from tests.factories.protocols import published_protocol
from verification.contracts.documents import contract_document
from verification.contracts.documents import implementation_document as written_implementation
from verification.contracts.models import VerifierContract, VerifierImplementation
from verification.contracts.selectors import full_contracts
from verification.contracts.services import publish_contract, publish_implementation
from verification.engine.documents import validate_document
from verification.engine.hashes import implementation_content_hash, normative_hash, revision_content_hash

pytestmark = pytest.mark.django_db

# Each example writes a whole Contract: a failing one is shown as it was found.
few = settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
RECORD_MEMBERS = ("id", "verifier_id", "version", "normative_hash", "published_at")


@contextmanager
def undone() -> Iterator[None]:
    """What an example writes is gone before the next one."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def store_named_files(document: Any) -> None:
    """A row for every file that the document names, as if its bytes had been uploaded."""
    if isinstance(document, dict):
        if {"content_hash", "size_bytes"} <= set(document):
            Blob.objects.bulk_create(
                [
                    Blob(
                        content_hash=document["content_hash"],
                        size_bytes=document["size_bytes"],
                        created_at=database_now(),
                    )
                ],
                ignore_conflicts=True,
            )
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            store_named_files(part)


def stored(document: dict[str, Any]) -> dict[str, Any]:
    """The document as it comes back from the rows of its Contract."""
    author = make_author()
    store_named_files(document)
    contract = publish_contract(verifier=make_verifier(author), document=document, author=author, at=database_now())
    return contract_document(full_contracts().get(pk=contract.pk))


def authored(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in RECORD_MEMBERS}


@few
@given(document=strategies.contracts())
def test_a_contract_document_comes_back_from_its_rows(document):
    with undone():
        protocol = published_protocol()
        for stage in document["stages"]:
            if stage["kind"] == "review":
                stage |= {"protocol_hash": protocol.protocol_hash, "review_protocol_id": protocol.pk}

        found = stored(document)

        assert authored(found) == document
        assert found["normative_hash"] == normative_hash(document)
        assert validate_document("verifier-contract", found) == []


@pytest.mark.parametrize("number", [2.0**53 - 1, 5e-324, 0.1, 1.0, -1.5e15, 0])
def test_numbers_of_an_evidence_schema_keep_their_value_and_hash(number):
    document = sat_document()
    document["stages"][0]["evidence_schema"]["properties"]["clauses_total"]["minimum"] = number

    found = contract_document(full_contracts().get(pk=contract_of(document).pk))

    kept = found["stages"][0]["evidence_schema"]["properties"]["clauses_total"]["minimum"]
    assert kept == number
    assert normative_hash(found) == found["normative_hash"] == normative_hash(document)


@pytest.mark.parametrize(
    "document", [sat_document, scored_document, sealed_document, measured_document], ids=lambda maker: maker.__name__
)
def test_every_kind_of_plan_comes_back(document):
    contract = contract_of(document())

    assert authored(contract_document(full_contracts().get(pk=contract.pk))) == document()


def test_a_partners_rule_comes_back():
    document = sat_document()
    stage = example_stage("external") | {
        "rule_owner": "partner", "acceptance": None, "evidence_schema": None,
        "partner_rule": {"title": "House rule 4", "url": "https://lab.example/rules#4"},
    }  # fmt: skip
    document["stages"].append(stage)

    contract = contract_of(document)

    assert authored(contract_document(full_contracts().get(pk=contract.pk))) == document


@few
@given(data=st.data())
def test_an_implementation_document_comes_back_from_its_rows(data):
    limits = {
        "vcpu": data.draw(st.integers(1, 64)), "memory_mb": data.draw(st.integers(16, 1048576)),
        "disk_mb": data.draw(st.integers(1, 1048576)), "timeout_seconds": data.draw(st.integers(1, 86400)),
        "pids": data.draw(st.integers(1, 32768)), "network": "none",
    }  # fmt: skip
    program = data.draw(
        st.none()
        | st.fixed_dictionaries(
            {"filename": st.just("check.py"), "content_hash": strategies.hashes, "size_bytes": st.integers(1, 1000)}
        )
    )
    source = {
        "uri": "https://example.org/x.git",
        "revision": data.draw(st.sampled_from(["v1", "a" * 40])),
        "license": "MIT",
    }
    name = "tfp-builtin/sat-assignment:1" if program is None else "tfp-runtime/python:1"
    runtime = {"image_ref": name, "image_digest": data.draw(strategies.hashes)}
    document = implementation_document(limits=limits, program=program, source=source, runtime=runtime)
    with undone():
        contract = sat_contract()
        store_named_files(document)

        row = publish_implementation(
            contract=contract, document=document, author=contract.created_by, at=database_now()
        )

        found = written_implementation(VerifierImplementation.objects.get(pk=row.pk))
        assert {name: found[name] for name in document} == document
        assert found["content_hash"] == implementation_content_hash(document)
        assert validate_document("verifier-implementation", found) == []


def slots_of(contract: VerifierContract) -> dict[str, Any]:
    return {slot.key: slot for slot in contract.slots.all()}


@few
@given(data=st.data())
def test_a_revision_document_comes_back_from_its_rows(data):
    document = data.draw(strategies.contracts())
    assume(document["reference_inputs"])
    wanted = data.draw(strategies.bindings(document))
    with undone():
        protocol = published_protocol()
        for stage in document["stages"]:
            if stage["kind"] == "review":
                stage["protocol_hash"] = protocol.protocol_hash
        author = make_author()
        store_named_files(document)
        contract = publish_contract(verifier=make_verifier(author), document=document, author=author, at=database_now())
        draft = make_draft(make_problem(author), contract)
        for binding in wanted:
            slot = slots_of(contract)[binding["key"]]
            named = {name: binding[name] for name in ("media_type", "filename")}
            if binding["kind"] == "linked":
                stated = {name: binding[name] for name in ("url", "content_hash", "size_bytes")}
                bind_link(revision=draft, slot=slot, at=database_now(), **stated, **named)
                continue
            with staged(b"bytes of " + slot.key.encode()) as bytes_:
                bind_stored(revision=draft, slot=slot, staged=bytes_, at=database_now(), **named)

        found = revision_document(draft)

        told = {binding["key"]: binding for binding in found["verifier_input_bindings"]}
        assert [b["key"] for b in found["verifier_input_bindings"]] == [
            slot.key for slot in contract.slots.all() if slot.key in told
        ]
        for binding in wanted:
            back = told[binding["key"]]
            for name in ("kind", "url", "media_type", "filename"):
                assert back[name] == binding[name]
            if binding["kind"] == "linked":
                assert (back["content_hash"], back["size_bytes"]) == (binding["content_hash"], binding["size_bytes"])
        assert validate_document("problem-revision", found) == []


def test_a_published_revision_is_named_by_the_hash_of_its_document():
    revision = published_problem()

    document = revision_document(revision)

    assert document["content_hash"] == revision_content_hash(document) == revision.content_hash
    assert validate_document("problem-revision", document) == []


def test_a_pinned_skill_is_told_by_its_content():
    problem = make_problem()
    skill = create_skill(title="How to check", body_md="Run the checker.", at=database_now())
    draft = make_draft(problem, None)
    draft.skill = skill
    draft.save(update_fields=["skill"])

    revision = publish_revision(revision=draft, published_by=problem.created_by, at=database_now())

    assert revision_document(revision)["skill_content_hash"] == skill.content_hash


def test_a_sealed_binding_shows_its_commitment_and_hides_hash_and_size():
    contract = contract_of(sealed_document())
    draft = make_draft(make_problem(contract.created_by), contract)
    with staged(b"p cnf 1 1\n1 0\n") as bytes_:
        binding = bind_stored(
            revision=draft, slot=contract.slots.get(), staged=bytes_, media_type="text/plain", filename="f.cnf",
            at=database_now(),
        )  # fmt: skip

    public, managers = binding_document(binding), binding_document(binding, with_sealed=True)

    assert (public["content_hash"], public["size_bytes"]) == (None, None)
    assert public["commitment"] == managers["commitment"] != binding.content_hash
    assert (managers["content_hash"], managers["size_bytes"]) == (binding.content_hash, 14)
