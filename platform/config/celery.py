"""The Celery application: messages are hints, rows are the truth (SPEC 7)."""

import logging.config
import os
import signal
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_process_init

from config.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")
app = Celery("tfp")
# Every thread of every process sends through this application, not only the thread that imported it.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect  # type: ignore[untyped-decorator]
def _use_our_logging(**_: Any) -> None:
    # A receiver keeps Celery from putting handlers of its own on the root logger.
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _end_with_the_worker(**_: Any) -> None:
    # A pool process whose worker was killed would go on with its task, and nobody could stop it.
    die_with_parent(signal.SIGKILL)
