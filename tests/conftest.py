"""The suite's own PostgreSQL, its two roles, and a flush that the application's role could not do.

Tests run as `tfp_app` on the alias `default`, exactly as the web and the workers do; `tfp_owner` migrates and flushes.
With DATABASE_URL and DATABASE_OWNER_URL in the environment their server is used and a `test_…` database made on it.
"""

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import environ
import psycopg
import pytest
from django.db import connections
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings
from psycopg import sql

from config import prepare, services

# A busy machine is no finding: no test depends on how fast an example runs.
settings.register_profile("tfp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tfp")

pytest_plugins = ("tests.services", "tests.browser", "tests.factories.stores")

ROOT = Path(__file__).resolve().parents[1]
ALIASES = {"default": services.APP_ROLE, "owner": services.OWNER_ROLE}


@pytest.fixture(scope="session")
def service_directory() -> Iterator[Path]:
    """Where the suite's own servers keep everything."""
    with services.temporary_directory() as directory:
        yield directory


@pytest.fixture(scope="session")
def database_urls(service_directory: Path, worker_id: str) -> Iterator[dict[str, str]]:
    """The address of this process's empty test database, per settings alias."""
    name = f"test_tfp_{worker_id}"
    given = {"default": os.environ.get("DATABASE_URL"), "owner": os.environ.get("DATABASE_OWNER_URL")}
    if given["default"] and given["owner"]:
        with _database_on(given["owner"], name):
            yield {alias: _with_database(url, name) for alias, url in given.items() if url}
        return
    with services.throwaway_postgres(service_directory) as server:
        server.create_database(name)
        yield {alias: server.url(role, name) for alias, role in ALIASES.items()}


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_blocker: pytest.FixtureRequest,
    database_urls: dict[str, str],
    pytestconfig: pytest.Config,
) -> Iterator[None]:
    """Replaces pytest-django's: migrate as the owner, then leave the tests to the application's role."""
    with django_db_blocker.unblock():
        for alias, url in database_urls.items():
            # The same dictionary serves every thread's connection.
            connections[alias].settings_dict.update(environ.Env.db_url_config(url))
        _migrate(database_urls["owner"], pytestconfig.cache.mkdir("schema"))
    flush = _Flush(database_urls["owner"])
    original = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda _case: flush()
    yield
    TransactionTestCase._fixture_teardown = original
    flush.close()
    with django_db_blocker.unblock():
        connections.close_all()


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    """xdist's name of this process, `master` without xdist."""
    worker_input = getattr(request.config, "workerinput", {})
    return str(worker_input.get("workerid", "master"))


def _migrate(owner_url: str, cache: Path) -> None:
    """Bring the empty database to what the migrations make of it.

    Migrating takes seconds, so on our own server its outcome is kept as SQL, under the hash of all it depends on. A
    fresh clone, and so every CI run, has no such file and migrates.
    """
    if os.environ.get("DATABASE_URL"):
        _run_migrations()
        return
    programs = services.find_postgres()
    kept = cache / f"{_schema_digest(programs)}.sql"
    if kept.exists():
        psql = [programs / "psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1"]
        subprocess.run([*psql, "--dbname", owner_url, "-f", kept], check=True, stdout=subprocess.DEVNULL)
        return
    _run_migrations()
    for old in cache.glob("*.sql"):
        old.unlink(missing_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    subprocess.run([programs / "pg_dump", "--dbname", owner_url, "-f", partial], check=True)
    partial.replace(kept)


def _run_migrations() -> None:
    prepare.migrate()
    connections["owner"].close()


def _schema_digest(programs: Path) -> str:
    sources = [ROOT / "uv.lock", ROOT / "platform/config/grants.py"]
    for folder in ("platform", "verification", "reviews"):
        modules = (ROOT / folder).rglob("*.py")
        sources += [module for module in modules if {"migrations", "models"} & {*module.parts, module.stem}]
    digest = hashlib.sha256(os.fsencode(programs))
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _Flush:
    """Empties every table that was empty after migration, as the owner: the application's role may not TRUNCATE."""

    def __init__(self, owner_url: str) -> None:
        self.connection = psycopg.connect(owner_url, autocommit=True)
        names = [row[0] for row in self.connection.execute("SELECT tablename FROM pg_tables WHERE schemaname='public'")]
        self.tables = [name for name in names if not self._filled([name])]

    def __call__(self) -> None:
        if filled := self._filled(self.tables):
            listed = sql.SQL(", ").join(map(sql.Identifier, filled))
            # A worker that was just killed may still hold a lock for a moment.
            self.connection.execute("SET lock_timeout = '20s'")
            self.connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(listed))

    def close(self) -> None:
        self.connection.close()

    def _filled(self, tables: list[str]) -> list[str]:
        asked = [
            sql.SQL("SELECT {} WHERE EXISTS (SELECT 1 FROM {})").format(sql.Literal(name), sql.Identifier(name))
            for name in tables
        ]
        return [row[0] for row in self.connection.execute(sql.SQL(" UNION ALL ").join(asked))]


@contextlib.contextmanager
def _database_on(owner_url: str, name: str) -> Iterator[None]:
    """A database on somebody's server, made by the owner's role (which needs CREATEDB), dropped afterwards."""
    with psycopg.connect(owner_url, autocommit=True) as connection:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        connection.execute(drop)
        for statement in services.create_database_statements(name):
            connection.execute(statement)
        try:
            yield
        finally:
            connection.execute(drop)


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
