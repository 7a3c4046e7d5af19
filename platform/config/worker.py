"""The two workers of `make run`: `python -m config.worker sandbox` and `python -m config.worker default`.

The same as `celery worker` without its command line, whose libraries for terminals cost 8 MB in each process. The
`default` worker carries beat as a thread: a process of its own would cost another 50 MB on a small machine. A
deployment uses Celery's own commands (docs/operating.md).
"""

import logging
import os
import signal
import sys
import threading

from celery import beat
from celery.apps.worker import Worker
from celery.signals import worker_ready

from config.celery import app

logger = logging.getLogger(__name__)

# Sweeps and wake-ups must come through while every process of the sandbox worker is inside a long check.
POOLS = {"sandbox": ("prefork", 2), "default": ("solo", 1)}


def main(queue: str) -> int:
    """Exit status of the worker of one queue."""
    pool, concurrency = POOLS[queue]
    worker: Worker = app.Worker(
        hostname=f"{queue}@{os.uname().nodename}",
        queues=queue,
        pool=pool,
        concurrency=concurrency,
        loglevel="INFO",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
    )
    if queue == "default":
        worker_ready.connect(_start_clock)
    worker.start()
    return int(worker.exitcode or 0)


def _start_clock(**_: object) -> None:
    threading.Thread(target=_tick, name="beat", daemon=True).start()


def _tick() -> None:
    # In memory: the schedule has nothing that a start must not repeat, and a file could be torn by a kill.
    try:
        beat.Service(app, scheduler_cls="celery.beat:Scheduler").start()
    except Exception:
        # A worker whose clock stands still would go unnoticed; the supervisor starts a new one.
        logger.exception("beat failed")
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
