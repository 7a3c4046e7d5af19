"""Embedded PostgreSQL and Valkey: closed to others, rows kept over a kill, roles as the house needs them."""

import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from config import processes, services


@pytest.fixture
def directory() -> Iterator[Path]:
    with services.temporary_directory() as made:
        yield made


def test_committed_rows_survive_the_kill_of_the_whole_server(directory: Path):
    server = services.Postgres(directory / "postgres", identity=processes.unprivileged_identity())
    server.prepare()
    with services.running(server, log=directory / "log") as process:
        server.create_roles()
        server.create_database()
        with psycopg.connect(server.url(services.OWNER_ROLE), autocommit=True) as owner:
            owner.execute("CREATE TABLE kept (number int)")
            owner.execute("INSERT INTO kept VALUES (1)")
        processes.kill_session(process)

    server.prepare()
    with services.running(server, log=directory / "log"), psycopg.connect(server.url(services.OWNER_ROLE)) as owner:
        rows = owner.execute("SELECT number FROM kept").fetchall()

    assert rows == [(1,)]


def test_the_server_is_closed_to_others(directory: Path):
    with services.throwaway_postgres(directory) as server:
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (server.sockets, server.data)}
        with psycopg.connect(server.url(services.SUPERUSER, "postgres")) as superuser:
            row = superuser.execute(
                "SELECT current_setting('listen_addresses'), current_setting('password_encryption')"
            ).fetchone()
        without_password = f"postgresql://{services.SUPERUSER}@/postgres?host={server.sockets}"

        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(without_password)

    assert modes == {"socket": 0o700, "data": 0o700}
    assert row == ("", "scram-sha-256")
    assert stat.S_IMODE((directory / "postgres" / "passwords.json").stat().st_mode) == 0o600


def test_the_application_may_make_nothing_in_its_database(directory: Path):
    with services.throwaway_postgres(directory) as server:
        server.create_database()
        with psycopg.connect(server.url(services.APP_ROLE), autocommit=True) as application:
            for statement in ("CREATE TABLE t (n int)", "CREATE TEMPORARY TABLE t (n int)", "CREATE SCHEMA s"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    application.execute(statement)


def test_letters_of_every_alphabet_are_folded_alike(directory: Path):
    with services.throwaway_postgres(directory) as server:
        server.create_database()
        with psycopg.connect(server.url(services.APP_ROLE)) as application:
            row = application.execute("SELECT upper('schröder ω'), 'é' < 'z'").fetchone()

    assert row == ("SCHRÖDER Ω", False)


def test_a_long_path_gets_a_short_socket_that_stays(directory: Path):
    deep = directory / ("d" * 60) / ("e" * 60)
    processes.make_private(deep.parent, processes.unprivileged_identity())

    first = services.Valkey(deep, identity=processes.unprivileged_identity())
    again = services.Valkey(deep, identity=processes.unprivileged_identity())

    assert len(str(first.socket)) < 100
    assert (again.socket, stat.S_IMODE(first.socket.parent.stat().st_mode)) == (first.socket, 0o700)
    first.socket.parent.rmdir()


def test_the_broker_answers_on_its_private_socket(directory: Path):
    with services.throwaway_valkey(directory) as server:
        is_ready = server.is_ready()
        mode = stat.S_IMODE(server.socket.stat().st_mode)

    assert (is_ready, mode) == (True, 0o700)
    assert not server.is_ready()


def test_an_interrupted_first_start_is_begun_again(directory: Path):
    server = services.Postgres(directory / "postgres", is_durable=False, identity=processes.unprivileged_identity())
    server.prepare()
    (server.directory / "initialised").unlink()
    (server.data / "PG_VERSION").unlink()

    server.prepare()

    assert (server.data / "PG_VERSION").exists()


def test_a_machine_without_postgresql_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TFP_PG_BIN", raising=False)
    monkeypatch.setattr(services.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))

    with pytest.raises(services.ServerMissing, match="DATABASE_URL and DATABASE_OWNER_URL"):
        services.find_postgres()
