"""The inputs that revisions bind, as downloads and links; sealed ones do not exist before release."""

import pytest
from django.test import Client

from accounts.clock import database_now
from blobs.services import blob_name, blob_store
from problems.models import ProblemRevision
from problems.services import bind_link, bind_stored, publish_revision
from tests.factories.contracts import sat_contract
from tests.factories.pages import html_of, main_text, release, sealed_revision, signed_in
from tests.factories.people import make_manager, make_operator, make_user
from tests.factories.plans import contract_of, noted_document
from tests.factories.problems import (
    bind_instance,
    make_draft,
    make_problem,
    published_problem,
    staged,
)
from verification.contracts.models import VerifierContract

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("x")</script>'


def reference_path(revision: ProblemRevision, key: str = "instance") -> str:
    return f"/problems/{revision.problem.slug}/revisions/{revision.number}/reference/{key}/"


def test_stored_bytes_come_as_a_download_that_runs_nothing() -> None:
    revision = published_problem(slug="colours")
    binding = revision.bindings.get()

    answer = Client().get(reference_path(revision))

    assert b"".join(answer.streaming_content) == blob_store().open(blob_name(binding.content_hash)).read()
    told = {name: answer[name] for name in (
        "Content-Type", "Content-Disposition", "X-Content-Type-Options", "Content-Security-Policy", "ETag",
        "Content-Length",
    )}  # fmt: skip
    assert told == {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Disposition": 'attachment; filename="instance.cnf"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "ETag": f'"{binding.content_hash}"',
        "Content-Length": str(binding.size_bytes),
    }


def test_a_reader_who_has_the_bytes_gets_304() -> None:
    revision = published_problem()
    binding = revision.bindings.get()

    same = Client().get(reference_path(revision), headers={"If-None-Match": f'"{binding.content_hash}"'})
    other = Client().get(reference_path(revision), headers={"If-None-Match": '"sha256:00"'})

    assert (same.status_code, same.content, same["ETag"]) == (304, b"", f'"{binding.content_hash}"')
    assert other.status_code == 200


def bound_notes(
    media_type: str = "text/plain", filename: str = "notes.txt"
) -> tuple[ProblemRevision, VerifierContract]:
    document = noted_document()
    document["reference_inputs"][1]["media_types"] = ["text/plain", "text/html"]
    contract = contract_of(document)
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)
    slot = contract.slots.get(key="notes")
    with staged(b"<script>alert(1)</script>") as bytes_:
        bind_stored(
            revision=draft, slot=slot, staged=bytes_, media_type=media_type, filename=filename, at=database_now()
        )
    return draft, contract


def published(draft: ProblemRevision) -> ProblemRevision:
    publish_revision(revision=draft, published_by=draft.created_by, at=database_now())
    return draft


def test_html_is_never_sent_as_html() -> None:
    draft, _ = bound_notes("text/html", "page.html")
    revision = published(draft)

    answer = Client().get(reference_path(revision, "notes"))

    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == 'attachment; filename="page.html"'


@pytest.mark.parametrize("name", ["\u202egnp.exe", "notes", "a" * 250 + "\u00e9.txt"])
def test_a_file_name_that_is_not_safe_is_replaced(name: str) -> None:
    draft, _ = bound_notes(filename=name)
    revision = published(draft)

    answer = Client().get(reference_path(revision, "notes"))

    expected = f'attachment; filename="{revision.problem.slug}-r1-notes.txt"'
    assert answer["Content-Disposition"] == expected


def test_a_linked_input_leads_to_its_link() -> None:
    contract = contract_of(noted_document())
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)
    bind_link(
        revision=draft, slot=contract.slots.get(key="notes"), url="https://data.example.org/notes?x=1",
        content_hash="sha256:" + "0" * 64, size_bytes=12, media_type="text/plain", filename="notes.txt",
        at=database_now(),
    )  # fmt: skip
    revision = published(draft)

    answer = Client().get(reference_path(revision, "notes"))
    text = main_text(html_of(Client(), f"/problems/{revision.problem.slug}/"))

    assert (answer.status_code, answer["Location"]) == (302, "https://data.example.org/notes?x=1")
    assert "Never fetched by the platform, and not given to checkers." in text
    assert "That a linked input is what its author says." in text


def test_inv_17_sealed_bytes_answer_like_a_key_that_is_not_there_until_release() -> None:
    revision = sealed_revision()
    viewers = (None, make_user(), make_manager(revision.problem), make_operator())
    clients = [signed_in(viewer) for viewer in viewers]

    before = [(c.get(reference_path(revision)), c.get(reference_path(revision, "nothing"))) for c in clients]
    release(revision.problem)
    after = Client().get(reference_path(revision))

    assert {(sealed.status_code, sealed.content == missing.content) for sealed, missing in before} == {(404, True)}
    assert [sorted(sealed.headers) for sealed, _ in before] == [sorted(missing.headers) for _, missing in before]
    assert after.status_code == 200


def test_the_inputs_of_a_draft_are_its_managers_alone() -> None:
    contract = sat_contract()
    draft = make_draft(make_problem(contract.created_by), contract)
    bind_instance(draft)

    answers = [
        signed_in(viewer).get(reference_path(draft)) for viewer in (None, make_operator(), make_manager(draft.problem))
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 200]
    assert answers[2]["Cache-Control"] == "private, no-cache"


def test_bytes_that_the_store_lost_are_told_as_gone() -> None:
    revision = published_problem()
    blob_store().delete(blob_name(revision.bindings.get().content_hash))

    assert Client().get(reference_path(revision)).status_code == 410
