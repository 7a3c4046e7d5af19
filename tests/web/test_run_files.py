"""What a run leaves to download and to read on pages of its own: logs, evidence, the record as a file."""

import hashlib
import json

import pytest
from django.test import Client

from accounts.clock import database_now
from blobs.services import blob_name, blob_store
from tests.factories.people import make_operator
from tests.factories.run_states import log_address, page, with_log
from tests.factories.work import finished_run, queued_run, recorded_run
from verification.engine.documents import validate_document
from verification.runs.models import LogRedaction, StageResult
from verification.runs.services import revoke_run
from web.log_text import log_html

pytestmark = pytest.mark.django_db
HOSTILE_LOG = b"plain <script>alert(1)</script>\n\x1b[31mred\x1b[0m \x00 \xff\xfe end\nabc\xe2\x80\xaegnp.exe\r\n"


# --- Logs


def test_a_log_shows_every_byte_as_what_it_is() -> None:
    assert log_html(HOSTILE_LOG) == (
        "plain &lt;script&gt;alert(1)&lt;/script&gt;\n"
        "<mark>\\u{1b}</mark>[31mred<mark>\\u{1b}</mark>[0m "
        "<mark>\\u{0}</mark> <mark>\\xff</mark><mark>\\xfe</mark> end\n"
        "abc<mark>\\u{202e}</mark>gnp.exe\n"
    )


def test_a_log_cut_inside_a_character_shows_no_half_of_it() -> None:
    assert log_html("aé".encode()[:2], is_cut=True) == "a"
    assert log_html("aé".encode()[:2]) == "a<mark>\\xc3</mark>"


def test_the_log_of_the_stage_that_failed_is_open_and_escaped(client: Client) -> None:
    html = page(client, with_log(HOSTILE_LOG))

    assert '<details id="stage-1-log" open>' in html
    assert "Log of Assignment check, 3 lines" in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_long_log_shows_its_beginning_and_leads_to_the_rest(client: Client) -> None:
    run = with_log(b"a" * 70_000 + b"END", log_size_bytes=900_000, log_truncated=True)

    inline = page(client, run)
    whole = page(client, run, log_address(run))

    assert "The first 64 kB. Truncated: 879 kB were written, the first 68.4 kB are kept." in inline
    assert "END" not in inline
    assert whole.count("END</pre>") == 1


def test_the_raw_log_is_a_plain_file_that_no_browser_runs(client: Client) -> None:
    run = with_log(HOSTILE_LOG)

    answer = client.get(f"/verifications/{run.pk}/{log_address(run)}?raw=1")

    assert answer.content == HOSTILE_LOG
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"] == f'attachment; filename="{run.pk}-assignment_check.log"'


def test_a_redacted_log_answers_200_with_the_notice_and_without_the_bytes(client: Client) -> None:
    run = with_log(b"my secret\n")
    result = StageResult.objects.select_related("output").get(run=run)
    LogRedaction.objects.create(
        stage_result=result,
        original_content_hash=result.output.log_hash,
        original_size_bytes=10,
        redacted_at=database_now(),
        redacted_by=make_operator(),
        reason="personal_data",
    )

    for path in ("", log_address(run), f"{log_address(run)}?raw=1"):
        html = page(client, run, path)
        assert "my secret" not in html
        assert ": personal data. Size and digest stay." in html


def test_a_log_whose_bytes_are_gone_leaves_a_tombstone(client: Client) -> None:
    run = with_log(b"gone\n")
    blob_store().delete(blob_name(StageResult.objects.select_related("output").get(run=run).output.log_hash))

    answer = client.get(f"/verifications/{run.pk}/{log_address(run)}")

    assert answer.status_code == 410
    assert "Its bytes are gone." in page(client, run)


def test_a_stage_that_the_contract_does_not_have_is_not_found(client: Client) -> None:
    assert client.get(f"/verifications/{recorded_run().pk}/stages/nothing/log").status_code == 404


def test_evidence_is_given_by_digest_as_an_attachment(client: Client) -> None:
    run = finished_run()
    stage = page(client, run)
    address = stage.split("/evidence?digest=")[1].split('"')[0]

    answer = client.get(f"/verifications/{run.pk}/stages/assignment_check/evidence?digest={address}")
    other = client.get(f"/verifications/{run.pk}/stages/assignment_check/evidence?digest=sha256:{'0' * 64}")

    content = b"".join(answer.streaming_content)
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == address
    assert answer["Content-Disposition"] == 'attachment; filename="summary.json"'
    assert other.status_code == 404


# --- The record as a file


@pytest.mark.parametrize("result", ["verified", "refuted", "inconclusive", "error"])
def test_the_record_is_a_valid_document_in_its_canonical_form(client: Client, result: str) -> None:
    run = finished_run(result) if result != "error" else recorded_run(result)

    answer = client.get(f"/verifications/{run.pk}/record.json")

    document = json.loads(answer.content)
    assert validate_document("verification-run", document) == []
    assert document["result"] == result
    assert answer["Content-Disposition"] == f'attachment; filename="{run.pk}.json"'


def test_the_record_digest_of_the_page_is_the_files(client: Client) -> None:
    run = finished_run()

    content = client.get(f"/verifications/{run.pk}/record.json").content

    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert digest in page(client, run)
    assert "Same." in page(client, run, f"?compare={digest}")
    assert "Different." in page(client, run, f"?compare=sha256:{'0' * 64}")


def test_only_a_finished_record_has_an_etag(client: Client) -> None:
    queued, finished = queued_run(), recorded_run()

    address = f"/verifications/{finished.pk}/record.json"
    etag = client.get(address)["ETag"]

    assert "ETag" not in client.get(f"/verifications/{queued.pk}/record.json").headers
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    document = json.loads(client.get(f"/verifications/{queued.pk}/record.json").content)
    assert validate_document("verification-run", document) == []


def test_a_revoked_run_has_its_revocation_in_the_record(client: Client) -> None:
    run = recorded_run()
    revoke_run(run_id=run.pk, revoked_by=make_operator(), reason_md="Wrong fixture.", at=database_now())

    document = json.loads(client.get(f"/verifications/{run.pk}/record.json").content)

    assert validate_document("verification-run", document) == []
    assert document["revocation"]["reason_md"] == "Wrong fixture."
