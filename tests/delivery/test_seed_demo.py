"""The demonstration comes to be once, whole, and with passwords of this machine's own."""

import json

import pytest
from django.core.management import call_command

from accounts.models import User
from accounts.roles import is_author, is_operator
from config import demo
from problems.models import ProblemRevision
from verification.contracts.models import ConformanceRecord

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(tmp_path, capsys):
    """What the command printed the first time, nothing of the large Problem done."""
    call_command("seed_demo", directory=tmp_path)
    return capsys.readouterr().out


def published_slugs() -> list[str]:
    return sorted(ProblemRevision.objects.exclude(published_at=None).values_list("problem__slug", flat=True))


def test_the_accounts_can_do_what_their_roles_say(seeded):
    accounts = {user.username: user for user in User.objects.all()}

    assert {name: (is_author(user), is_operator(user)) for name, user in accounts.items()} == {
        "demo": (False, False),
        "ada": (True, False),
        "olga": (True, True),
    }


def test_the_passwords_are_kept_for_their_owner_only_and_shown(seeded, tmp_path):
    path = tmp_path / demo.ACCOUNTS_FILE
    passwords = json.loads(path.read_text())

    assert path.stat().st_mode & 0o777 == 0o600
    assert {name: User.objects.get(username=name).check_password(word) for name, word in passwords.items()} == {
        "demo": True,
        "ada": True,
        "olga": True,
    }
    assert [word for word in passwords.values() if word not in seeded] == []


def test_seeding_again_changes_nothing(seeded, tmp_path, capsys):
    before = (published_slugs(), (tmp_path / demo.ACCOUNTS_FILE).read_text(), User.objects.count())

    call_command("seed_demo", directory=tmp_path)

    assert (published_slugs(), (tmp_path / demo.ACCOUNTS_FILE).read_text(), User.objects.count()) == before
    assert capsys.readouterr().out == seeded


def test_a_lost_password_file_gives_new_passwords_that_work(seeded, tmp_path):
    old = json.loads((tmp_path / demo.ACCOUNTS_FILE).read_text())
    (tmp_path / demo.ACCOUNTS_FILE).unlink()

    new = demo.seed_accounts(tmp_path)

    assert new["ada"] != old["ada"]
    assert User.objects.get(username="ada").check_password(new["ada"])


def test_without_a_worker_the_whole_demonstration_stands_at_once(tmp_path):
    call_command("seed_demo", directory=tmp_path, here=True)

    assert published_slugs() == ["planted-3-sat-125000", "pythagorean-triples-5000", "schur-three-colours"]
    assert set(ConformanceRecord.objects.values_list("status", flat=True)) == {"passed"}
