"""Pages of what checks: Contracts, Implementations, Verifiers and review protocols."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accounts.clock import database_now
from accounts.models import User
from blobs.services import blob_name, blob_store, keep_bytes
from tests.factories.contracts import (
    file_of,
    make_verifier,
    open_record,
    passed_implementation,
    pending_implementation,
    sat_contract,
    sat_document,
)
from tests.factories.people import make_author, make_operator, make_user
from tests.factories.plans import contract_of, example_stage, measured_document, scored_document, sealed_document
from tests.factories.problems import make_draft, make_problem, published_problem, published_revision
from tests.factories.protocols import published_protocol
from tests.factories.work import queued_run, recorded_run
from verification.contracts.documents import contract_document
from verification.contracts.models import ConformanceRecord, ConformanceRun, ConformanceStatus, VerifierContract
from verification.contracts.selectors import full_contracts, plan_stages, stage_capacity
from verification.contracts.services import add_fixture, claim_conformance, publish_contract
from verification.engine.documents import canonical_bytes, document_hash

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("x")</script>'


def signed_in(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def html_of(path: str, user: User | None = None) -> str:
    answer = signed_in(user).get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def text_of(path: str, user: User | None = None) -> str:
    """The words of the main part, tags and extra space left out."""
    main = html_of(path, user).split("<main", 1)[1].split("</main>", 1)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def queries_of(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def failed_record(record: ConformanceRecord, *, log: bytes = b"", **told: Any) -> ConformanceRecord:
    """The record as a conformance leaves it whose first fixture did not come out as it must."""
    claim = claim_conformance(record_id=record.pk, holder="conformance", at=database_now())
    assert claim is not None
    blob = keep_bytes(log, holder_kind="conformance_log", holder_id="x", at=database_now()) if log else None
    for place, fixture in enumerate(record.fixture_set.fixtures.order_by("position")):
        for is_disguised in (False, True):
            run = ConformanceRun(
                record=record, fixture=fixture, claim_number=claim.number, is_disguised=is_disguised, matches=place > 0,
                actual_result=fixture.expected_result, backend="process", wall_s=0.5, executed_at=database_now(),
                log=blob,
            )  # fmt: skip
            for name, value in told.items() if place == 0 else ():
                setattr(run, name, value)
            run.save()
    ConformanceRecord.objects.filter(pk=record.pk).move(
        status=ConformanceStatus.FAILED.value, finished_at=database_now(), lease_until=None, holder="",
        fixtures_passed=record.fixtures_total - 1,
    )  # fmt: skip
    return ConformanceRecord.objects.get(pk=record.pk)


def another_fixture(contract: VerifierContract, key: str) -> None:
    document = sat_document()["conformance_fixtures"][1] | {
        "key": key,
        "artifacts": {"assignment": file_of(f"c {key}\ns SATISFIABLE\nv 1 0\n".encode(), filename="other.txt")},
    }
    add_fixture(contract=contract, fixture=document, author=contract.created_by, at=database_now())


def materials_like_contract() -> VerifierContract:
    """A program, then reviewers, then a laboratory."""
    protocol = published_protocol()
    document = measured_document()
    review = example_stage("review") | {
        "review_protocol_id": protocol.pk,
        "protocol_hash": protocol.protocol_hash,
    }
    document["stages"].insert(1, review)
    return contract_of(document)


# Contracts


def test_a_contract_tells_statement_plan_inputs_fixtures_and_who_pins_it() -> None:
    revision = published_problem()
    contract = revision.verifier_contract
    assert contract is not None

    text = text_of(f"/contracts/{contract.pk}/")

    for words in (
        "A Submission is verified when its one stage, Assignment check, passes.",
        "1. Assignment check Sandbox assignment_check 20 s, 512 MB of memory, 1 processor core",
        "instance The formula to satisfy, in DIMACS CNF. text/plain 10 MB by every revision the platform",
        "4 of 4 fixtures as expected executes runs now",
        "All 4 cells are as expected.",
        f"{revision.problem.title}, revision 1",
        contract.normative_hash,
    ):
        assert text.count(words) == 1, words


def test_a_plan_of_three_kinds_says_who_decides_each_stage() -> None:
    contract = materials_like_contract()

    text = text_of(f"/contracts/{contract.pk}/")

    for words in (
        "all three stages pass. They run one after the other, and each is tried only when the one before has passed.",
        "Reviewers decide under the fixed protocol “Single expert acceptance”.",
        "reports what it measured, and the Contract's rule decides from that. It has 90 days to answer.",
        "That other reviewers would have decided the same.",
        "That example-synthesis-lab measured rightly: the platform did not repeat “Synthesis and diffraction”.",
    ):
        assert text.count(words) == 1, words


def test_a_partners_own_rule_is_told_as_such() -> None:
    document = measured_document()
    document["stages"][1] |= {
        "rule_owner": "partner",
        "acceptance": None,
        "partner_rule": {"title": "House rules", "url": "https://lab.example.org/rules"},
    }
    contract = contract_of(document)

    html = html_of(f"/contracts/{contract.pk}/")

    assert "example-synthesis-lab decides, by its own rule. The platform records the decision." in html
    assert html.count('<a href="https://lab.example.org/rules" rel="nofollow noopener noreferrer">House rules</a>') == 1


def test_a_scored_contract_names_its_score_and_which_way_is_better() -> None:
    contract = contract_of(scored_document())

    text = text_of(f"/contracts/{contract.pk}/")

    assert "has a score: Clauses satisfied, in clauses; higher is better." in text


def test_a_contract_with_sealed_inputs_says_that_fixture_bytes_are_public() -> None:
    contract = contract_of(sealed_document())
    implementation = passed_implementation(contract)

    pages = [text_of(f"/contracts/{contract.pk}/"), text_of(f"/implementations/{implementation.pk}/")]

    assert "The bytes of the fixtures below are public, and so are the logs of checkers on them." in pages[0]
    assert "It reads sealed inputs, so its log and evidence are withheld until release." in pages[0]
    assert "The bytes of fixtures, and these logs, are public." in pages[1]


def test_a_yanked_contract_says_since_when_and_why_and_stays_readable() -> None:
    contract = sat_contract()
    VerifierContract.objects.filter(pk=contract.pk).move(
        yanked_at=database_now(), yanked_by=make_operator(), yank_reason=f"Wrong. {HOSTILE}"
    )

    html = html_of(f"/contracts/{contract.pk}/")

    assert html.count("No new revision may pin it.") == 1
    assert html.count(f"Reason: Wrong. {escape(HOSTILE)}") == 1


def test_the_record_is_the_contracts_document() -> None:
    contract = sat_contract()

    answer = Client().get(f"/contracts/{contract.pk}/record.json")

    document = contract_document(full_contracts().get(pk=contract.pk))
    assert answer.content == canonical_bytes(document)
    assert answer["Content-Disposition"] == f'attachment; filename="{contract.pk}.json"'
    assert answer["ETag"] == f'"{document_hash(document)}"'
    seen = Client().get(f"/contracts/{contract.pk}/record.json", headers={"If-None-Match": answer["ETag"]})
    assert seen.status_code == 304


def test_a_digest_can_be_compared_with_the_normative_hash() -> None:
    contract = sat_contract()

    answers = [
        text_of(f"/contracts/{contract.pk}/?compare={given}")
        for given in (contract.normative_hash, "sha256:" + "0" * 64)
    ]

    assert [("Same." in text, "Different." in text) for text in answers] == [(True, False), (False, True)]


def test_fixture_bytes_are_downloads_by_fixture_and_key() -> None:
    contract = sat_contract()
    base = f"/contracts/{contract.pk}/fixtures/satisfying"

    answers = {
        path: Client().get(f"{base}/{path}/").status_code
        for path in ("reference/instance", "artifacts/assignment", "reference/assignment", "other/instance")
    }
    bytes_ = b"".join(Client().get(f"{base}/artifacts/assignment/").streaming_content)

    assert answers == {
        "reference/instance": 200, "artifacts/assignment": 200, "reference/assignment": 404, "other/instance": 404,
    }  # fmt: skip
    assert (
        bytes_
        == blob_store()
        .open(blob_name(contract.fixtures.get(key="satisfying").files.get(role__isnull=False).blob_id))
        .read()
    )


def test_a_retired_fixture_stays_listed_with_its_reason_and_leaves_the_matrix() -> None:
    contract = sat_contract()
    passed_implementation(contract)
    contract.fixtures.filter(key="incomplete").move(
        retired_at=database_now(), retired_by=make_operator(), retire_reason="Built wrongly."
    )

    html = html_of(f"/contracts/{contract.pk}/")

    assert html.count("Built wrongly.") == 1
    assert html.split('class="matrix"')[1].count("incomplete") == 0


@pytest.mark.parametrize(
    "path",
    [
        "/contracts/vct_00000000000000000000000000/",
        "/contracts/vct_00000000000000000000000000/record.json",
        "/implementations/vim_00000000000000000000000000/",
        "/implementations/x/",
        "/verifiers/tfp/nobody/",
        "/protocols/rvp_00000000000000000000000000/",
    ],
)
def test_what_is_not_there_is_404(path: str) -> None:
    assert Client().get(path).status_code == 404


def test_drafts_do_not_show_among_the_revisions_that_pin_a_contract() -> None:
    contract = sat_contract()
    problem = make_problem(contract.created_by)
    make_draft(problem, contract)

    html = html_of(f"/contracts/{contract.pk}/")

    assert html.count("No revision pins it yet.") == 1
    assert html.count(problem.title) == 0


def test_what_authors_wrote_is_inert() -> None:
    document = sat_document()
    document["statement_md"] = f"{HOSTILE}\n\n![x](https://evil.example.org/x.png)"
    document["stages"][0] |= {"title": HOSTILE, "description_md": HOSTILE}
    document["reference_inputs"][0]["description"] = HOSTILE
    document["conformance_fixtures"][0]["title"] = HOSTILE
    contract = contract_of(document)
    source = {"uri": "javascript:alert(1)", "revision": HOSTILE[:60], "license": "MIT"}
    implementation = passed_implementation(contract, source=source)

    pages = [html_of(f"/contracts/{contract.pk}/"), html_of(f"/implementations/{implementation.pk}/")]

    for html in pages:
        assert (html.count(HOSTILE), html.count('href="javascript:'), html.count("<img")) == (0, 0, 0)
        assert html.count(escape(HOSTILE)) > 0


def test_the_plan_names_the_implementation_that_would_execute() -> None:
    contract = sat_contract()
    passed_implementation(contract)
    limits = {"vcpu": 2, "memory_mb": 512, "disk_mb": 16, "timeout_seconds": 20, "pids": 16, "network": "none"}
    newer = passed_implementation(contract, limits=limits)
    pending_implementation(contract, limits=limits | {"vcpu": 3})
    stage = contract.stages.get()

    planned = plan_stages(contract.pk)[0]

    capacity = stage_capacity(stage)
    assert capacity.current == newer
    assert planned.current is not None
    assert planned.current["id"] == newer.pk


# Implementations


def test_an_implementation_tells_what_is_executed_and_within_which_limits() -> None:
    implementation = passed_implementation(sat_contract())

    text = text_of(f"/implementations/{implementation.pk}/")

    for words in (
        "A checker that ships with the platform.",
        "Time 20 s Memory 512 MB Disk 16 MB Processor cores 1 Processes 16 Network none",
        "4 of 4 fixtures reproduced",
        "urn:tfp:builtin:sat-assignment, revision 1",
    ):
        assert text.count(words) == 1, words
    assert text.count(implementation.image_digest) == 1
    assert text.count(implementation.content_hash) == 1


def test_a_failure_shows_what_was_expected_and_what_came() -> None:
    contract = sat_contract()
    implementation = pending_implementation(contract)
    failed_record(open_record(implementation), actual_result="error", reason_code="exit_nonzero")

    page = text_of(f"/implementations/{implementation.pk}/")
    matrix = text_of(f"/contracts/{contract.pk}/")

    assert "3 of 4 fixtures reproduced" in page
    assert "satisfying Verified Verification error exit_nonzero satisfying in disguise Verified" in page
    assert "1 of 4 cells is not as expected." in matrix
    assert "Failed 3 of 4 fixtures as expected none now" in matrix


def test_a_checker_that_behaves_differently_in_disguise_is_told_so() -> None:
    contract = sat_contract()
    implementation = pending_implementation(contract)
    failed_record(open_record(implementation))

    page = text_of(f"/implementations/{implementation.pk}/")
    matrix = text_of(f"/contracts/{contract.pk}/")

    assert page.count("It behaves differently when it looks like a test.") == 2
    assert "Differs in disguise not as expected" in matrix


def test_a_log_is_shown_escaped_and_bounded_and_whole_as_a_download() -> None:
    contract = sat_contract()
    implementation = pending_implementation(contract)
    log = (HOSTILE.encode() + b"\x1b[31m\n").ljust(20 * 1024, b"z")
    record = failed_record(open_record(implementation), log=log, actual_result="refuted")

    html = html_of(f"/implementations/{implementation.pk}/")
    run = record.runs.filter(is_disguised=False).order_by("fixture__position")[0]
    whole = Client().get(f"/implementations/{implementation.pk}/conformance/{run.pk}/log")

    assert html.count(HOSTILE) == 0
    assert html.count("The beginning of 20 kB.") == 4
    assert 30_000 < html.count("z") < 34_000
    assert b"".join(whole.streaming_content) == log
    assert whole["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_a_log_is_found_under_its_own_implementation_only() -> None:
    contract = sat_contract()
    implementation = pending_implementation(contract)
    record = failed_record(open_record(implementation), log=b"log")
    run = record.runs.all()[0]

    answer = Client().get(f"/implementations/vim_00000000000000000000000000/conformance/{run.pk}/log")

    assert answer.status_code == 404


def test_an_earlier_fixture_set_keeps_its_record_on_the_page() -> None:
    contract = sat_contract()
    implementation = passed_implementation(contract)
    another_fixture(contract, "one_more")

    text = text_of(f"/implementations/{implementation.pk}/")

    assert text.index("On the fixtures of now Pending 0 of 5 fixtures reproduced") < text.index(
        "On earlier fixtures Passed 4 of 4 fixtures reproduced"
    )


# Verifiers and protocols


def test_a_verifier_lists_its_published_contracts() -> None:
    author = make_author("ann")
    contract = sat_contract(author)
    second = publish_contract(
        verifier=make_verifier(author), document=sealed_document(), author=author, at=database_now()
    )

    text = text_of("/verifiers/tfp/sat-assignment/")

    assert "Contracts, 2" in text
    assert text.index("Contract 2") < text.index("Contract 1")
    assert "Authors ann" in text
    assert html_of("/verifiers/tfp/sat-assignment/").count(f'href="/contracts/{contract.pk}/"') == 1
    assert second.number == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("single_expert", "A panel answers. expert 1 person of acceptance-reviewers, qualified as domain-expert."),
        (
            "dual_adjudicated",
            "An adjudicator decides. adjudicator Only if, in agree, they are split or too few answered.",
        ),
        ("panel_of_five", "The answers of panel: 4 accepting or 3 rejecting decide."),
    ],
)
def test_a_protocol_is_told_in_words_beside_its_canonical_text(name: str, words: str) -> None:
    protocol = published_protocol(name)

    text = text_of(f"/protocols/{protocol.pk}/")

    assert words in text
    assert text.count(protocol.protocol_hash) == 1
    assert json.loads(protocol.canonical)["instructions"][:40] in text


def test_a_protocols_text_is_inert() -> None:
    protocol = published_protocol(title=HOSTILE, instructions=HOSTILE)

    html = html_of(f"/protocols/{protocol.pk}/")

    assert html.count(HOSTILE) == 0


# Queries


@pytest.mark.parametrize("role", ["visitor", "participant", "operator"])
def test_pages_ask_as_often_for_three_rows_as_for_one(role: str) -> None:
    makers = {"visitor": lambda: None, "participant": make_user, "operator": make_operator}
    client = signed_in(makers[role]())
    revision = published_problem()
    contract = revision.verifier_contract
    assert contract is not None
    implementation = contract.implementations.get()
    paths = (
        f"/contracts/{contract.pk}/", f"/implementations/{implementation.pk}/", "/verifiers/tfp/sat-assignment/",
        "/status/",
    )  # fmt: skip
    recorded_run(revision=revision)

    one = {path: queries_of(client, path) for path in paths}
    limits = {"vcpu": 1, "memory_mb": 512, "disk_mb": 16, "timeout_seconds": 20, "pids": 16, "network": "none"}
    for number in (2, 3):
        another_fixture(contract, f"fixture_{number}")
        pending_implementation(contract, limits=limits | {"vcpu": number})
        published_revision(revision.problem, contract)
        queued_run(revision=revision)
    three = {path: queries_of(client, path) for path in paths}

    assert one == three
    assert max(three.values()) <= 12
