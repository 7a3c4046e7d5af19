"""The demonstration that a fresh machine shows: three accounts and the SAT Problems that ship as packages."""

import json
import logging
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import Permission
from django.db import transaction

from accounts.clock import database_now
from accounts.models import User
from config.processes import write_private
from packages.importing import import_package
from packages.management.commands.import_package import publish_imported
from packages.reading import read_package
from problems.models import ProblemRevision
from verification.contracts.models import ConformanceRecord, ConformanceStatus
from verification.contracts.services import execute_conformance

logger = logging.getLogger(__name__)

PACKAGES = Path(__file__).resolve().parents[2] / "docs" / "packages"
LARGE = "sat-large"
SMALL = ("sat-small", "sat-structured")
ACCOUNTS_FILE = "demo_accounts"


@dataclass(frozen=True)
class DemoAccount:
    """One account of the demonstration and what it may do."""

    username: str
    display_name: str
    role: str
    is_staff: bool = False
    permissions: tuple[str, ...] = ()


ACCOUNTS = (
    DemoAccount("demo", "Demo participant", "takes part"),
    DemoAccount("ada", "Ada", "author and manager of the Problems", permissions=("author",)),
    DemoAccount("olga", "Olga", "operator, with /admin/", is_staff=True, permissions=("author", "operator")),
)


def seed_accounts(directory: Path) -> dict[str, str]:
    """The accounts' passwords by username; accounts that are missing are made, their passwords kept in `directory`.

    Passwords are drawn once per installation: fixed ones would open every machine that ever ran the demonstration.
    """
    path = directory / ACCOUNTS_FILE
    known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    passwords = {account.username: known.get(account.username) or secrets.token_urlsafe(9) for account in ACCOUNTS}
    if passwords != known:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, json.dumps(passwords, indent=1) + "\n")
    there = set(User.objects.filter(username__in=passwords).values_list("username", flat=True))
    for account in ACCOUNTS:
        password = passwords[account.username]
        if account.username not in there:
            _make_account(account, password)
        elif account.username not in known:
            _renew_password(account, password)
    return passwords


@transaction.atomic
def _make_account(account: DemoAccount, password: str) -> None:
    user = User.objects.create_user(
        username=account.username,
        email=f"{account.username}@example.org",
        password=password,
        display_name=account.display_name,
        is_staff=account.is_staff,
    )
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="accounts", codename__in=account.permissions)
    )
    if account.is_staff:
        user.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))


def _renew_password(account: DemoAccount, password: str) -> None:
    user = User.objects.get(username=account.username)
    user.set_password(password)
    user.save(update_fields=["password"])


def seed_small_problems() -> list[str]:
    """Import and publish the packages that lie in the sources, where that was not done before; the new slugs."""
    return [slug for name in SMALL if (slug := _publish(PACKAGES / name))]


def is_large_problem_there() -> bool:
    """True once the large Problem is published."""
    return _is_published(_slug(PACKAGES / LARGE))


def seed_large_problem(directory: Path) -> str | None:
    """Make the large package below `directory`, import and publish it; its slug, or None where it was there."""
    if is_large_problem_there():
        return None
    # A process of its own, so that the memory which making it takes does not stay with a worker.
    argv = [sys.executable, str(PACKAGES / "make_sat_large.py"), str(directory)]
    made = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300)
    return _publish(Path(made.stdout.strip()))


def run_open_conformance() -> None:
    """Run every open conformance record here and now, for a machine without a worker."""
    open_records = ConformanceRecord.objects.filter(
        status__in=[ConformanceStatus.PENDING, ConformanceStatus.ERROR], implementation__yanked_at=None
    )
    for record_id in list(open_records.values_list("pk", flat=True)):
        execute_conformance(record_id=record_id, holder="seed_demo")


def _publish(folder: Path) -> str | None:
    slug = _slug(folder)
    if _is_published(slug):
        return None
    author = User.objects.get(username="ada")
    imported = import_package(package=read_package(folder), author=author, at=database_now())
    publish_imported(imported, author)
    logger.info("demonstration published", extra={"slug": slug})
    return slug


def _slug(folder: Path) -> str:
    return str(json.loads((folder / "problem.json").read_text(encoding="utf-8"))["slug"])


def _is_published(slug: str) -> bool:
    return ProblemRevision.objects.filter(problem__slug=slug, published_at__isnull=False).exists()
