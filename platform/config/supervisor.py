"""One process that starts the platform's services in order, keeps them running, and ends them together.

`make run` is this module. It knows no Django: database and broker (unless addresses are given), then migrations and
the demonstration, then web and two workers, one of which carries beat. A child that ends is started again, with
growing pauses. When this process dies without a word, the kernel ends its children (see `processes`).
"""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import TextIO

from config import processes
from config.processes import Identity, Program
from config.running import FILE_NAME
from config.services import APP_ROLE, OWNER_ROLE, Postgres, ServerMissing, Valkey

ROOT = Path(__file__).resolve().parents[2]
FIRST_PAUSE_S, LONGEST_PAUSE_S, STEADY_AFTER_S = 0.5, 15.0, 30.0
MAX_LOG_BYTES = 5_000_000
WARM_UP = (
    "import django; django.setup(); import config.urls, gunicorn.app.wsgiapp, gunicorn.workers.gthread, "
    "config.worker, celery.concurrency.prefork, celery.concurrency.solo, kombu.transport.redis"
)


class CannotStart(Exception):
    """Something outside us is in the way; the message says what and what to do."""


class StopRequested(BaseException):
    """Ctrl-C or SIGTERM. Not an Exception: nothing between here and `main` may take it for an error."""


@dataclass
class Child:
    """One supervised program."""

    program: Program
    log: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    start_again_at: float | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start it now."""
        self.started_at, self.start_again_at = time.monotonic(), None
        if self.log is None:
            self.process = processes.spawn(self.program)
            return self.process
        with self.log.open("ab") as output:
            self.process = processes.spawn(self.program, output=output)
        return self.process

    def check(self, now: float) -> None:
        """Notice that it ended, and start it again once its pause is over."""
        if self.process is None:
            return
        if self.start_again_at is None and self.process.poll() is not None:
            processes.kill_session(self.process)
            if now - self.started_at > STEADY_AFTER_S:
                self.pause_s = FIRST_PAUSE_S
            self.start_again_at = now + self.pause_s
            say(f"{self.program.name} ended ({_how_ended(self.process)}); starting it again in {self.pause_s:g} s")
            self.pause_s = min(self.pause_s * 2, LONGEST_PAUSE_S)
        elif self.start_again_at is not None and now >= self.start_again_at:
            self.start()


@dataclass
class Supervisor:
    """The services of one state directory."""

    var: Path
    port: int
    given: Mapping[str, str]
    children: list[Child] = field(default_factory=list)
    is_stopping: bool = False

    def run(self) -> None:
        """Start everything and watch it until a signal says stop."""
        begun = time.monotonic()
        _refuse_taken_port(self.port)
        self.server_identity = processes.unprivileged_identity()
        self._make_directories()
        environment = self._start_servers()
        self.app_identity = self._app_identity(environment)
        self._own_blobs()
        shown = self._prepare(environment)
        self._start_apps(environment)
        self._publish(environment)
        say(f"ready after {time.monotonic() - begun:.1f} s")
        sys.stdout.write(_welcome(self._site_url(), shown))
        sys.stdout.flush()
        while True:
            time.sleep(0.2)
            for child in self.children:
                child.check(time.monotonic())

    def stop(self) -> None:
        """End the children: faces and workers together, then broker, then database."""
        self.is_stopping = True
        (self.var / "run" / FILE_NAME).unlink(missing_ok=True)
        servers = [child for child in self.children if child.program.name in {"postgres", "valkey"}]
        apps = [child for child in self.children if child not in servers]
        for child in apps:
            if child.process is not None and child.process.poll() is None:
                child.process.send_signal(child.program.stop_signal)
        for child in (*apps, *reversed(servers)):
            if child.process is not None:
                processes.end(child.process, child.program.stop_signal, patience_s=10)

    def kill(self) -> None:
        """End the children at once; the database recovers at its next start."""
        for child in self.children:
            if child.process is not None:
                processes.kill_session(child.process)

    def _make_directories(self) -> None:
        identity = self.server_identity
        self.var.mkdir(parents=True, exist_ok=True)
        self.var.chmod(0o700)
        if identity is not None:  # servers pass through, and still nobody else
            os.chown(self.var, 0, identity.gid)
            self.var.chmod(0o710)
        self.state = self.var
        if not processes.can_enter(self.var, identity):
            place = sha256(os.fsencode(self.var)).hexdigest()[:8]
            self.state = processes.make_private(Path("/var/lib") / f"tfp-{place}", identity)
            say(f"only root can enter {self.var.parent}; database and broker keep their files in {self.state}")
        processes.make_private(self.var / "log", None)

    def _start_servers(self) -> dict[str, str]:
        """The environment of the platform's own processes, servers running."""
        environment = self._common_environment()
        postgres = valkey = None
        if "DATABASE_URL" not in self.given:
            if not (self.state / "postgres" / "initialised").exists():
                say("making the database …")
            postgres = Postgres(self.state / "postgres", identity=self.server_identity)
            postgres.prepare()
            self._add(postgres.program(), log=True)
        if "TFP_BROKER_URL" not in self.given:
            valkey = Valkey(self.state / "valkey", identity=self.server_identity)
            self._add(valkey.program(), log=True)
            environment["TFP_BROKER_URL"] = valkey.url
        if postgres is not None:
            self._await("postgres", postgres.is_ready)
            postgres.create_roles()
            postgres.create_database()
            environment["DATABASE_URL"] = postgres.url(APP_ROLE)
            environment["DATABASE_OWNER_URL"] = postgres.url(OWNER_ROLE)
        if valkey is not None:
            self._await("valkey", valkey.is_ready)
        return environment

    def _common_environment(self) -> dict[str, str]:
        passed = ("TFP_", "DJANGO_", "DATABASE_", "PG", "AWS_", "SSL_", "REQUESTS_CA", "LANG", "LC_", "PATH", "TZ")
        return {key: value for key, value in self.given.items() if key.startswith(passed)} | {
            "DJANGO_SETTINGS_MODULE": self.given.get("DJANGO_SETTINGS_MODULE", "config.settings.development"),
            "DJANGO_SECRET_KEY": self.given.get("DJANGO_SECRET_KEY") or _kept_secret(self.var / "secret_key"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
            "TFP_BLOBS_DIR": self.given.get("TFP_BLOBS_DIR", str(self.var / "blobs")),
            "TFP_SITE_URL": self._site_url(),
            "HOME": str(self.var / "run"),
        }

    def _site_url(self) -> str:
        return self.given.get("TFP_SITE_URL", f"http://127.0.0.1:{self.port}")

    def _app_identity(self, environment: dict[str, str]) -> Identity | None:
        """Whom web and workers run as: never root, unless nobody else can read this installation."""
        identity = self.server_identity
        if identity is None:
            return None
        argv = [sys.executable, "-c", "import django, config.processes, verification.engine"]
        with contextlib.suppress(PermissionError):
            trial = Program("trial", argv, environment, ROOT, identity)
            if processes.can_enter(self.var, identity) and processes.run(trial, timeout_s=30).returncode == 0:
                # It cannot write beside our sources, and compiling them at each start would be slow.
                cache = processes.make_private(self.var / "pycache", identity)
                environment["PYTHONPYCACHEPREFIX"] = str(cache)
                return identity
        say(f"only root can read {ROOT} or its Python, so web and worker run as root; better start me as another user")
        return None

    def _own_blobs(self) -> None:
        processes.make_private(self.var / "run", self.app_identity)
        blobs = self.var / "blobs"
        processes.make_private(blobs, self.app_identity)

    def _prepare(self, environment: dict[str, str]) -> str:
        """Migrate and seed; what the demonstration says of itself."""
        prepare = [sys.executable, "-m", "config.prepare"]
        program = Program("prepare", prepare, environment, ROOT, self.app_identity, death_signal=signal.SIGKILL)
        process = processes.spawn(program, output=subprocess.PIPE, is_split=True)
        # Migrating keeps one core busy; another one may meanwhile compile what comes next (nothing, the second time).
        warm_up = [sys.executable, "-c", WARM_UP]
        warm = Program("warm-up", warm_up, environment, ROOT, self.app_identity, death_signal=signal.SIGKILL)
        warming = processes.spawn(warm, output=subprocess.DEVNULL)
        try:
            output, _ = process.communicate()
        except BaseException:
            processes.kill_session(process)
            raise
        finally:
            processes.kill_session(warming)
        if process.returncode != 0:
            raise CannotStart("Preparing the database failed; the lines above say why. Nothing is running now.")
        return output.decode(errors="replace")

    def _start_apps(self, environment: dict[str, str]) -> None:
        own = {key: value for key, value in environment.items() if key != "DATABASE_OWNER_URL"}
        web = [
            sys.executable, "-m", "gunicorn", "config.wsgi:application", "--bind", f"127.0.0.1:{self.port}",
            "--worker-class", "gthread", "--workers", "1", "--threads", "4", "--no-control-socket",
            "--log-level", "warning", "--graceful-timeout", "8",
        ]  # fmt: skip
        worker = [sys.executable, "-m", "config.worker"]
        # The checks are the tests' affair; here they would load every page's code into the workers.
        own["CELERY_SKIP_CHECKS"] = "true"
        # Threads share heaps instead of keeping one each: some 10 MB less for the web.
        own["MALLOC_ARENA_MAX"] = "2"
        # Said once, in our own words (see `_app_identity`).
        own["PYTHONWARNINGS"] = "ignore:You're running the worker with superuser"
        for name, argv, death in (
            ("web", web, signal.SIGQUIT),
            ("sandbox worker", [*worker, "sandbox"], signal.SIGKILL),
            ("default worker", [*worker, "default"], signal.SIGKILL),
        ):
            self._add(Program(name, argv, own, ROOT, self.app_identity, death_signal=death))
        self._await("web", lambda: _answers(f"http://127.0.0.1:{self.port}/healthz"))

    def _add(self, program: Program, *, log: bool = False) -> None:
        path = self.var / "log" / f"{program.name}.log" if log else None
        if path is not None and path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        child = Child(program, path)
        self.children.append(child)
        child.start()

    def _await(self, name: str, is_ready: Callable[[], bool]) -> None:
        child = next(child for child in self.children if child.program.name == name)
        assert child.process is not None
        try:
            processes.wait_until(is_ready, child.process, name=name, timeout_s=60)
        except RuntimeError as error:
            shown = f"\n{child.log.read_text(errors='replace')[-1500:]}" if child.log else ""
            raise CannotStart(f"{error}{shown}") from error

    def _publish(self, environment: dict[str, str]) -> None:
        known = {key: value for key, value in environment.items() if key not in {"HOME", "PATH", "PYTHONPYCACHEPREFIX"}}
        path = self.var / "run" / FILE_NAME
        processes.write_private(path, json.dumps(known | {"TFP_SUPERVISOR_PID": str(os.getpid())}))


def say(line: str) -> None:
    """One line to the person at the terminal."""
    sys.stderr.write(f"tfp: {line}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def only_one(var: Path, port: int) -> Iterator[None]:
    """Hold the state directory's lock.

    Raises:
        CannotStart: another supervisor holds it.
    """
    var.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(var / "lock", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotStart(f"It is already running here: {_holder(lock)}. Ctrl-C in its terminal ends it.") from None
        lock.truncate(0)
        lock.write(f"http://127.0.0.1:{port}, process {os.getpid()}")
        lock.flush()
        yield


def main() -> int:
    """Exit status: 0 after an orderly stop, 1 when it could not start."""
    var = Path(os.environ.get("TFP_VAR_DIR") or ROOT / "var").resolve()
    try:
        port = _port(os.environ.get("TFP_PORT") or "8000")
        _refuse_half_a_database(os.environ)
        with only_one(var, port):
            return _supervise(Supervisor(var, port, dict(os.environ)))
    except (CannotStart, ServerMissing) as error:
        say(str(error))
        return 1


def _supervise(supervisor: Supervisor) -> int:
    def on_signal(number: int, _frame: FrameType | None) -> None:
        if supervisor.is_stopping:  # asked twice: no patience left
            say("ending everything at once")
            supervisor.kill()
            return
        raise StopRequested(signal.Signals(number).name)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        supervisor.run()
    except StopRequested as asked:
        say(f"stopping ({asked}) …")
    finally:
        supervisor.stop()
    say("stopped")
    return 0


def _port(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < 65536:
        return int(text)
    raise CannotStart(f"TFP_PORT is {text!r}; expected a port number from 1 to 65535.")


def _refuse_half_a_database(given: Mapping[str, str]) -> None:
    if ("DATABASE_URL" in given) != ("DATABASE_OWNER_URL" in given):
        raise CannotStart(
            "Only one of DATABASE_URL (role tfp_app) and DATABASE_OWNER_URL (role tfp_owner) is set. Set both to use "
            "a database server of your own, or neither to have one started."
        )


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} on 127.0.0.1 cannot be used: {error.strerror}. "
                f"Choose another one: TFP_PORT={port + 1} make run"
            ) from error


def _holder(lock: TextIO) -> str:
    lock.seek(0)
    return lock.read().strip() or "starting up"


def _kept_secret(path: Path) -> str:
    """The key that signs sessions, made once, kept across starts."""
    if not path.exists():
        processes.write_private(path, secrets.token_urlsafe(50))
    return path.read_text().strip()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 (our own address)
            return bool(response.status == 200)
    except urllib.error.HTTPError as error:  # it is up, and broken: waiting longer mends nothing
        raise CannotStart(f"The web server answers {url} with {error.code}; the lines above say why.") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def _how_ended(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"status {code}" if code >= 0 else signal.Signals(-code).name


def _welcome(url: str, shown: str) -> str:
    parts = [f"\n  TfP is at {url}\n"]
    if shown.strip():
        parts.append("".join(f"  {line}\n" for line in shown.strip().splitlines()))
    parts.append("\n  Ctrl-C ends it; the data stay in var/ for the next `make run`.\n\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
