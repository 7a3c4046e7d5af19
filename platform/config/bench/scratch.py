"""A whole platform of its own for one measurement, started as `make run` starts it, gone afterwards."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from config import processes
from config.demo import ACCOUNTS_FILE
from config.processes import Program
from config.running import FILE_NAME
from config.services import temporary_directory

ROOT = Path(__file__).resolve().parents[3]
START_WITHIN_S = 180.0
# What the surroundings may already say about services; a measurement uses none of them.
NOT_OURS = (
    "DATABASE_URL",
    "DATABASE_OWNER_URL",
    "TFP_BROKER_URL",
    "TFP_BLOBS_DIR",
    "TFP_SITE_URL",
    "DJANGO_SECRET_KEY",
)


@dataclass(frozen=True)
class ScratchPlatform:
    """Where the platform is and how to enter it."""

    url: str
    environment: dict[str, str]
    passwords: dict[str, str]


@contextmanager
def scratch_platform() -> Iterator[ScratchPlatform]:
    """A running platform with its demonstration; everything of it goes with the block.

    Raises:
        RuntimeError: it did not start; the message holds what it said.
    """
    with temporary_directory() as parent:
        # The supervisor decides whom to run as; passing through is all that others get here.
        parent.chmod(0o711)
        os.chown(parent, os.geteuid(), os.getegid())
        var, port, log = parent / "var", _free_port(), parent / "supervisor.log"
        environment = {key: value for key, value in os.environ.items() if key not in NOT_OURS} | {
            "TFP_VAR_DIR": str(var),
            "TFP_PORT": str(port),
            "DJANGO_SETTINGS_MODULE": "config.settings.development",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
        }
        program = Program("supervisor", [sys.executable, "-m", "config.supervisor"], environment, ROOT)
        with log.open("wb") as output:
            process = processes.spawn(program, output=output)
        try:
            known = _environment(var, process, log)
            passwords = json.loads((var / "run" / ACCOUNTS_FILE).read_text())
            yield ScratchPlatform(f"http://127.0.0.1:{port}", environment | known, passwords)
        finally:
            processes.end(process, signal.SIGTERM, patience_s=30)


def _environment(var: Path, process: "subprocess.Popen[bytes]", log: Path) -> dict[str, str]:
    path = var / "run" / FILE_NAME
    give_up_at = time.monotonic() + START_WITHIN_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise RuntimeError(f"the platform did not start; it said:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.1)
    known: dict[str, str] = json.loads(path.read_text())
    return known


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
