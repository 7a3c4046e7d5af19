"""Attempt pages: opening, uploading, closing; limits, names, and who sees them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.clock import database_now
from accounts.models import User
from blobs.models import Blob
from problems.models import Problem
from submissions.models import Artifact, Attempt
from submissions.services import close_attempt
from tests.factories.people import make_operator, make_user
from tests.factories.problems import published_problem, revision_without_contract
from tests.factories.work import open_attempt_with, upload
from web.uploads import canonical_media_type

pytestmark = pytest.mark.django_db


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def owner_of(attempt: Attempt) -> Client:
    return signed_in(attempt.participant)


def send(client: Client, attempt: Attempt, name: str, content: bytes) -> Any:
    file = SimpleUploadedFile("placeholder", content, content_type="text/plain")
    # The test client takes the name as it is given; SimpleUploadedFile would already have cleaned it.
    file._name = name
    return client.post(f"/attempts/{attempt.pk}/", {"file": file, "media_type": "text/plain"})


# --- Opening


def test_opening_leads_to_the_attempt_and_again_to_the_same() -> None:
    revision = published_problem(slug="sat")
    client = signed_in(make_user())

    first = client.post("/problems/sat/revisions/1/attempt/")
    second = client.post("/problems/sat/revisions/1/attempt/")

    attempt = Attempt.objects.get(revision=revision)
    assert [first.headers["Location"], second.headers["Location"]] == [f"/attempts/{attempt.pk}/"] * 2


def test_a_visitor_is_sent_to_sign_in_and_comes_back_to_the_problem(client: Client) -> None:
    published_problem(slug="sat")
    address = "/problems/sat/revisions/1/attempt/"

    answer = client.post(address)
    client.force_login(make_user())
    back = client.get(address)

    assert answer.headers["Location"] == f"/account/login/?next={address}"
    assert back.headers["Location"] == "/problems/sat/revisions/1/"


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ({"closes_at": -1}, "This Problem closed on "),
        ({"opens_at": 1}, "This Problem opens on "),
        ({"archived_at": -1}, "This Problem is archived and takes no more work."),
    ],
)
def test_a_problem_that_takes_no_work_says_why(policies: dict[str, int], said: str) -> None:
    at = database_now()
    moments = {name: at + timedelta(days=days) for name, days in policies.items()}
    published_problem(slug="sat", **moments)
    client = signed_in(make_user())

    page = client.post("/problems/sat/revisions/1/attempt/")
    told = client.post("/problems/sat/revisions/1/attempt/", headers={"Accept": "application/json"}).json()

    assert page.status_code == 409
    assert said in page.content.decode()
    assert told["detail"].startswith(said)
    assert not Attempt.objects.exists()


def test_there_is_no_attempt_on_a_revision_that_is_not_there() -> None:
    published_problem(slug="sat")

    assert signed_in(make_user()).post("/problems/sat/revisions/2/attempt/").status_code == 404


# --- The page


def test_the_page_says_what_is_asked() -> None:
    attempt = open_attempt_with()

    html = owner_of(attempt).get(f"/attempts/{attempt.pk}/").content.decode()

    assert "1. assignment</th>" in html
    assert "1 MB (1,048,576 bytes)" in html
    assert "No file is uploaded yet." in html
    assert "Choose files and submit" not in html


def test_a_revision_without_a_contract_says_recorded_not_checked() -> None:
    attempt = open_attempt_with(revision=revision_without_contract())

    html = owner_of(attempt).get(f"/attempts/{attempt.pk}/").content.decode()

    assert "Recorded, not checked." in html
    assert "What is asked" not in html


@pytest.mark.parametrize("path", ["", "submit/", "check/", "receipt/", "close/"])
def test_attempts_are_their_participants_alone(path: str) -> None:
    attempt = open_attempt_with(b"v 1 0\n")
    manager = attempt.revision.problem.created_by

    codes = [signed_in(user).get(f"/attempts/{attempt.pk}/{path}").status_code for user in (manager, make_operator())]

    assert codes == [404, 404]
    assert Client().get(f"/attempts/{attempt.pk}/{path}").status_code == 302


def test_nobody_uploads_to_an_attempt_of_somebody_else() -> None:
    attempt = open_attempt_with()

    assert send(signed_in(make_user()), attempt, "a.txt", b"v 1 0\n").status_code == 404
    assert not Artifact.objects.exists()


# --- Uploading


def test_an_upload_is_stored_and_the_page_shows_it() -> None:
    attempt = open_attempt_with()
    client = owner_of(attempt)

    answer = send(client, attempt, "answer.txt", b"v 1 -2 0\n")
    html = client.get(answer.headers["Location"]).content.decode()

    artifact = Artifact.objects.get()
    assert answer.status_code == 302
    assert (artifact.filename, artifact.size_bytes, artifact.media_type) == ("answer.txt", 9, "text/plain")
    assert "answer.txt is stored: 9 bytes." in html
    assert artifact.blob_id.removeprefix("sha256:")[:12] in html


def test_an_empty_file_is_taken_and_called_empty() -> None:
    attempt = open_attempt_with()
    client = owner_of(attempt)

    html = client.get(send(client, attempt, "nothing", b"").headers["Location"]).content.decode()

    assert "nothing is stored: 0 bytes." in html
    assert Artifact.objects.get().size_bytes == 0


def test_sending_no_file_says_so_on_top_and_beside_the_field() -> None:
    attempt = open_attempt_with()

    answer = owner_of(attempt).post(f"/attempts/{attempt.pk}/", {"media_type": "text/plain"})

    html = answer.content.decode()
    assert answer.status_code == 422
    assert html.count("Choose a file first.") == 2
    assert "<title>Error: " in html


def test_a_program_is_told_as_json() -> None:
    attempt = open_attempt_with()

    answer = owner_of(attempt).post(f"/attempts/{attempt.pk}/", headers={"Accept": "application/json"})

    assert answer["Content-Type"] == "application/problem+json"
    assert {"pointer": "/file", "message": "Choose a file first."} in answer.json()["errors"]


@override_settings(TFP_MAX_UPLOAD_BYTES=1024)
@pytest.mark.parametrize("size", [1025, 300_000])
def test_an_upload_over_the_limit_stores_nothing(size: int, blob_directory: Path) -> None:
    attempt = open_attempt_with()
    before = set(Blob.objects.values_list("pk", flat=True)), stored_files(blob_directory)

    answer = send(owner_of(attempt), attempt, "large.txt", b"x" * size)

    assert answer.status_code == 413
    assert " is over the 1 kB limit. Nothing was stored." in answer.content.decode()
    assert not Artifact.objects.exists()
    assert (set(Blob.objects.values_list("pk", flat=True)), stored_files(blob_directory)) == before


@override_settings(TFP_MAX_UPLOAD_BYTES=1024)
def test_an_upload_at_the_limit_is_stored() -> None:
    attempt = open_attempt_with()

    assert send(owner_of(attempt), attempt, "full.txt", b"x" * 1024).status_code == 302
    assert Artifact.objects.get().size_bytes == 1024


def stored_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_an_upload_needs_the_protection_against_forgery() -> None:
    attempt = open_attempt_with()
    client = Client(enforce_csrf_checks=True)
    client.force_login(attempt.participant)

    assert send(client, attempt, "a.txt", b"v 1 0\n").status_code == 403
    assert not Artifact.objects.exists()


@pytest.mark.parametrize(
    "name",
    [
        "<img src=x onerror=alert(1)>.txt",
        "../../etc/passwd",
        "a\u202egnp.exe",
        'quote".txt',
        "new\r\nline.txt",
        "x" * 400 + ".txt",
        ".hidden",
        "C:\\temp\\a.txt",
        "-rf",
        "name with spaces.txt",
    ],
)
def test_a_hostile_file_name_is_inert_everywhere(name: str) -> None:
    attempt = open_attempt_with()
    client = owner_of(attempt)
    send(client, attempt, name, b"v 1 0\n")
    artifact = Artifact.objects.get()
    addresses = [f"/attempts/{attempt.pk}/", f"/attempts/{attempt.pk}/submit/", f"/artifacts/{artifact.pk}/"]

    pages = [client.get(address).content.decode() for address in addresses]
    download = client.get(f"/artifacts/{artifact.pk}/download")

    assert [page.count("<img") for page in pages] == [0, 0, 0]
    assert all("\u202e" not in page for page in pages)
    assert "/" not in artifact.filename
    disposition = download["Content-Disposition"]
    assert disposition.startswith("attachment; filename")
    assert not set(disposition) & set("\r\n\u202e")
    assert download["X-Content-Type-Options"] == "nosniff"
    assert download["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("declared", "canonical"),
    [
        ("text/plain; charset=utf-8", "text/plain"),
        ("TEXT/Plain", "text/plain"),
        ("", "application/octet-stream"),
        (None, "application/octet-stream"),
        ("nonsense", "application/octet-stream"),
        ("text/html\r\nX-Evil: 1", "application/octet-stream"),
        ("a/" + "b" * 200, "application/octet-stream"),
        ("model/gltf+json", "model/gltf+json"),
    ],
)
def test_media_types_are_written_in_one_form(declared: str | None, canonical: str) -> None:
    assert canonical_media_type(declared) == canonical


def test_the_browsers_media_type_is_taken_where_asked() -> None:
    attempt = open_attempt_with()
    file = SimpleUploadedFile("a.json", b"{}", content_type="Application/JSON; x=1")

    owner_of(attempt).post(f"/attempts/{attempt.pk}/", {"file": file, "media_type": "browser"})

    assert Artifact.objects.get().media_type == "application/json"


# --- Closed


def test_closing_asks_first_and_then_takes_nothing_more() -> None:
    attempt = open_attempt_with(b"v 1 0\n")
    client = owner_of(attempt)

    asked = client.get(f"/attempts/{attempt.pk}/close/").content.decode()
    closed = client.post(f"/attempts/{attempt.pk}/close/")
    html = client.get(f"/attempts/{attempt.pk}/").content.decode()
    late = send(client, attempt, "late.txt", b"v 1 0\n")

    assert "It takes no more files and no more Submissions." in asked
    assert closed.headers["Location"] == f"/attempts/{attempt.pk}/"
    assert "Nothing more can be added." in html
    assert "Closed on " in html
    assert 'type="file"' not in html
    assert (late.status_code, Artifact.objects.count()) == (422, 1)
    assert "This Attempt is closed." in late.content.decode()


def test_a_closed_attempt_cannot_be_closed_again() -> None:
    attempt = open_attempt_with()
    close_attempt(attempt_id=attempt.pk, participant=attempt.participant, at=database_now())

    html = owner_of(attempt).get(f"/attempts/{attempt.pk}/close/").content.decode()

    assert "This Attempt is closed already." in html
    assert "Close the Attempt</button>" not in html


def test_after_closing_the_problem_opens_a_new_attempt() -> None:
    attempt = open_attempt_with(revision=published_problem(slug="sat"))
    close_attempt(attempt_id=attempt.pk, participant=attempt.participant, at=database_now())

    owner_of(attempt).post("/problems/sat/revisions/1/attempt/")

    assert Attempt.objects.filter(participant=attempt.participant).count() == 2


def test_when_the_window_is_over_the_page_says_when_it_closed() -> None:
    attempt = open_attempt_with(b"v 1 0\n")
    Problem.objects.filter(pk=attempt.revision.problem_id).update(closes_at=database_now() - timedelta(hours=1))

    html = owner_of(attempt).get(f"/attempts/{attempt.pk}/").content.decode()

    assert "This Problem closed on " in html
    assert "Choose files and submit" not in html


# --- Cost


def test_the_page_costs_the_same_with_one_and_with_three_files() -> None:
    attempt = open_attempt_with(b"v 1 0\n")
    client = owner_of(attempt)
    counts = [queries(client, attempt)]
    for content in (b"v 2 0\n", b"v 3 0\n"):
        upload(attempt, content)

    counts.append(queries(client, attempt))

    assert counts[0] == counts[1]
    assert counts[0] <= 12


def queries(client: Client, attempt: Attempt) -> int:
    with CaptureQueriesContext(connection) as captured:
        client.get(f"/attempts/{attempt.pk}/")
    return len(captured)
