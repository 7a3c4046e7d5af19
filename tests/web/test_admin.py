"""The admin: every record is there to read, none can be edited, and what is sealed or protected never shows."""

import hashlib
from dataclasses import replace

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection, models
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils.formats import localize

from accounts.clock import database_now
from accounts.models import User
from blobs.services import keep_bytes
from notices.models import Notice
from problems.models import Problem, ProblemRevision, Release
from problems.services import create_skill
from tests.factories.contracts import passed_implementation, pending_implementation, sat_contract
from tests.factories.people import make_author, make_operator, make_user
from tests.factories.plans import contract_of, sealed_document
from tests.factories.problems import make_problem, published_problem, published_revision
from tests.factories.protocols import published_protocol
from tests.factories.work import claimed_run, finished_run, queued_run, recorded_run, stage_done
from verification.runs.models import LogRedaction, ProtectedOutput, RunEvent, StageResult, SweepTally, VerificationRun
from verification.runs.services import append_stage_result, begin_stage, finish_run, revoke_run
from verification.runs.stages.base import StageDone

pytestmark = pytest.mark.django_db
OURS = ("accounts", "blobs", "notices", "reviews", "contracts", "problems", "submissions", "runs")
MODELS = [model for model in apps.get_models() if model._meta.app_label in OURS and model is not ProtectedOutput]
LOG = b"the third label is CANARY-7f3a"
EVIDENCE = (("canary.txt", b"evidence CANARY-7f3a"),)


def address(model: type[models.Model], page: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{page}"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def superuser() -> User:
    return make_user(is_staff=True, is_superuser=True)


def records(number: int) -> None:
    """A few rows in every table."""
    revision = published_problem()
    problem = revision.problem
    contract = revision.verifier_contract
    assert contract is not None
    limits = {"vcpu": number + 1, "memory_mb": 64, "disk_mb": 16, "timeout_seconds": 20, "pids": 16, "network": "none"}
    pending_implementation(contract, limits=limits)
    run = finished_run(revision=revision)
    revoke_run(run_id=run.pk, revoked_by=make_operator(), reason_md="Wrong.", at=database_now())
    Problem.objects.filter(pk=problem.pk).update(quota_per_day=9)
    counted = queued_run(revision=ProblemRevision.objects.get(pk=revision.pk))
    finished(counted, stage_done(counted, log_content=LOG, log_size_bytes=len(LOG), evidence=EVIDENCE))
    Release.objects.create(problem=problem, released_at=database_now(), released_by=problem.created_by)
    create_skill(title="How to", body_md=f"{number}", at=database_now())
    protocol = published_protocol(title=f"Protocol {number}", author=make_author())
    result = StageResult.objects.get(run=run)
    LogRedaction.objects.create(
        stage_result=result, original_content_hash=protocol.protocol_hash, original_size_bytes=3,
        redacted_at=database_now(), redacted_by=make_operator(), reason="personal_data",
    )  # fmt: skip
    SweepTally.objects.create(kind=f"kind_{number}", day_date=database_now().date(), fired=1)
    keep_bytes(f"{number}".encode(), holder_kind="test", holder_id="x", at=database_now())
    Notice.objects.get_or_create(
        user=run.requested_by, kind="run_finished", subject_id=run.pk, defaults={"created_at": database_now()}
    )


def sealed_run(log: bytes = LOG, *, verdict_release: str = "with_labels") -> VerificationRun:
    """A finished run of one protected stage, whose outputs carry the canary."""
    contract = contract_of(sealed_document(verdict_release=verdict_release))
    passed_implementation(contract)
    run = queued_run(revision=published_revision(make_problem(contract.created_by), contract))
    done = stage_done(
        run, "refuted", log_content=log, log_size_bytes=len(log), evidence=EVIDENCE, findings=[{"text": "CANARY-7f3a"}]
    )
    return finished(run, replace(done, is_protected=True))


def finished(run: VerificationRun, done: StageDone) -> VerificationRun:
    claim = claimed_run(run)
    begin_stage(claim=claim, stage_key=done.stage_key, at=database_now())
    append_stage_result(claim=claim, done=done, at=database_now())
    return finish_run(claim=claim, at=database_now(), reason_code=done.output.reason_code)


def queries_of(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200, path
    return len(captured)


def test_every_model_but_the_protected_outputs_is_registered() -> None:
    registered = {model for model in admin.site._registry if model._meta.app_label in OURS}

    assert registered == set(MODELS)


def test_every_list_and_every_record_opens_and_none_can_be_posted() -> None:
    records(1)
    client = signed_in(superuser())

    answers = {}
    for model in MODELS:
        assert model._default_manager.exists(), model
        row = admin.site._registry[model].get_queryset(request_of(superuser())).order_by("pk").first()
        assert row is not None, model
        change = address(model, f"{admin.utils.quote(row.pk)}/change/")
        answers[model._meta.label] = (
            client.get(address(model)).status_code,
            client.get(change).status_code,
            client.post(change, {"title": "changed"}).status_code,
            client.get(address(model, "add/")).status_code,
            client.post(address(model, f"{admin.utils.quote(row.pk)}/delete/"), {"post": "yes"}).status_code,
        )

    edited = {label: answer for label, answer in answers.items() if answer != (200, 200, 403, 403, 403)}
    assert set(edited) == {"accounts.User"}


def request_of(user: User) -> HttpRequest:
    request = RequestFactory().get("/admin/")
    request.user = user
    return request


def test_lists_ask_as_often_for_three_rows_as_for_one() -> None:
    client = signed_in(make_operator())
    records(1)
    one = {model._meta.label: queries_of(client, address(model)) for model in MODELS}
    for number in (2, 3):
        records(number)

    three = {model._meta.label: queries_of(client, address(model)) for model in MODELS}

    assert one == three
    assert max(three.values()) <= 12


def test_any_search_is_answered() -> None:
    recorded_run()
    client = signed_in(make_operator())
    texts = ("vrn_00000000000000000000000000", "a word 12", "\x00';\"--")

    answers = [client.get(address(model), {"q": text}).status_code for model in MODELS for text in texts]

    assert set(answers) == {200}


def test_a_record_is_found_by_its_id() -> None:
    wanted, _ = recorded_run(), recorded_run()

    html = signed_in(make_operator()).get(address(VerificationRun), {"q": wanted.pk}).content.decode()

    assert html.count(f"/{admin.utils.quote(wanted.pk)}/change/") == 1
    assert html.count("/change/") == 1


@pytest.mark.parametrize(
    ("viewer", "status"),
    [("visitor", 302), ("participant", 302), ("author", 302), ("staff", 403), ("operator", 200), ("superuser", 200)],
)
def test_operators_read_records_and_nobody_else_does(viewer: str, status: int) -> None:
    run = recorded_run()
    makers = {
        "participant": make_user,
        "author": make_author,
        "staff": lambda: make_user(is_staff=True),
        "operator": make_operator,
        "superuser": superuser,
    }
    client = Client() if viewer == "visitor" else signed_in(makers[viewer]())

    answers = [client.get(address(VerificationRun, page)).status_code for page in ("", f"{run.pk}/change/")]

    assert answers == [status, status]


def test_an_operator_changes_no_account() -> None:
    other = make_user()
    client = signed_in(make_operator())

    answers = [
        client.post(address(User, f"{other.pk}/change/"), {"is_staff": "on"}).status_code,
        client.post(address(User, f"{other.pk}/password/"), {"password1": "x", "password2": "x"}).status_code,
    ]

    assert answers == [403, 403]
    assert User.objects.get(pk=other.pk).is_staff is False


def test_a_superuser_gives_rights_and_changes_nothing_else() -> None:
    other = make_user("eve")
    before = other.password
    client = signed_in(superuser())

    changed = client.post(
        address(User, f"{other.pk}/change/"),
        {"is_staff": "on", "username": "mallory", "password": "x", "display_name": "M", "timezone": "Asia/Tokyo"},
    )
    password = client.post(address(User, f"{other.pk}/password/"), {"password1": "x", "password2": "x"})

    after = User.objects.get(pk=other.pk)
    assert (changed.status_code, password.status_code) == (302, 403)
    assert (after.is_staff, after.username, after.password) == (True, "eve", before)
    assert (after.display_name, after.timezone) == ("", "")


def whole_admin(client: Client) -> str:
    """Every list, and the newest record of each model that comes near sealed bytes or participants' words."""
    pages = []
    for model in MODELS:
        paths = [address(model)]
        if model._meta.app_label in ("problems", "submissions", "runs"):
            newest = admin.site._registry[model].get_queryset(request_of(superuser())).order_by("-pk")[:1]
            paths += [address(model, f"{admin.utils.quote(row.pk)}/change/") for row in newest]
        for path in paths:
            answer = client.get(path)
            assert answer.status_code == 200, path
            pages.append(answer.content.decode())
    return "\n".join(pages)


@pytest.mark.parametrize("verdict_release", ["immediate", "with_labels"])
def test_inv_17_the_admin_shows_nothing_sealed_or_protected_before_release(verdict_release: str) -> None:
    run = sealed_run(verdict_release=verdict_release)
    output, binding = ProtectedOutput.objects.get(), run.revision.bindings.get()
    secrets = {
        "canary": "CANARY-7f3a",
        "log digest": output.log_hash,
        "evidence digest": "sha256:" + hashlib.sha256(EVIDENCE[0][1]).hexdigest(),
        "sealed digest": binding.content_hash,
        "sealed size": localize(binding.size_bytes),
    }
    client = signed_in(superuser())

    before = whole_admin(client)
    Release.objects.create(problem=run.revision.problem, released_at=database_now(), released_by=make_operator())
    after = whole_admin(client)

    assert [name for name, secret in secrets.items() if secret in before] == []
    assert before.count(binding.commitment) > 0
    assert {name for name, secret in secrets.items() if secret in after} >= {"log digest", "sealed digest"}


@pytest.mark.parametrize(("verdict_release", "is_told"), [("immediate", True), ("with_labels", False)])
def test_inv_17_reason_times_and_a_deferred_verdict_wait_for_the_release(verdict_release: str, is_told: bool) -> None:
    run = sealed_run(verdict_release=verdict_release)
    client = signed_in(superuser())

    pages = [
        client.get(address(model, page)).content.decode()
        for model, page in ((VerificationRun, ""), (VerificationRun, f"{run.pk}/change/"), (StageResult, ""))
    ]
    events = admin.site._registry[RunEvent].get_queryset(request_of(superuser()))

    assert ["efuted<" in html for html in pages] == [is_told, is_told, is_told]
    assert ["checker_refuted" in html for html in pages] == [False, False, False]
    assert set(events.values_list("kind", flat=True)).isdisjoint({"stage_started", "stage_finished", "finished"})


def test_what_participants_wrote_is_inert() -> None:
    hostile = '<script>alert("x")</script>'
    contract = sat_contract()
    revision = published_revision(make_problem(contract.created_by), contract)
    Problem.objects.filter(pk=revision.problem_id).update(title=hostile, summary=hostile)
    queued_run(revision=revision, summary_md=hostile, participant=make_user(display_name=hostile))

    text = whole_admin(signed_in(superuser()))

    assert text.count(hostile) == 0


def test_the_navigation_leads_staff_to_the_admin() -> None:
    told = {
        name: signed_in(user).get("/problems/").content.decode().count('href="/admin/"')
        for name, user in {"participant": make_user(), "operator": make_operator()}.items()
    }

    assert told == {"participant": 0, "operator": 1}
