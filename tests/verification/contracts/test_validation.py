"""Reference validators: asked once about bytes, and publication reads the record."""

import pytest

from accounts.clock import database_now
from problems.models import ProblemRevision
from problems.services import PublicationRefused, publication_findings, publish_revision
from tests.factories.backends import crash, execution, scripted_backend, unavailable
from tests.factories.contracts import sat_contract
from tests.factories.messages import sent_messages
from tests.factories.problems import bind_instance, make_draft, make_problem
from tests.factories.sql import NOT_GRANTED, TAKEN, insertion_refusal, refusal, row_of
from verification.contracts.models import ReferenceAcceptance
from verification.contracts.services import validate_reference
from verification.contracts.services.validation import NoAnswer, ReferenceFile
from verification.contracts.tasks import execute_validation_task
from verification.engine.sandbox.base import BackendUnavailable

pytestmark = pytest.mark.django_db

BAD = b"this is no formula\n"


def bound(content: bytes | None = None, *, is_asked: bool = True) -> ProblemRevision:
    contract = sat_contract()
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft, content, is_asked=is_asked)
    return draft


def ask(revision: ProblemRevision) -> ReferenceAcceptance | None:
    binding = revision.bindings.get()
    file = ReferenceFile(binding.content_hash, binding.size_bytes, binding.filename, binding.media_type)
    return validate_reference(slot=binding.slot, file=file, at=database_now())


def test_good_bytes_are_accepted_and_published():
    draft = bound()

    publish_revision(revision=draft, published_by=draft.created_by, at=database_now())

    acceptance = ReferenceAcceptance.objects.get()
    assert (acceptance.is_accepted, acceptance.reason, acceptance.backend) == (True, "", "process")


def test_bad_bytes_are_refused_with_the_reason_that_publication_shows():
    draft = bound(BAD)

    with pytest.raises(PublicationRefused) as refused:
        publish_revision(revision=draft, published_by=draft.created_by, at=database_now())

    acceptance = ReferenceAcceptance.objects.get()
    (finding,) = refused.value.findings
    assert not acceptance.is_accepted
    assert acceptance.reason != ""
    assert (finding.code, finding.pointer) == ("refused_by_validator", "/verifier_input_bindings/instance")
    assert finding.message.endswith(acceptance.reason)


def test_bytes_that_no_validator_has_seen_yet_are_not_published():
    draft = bound(is_asked=False)

    assert [finding.code for finding in publication_findings(draft)] == ["not_validated"]


def test_a_validator_is_asked_once_about_the_same_bytes():
    draft = bound(is_asked=False)

    with scripted_backend() as invocations:
        answers = [ask(draft), ask(draft), ask(bound(is_asked=False))]

    assert len(invocations) == 1
    assert answers == [ReferenceAcceptance.objects.get()] * 3


def test_a_validator_sees_the_slots_bytes_and_nothing_else():
    draft = bound(is_asked=False)

    with scripted_backend() as invocations:
        ask(draft)

    manifest = invocations[0].manifest
    assert [file.mount for file in invocations[0].inputs] == ["/input/reference/instance/instance.cnf"]
    assert (manifest["artifacts"], [r["key"] for r in manifest["reference"]]) == ([], ["instance"])


@pytest.mark.parametrize(
    ("answer", "raised"),
    [(crash, NoAnswer), (unavailable, BackendUnavailable), (lambda _: execution(b"{}"), NoAnswer)],
)
def test_a_validator_that_fails_has_said_nothing(answer, raised):
    draft = bound(is_asked=False)

    with scripted_backend(answer), pytest.raises(raised):
        ask(draft)

    assert ReferenceAcceptance.objects.count() == 0


def test_an_answer_is_never_rewritten():
    bound()
    row = row_of("contracts_referenceacceptance", True, column="is_accepted")
    del row["id"]

    assert refusal("UPDATE contracts_referenceacceptance SET is_accepted = false") == NOT_GRANTED
    assert refusal("DELETE FROM contracts_referenceacceptance") == NOT_GRANTED
    assert insertion_refusal("contracts_referenceacceptance", row | {"is_accepted": False}) == TAKEN


def test_binding_sends_the_question_and_the_task_answers_it(django_capture_on_commit_callbacks):
    with sent_messages(django_capture_on_commit_callbacks) as messages:
        draft = bound(is_asked=False)

    (sent,) = messages
    assert sent.task == execute_validation_task.name
    execute_validation_task(**sent.kwargs)

    assert ReferenceAcceptance.objects.get().blob_id == draft.bindings.get().content_hash
    assert publication_findings(draft) == []
