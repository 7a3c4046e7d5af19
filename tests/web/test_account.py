"""Accounts in the browser's terms: signing up and in, one's own page, and every page of django-allauth in our frame."""

import re

import pytest
from django.core import mail
from django.test import Client

from accounts.models import User

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
OWN_PAGES = [
    *("/account/", "/account/email/", "/account/password/change/", "/account/logout/", "/account/reauthenticate/"),
]
OPEN_PAGES = [
    *("/account/login/", "/account/signup/", "/account/password/reset/", "/account/password/reset/done/"),
    *("/account/password/reset/key/1-abc/", "/account/password/reset/key/done/", "/account/confirm-email/"),
    *("/account/confirm-email/abc/", "/account/inactive/"),
]


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada", "ada@example.org", PASSWORD))
    return client


def framed(html: str) -> tuple[int, int, int]:
    """How many headings, skip links and inline parts a page has."""
    return html.count("<h1"), html.count('class="skip"'), len(re.findall(r"\sstyle=|<script>|\son\w+=", html))


@pytest.mark.parametrize("path", OPEN_PAGES)
def test_a_visitor_meets_our_frame(client: Client, path: str) -> None:
    answer = client.get(path, follow=True)

    assert answer.status_code == 200
    assert framed(answer.content.decode()) == (1, 1, 0)


@pytest.mark.parametrize("path", OWN_PAGES)
def test_a_participant_meets_our_frame(signed_in: Client, path: str) -> None:
    answer = signed_in.get(path, follow=True)

    assert answer.status_code == 200
    assert framed(answer.content.decode()) == (1, 1, 0)


def test_signing_up_makes_an_account_and_signs_in(client: Client) -> None:
    told = {"username": "ada", "email": "ada@example.org", "password1": PASSWORD, "password2": PASSWORD}

    answer = client.post("/account/signup/", told)

    assert (answer.status_code, answer.headers["Location"]) == (302, "/my/")
    assert client.get("/account/").status_code == 200


def test_a_refused_sign_up_says_why_on_top_and_beside_the_field(client: Client) -> None:
    html = client.post("/account/signup/", {"username": "ada", "email": "no", "password1": "x"}).content.decode()

    assert html.count("<title>Error: Create an account") == 1
    assert html.count('href="#id_email"') == 1
    assert html.count('id="id_email_error"') == 1


def test_a_wrong_password_is_told_in_our_frame(client: Client) -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)

    html = client.post("/account/login/", {"login": "ada", "password": "wrong"}).content.decode()

    assert framed(html) == (1, 1, 0)
    assert html.count('class="error-summary"') == 1


def test_the_readers_zone_names_all_times(signed_in: Client, settings: object) -> None:
    signed_in.post("/account/", {"display_name": "Ada", "timezone": "Asia/Kathmandu"})

    html = signed_in.get("/help/components/").content.decode()

    assert html.count("28 Nov 2026, 19:47:31 UTC+5:45") > 0
    assert User.objects.get(username="ada").display_name == "Ada"


def test_a_zone_that_is_none_is_refused(signed_in: Client) -> None:
    answer = signed_in.post("/account/", {"display_name": "", "timezone": "Mars/Olympus"})

    assert answer.status_code == 422
    assert User.objects.get(username="ada").timezone == ""


def test_a_zone_unknown_to_this_machine_reads_as_utc(signed_in: Client) -> None:
    User.objects.filter(username="ada").update(timezone="Mars/Olympus")

    html = signed_in.get("/help/components/").content.decode()

    assert html.count("14:02:31 UTC</time>") > 0


def test_the_account_page_is_for_those_signed_in(client: Client) -> None:
    answer = client.get("/account/")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/account/login/?next=/account/")


def test_a_new_address_is_added_and_a_confirmation_sent(signed_in: Client) -> None:
    signed_in.post("/account/email/", {"action_add": "", "email": "countess@example.org"})

    html = signed_in.get("/account/email/").content.decode()

    assert html.count("countess@example.org") > 0
    assert html.count("not confirmed") == 2
    assert [message.to for message in mail.outbox] == [["countess@example.org"]]


def test_a_forgotten_password_is_set_anew_through_the_link(client: Client) -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    client.post("/account/password/reset/", {"email": "ada@example.org"})
    link = re.search(r"/account/password/reset/key/\S+", mail.outbox[0].body)
    assert link is not None
    form = client.get(link[0], follow=True)

    client.post(form.request["PATH_INFO"], {"password1": "another long one", "password2": "another long one"})

    assert client.login(username="ada", password="another long one") is True


def test_what_a_participant_may_use_is_in_the_navigation(signed_in: Client) -> None:
    html = signed_in.get("/").content.decode()

    navigation = html[html.index('<nav class="site-nav"') : html.index("</nav>")]
    labels = re.findall(r">([A-Z][^<]+)</a>", navigation)
    assert labels[-1] == "Account"
    assert {"Staff", "Manage", "Reviews", "Sign in"} & set(labels) == set()
