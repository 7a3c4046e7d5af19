"""Celery's clock as a small process: `celery -A config.beat beat`. It sends names of tasks and knows none of them.

The application of `config.celery` would do, at the price of loading Django and every app only to read a schedule.
"""

import os

from celery import Celery

from config.schedule import BEAT_SCHEDULE

app = Celery("tfp-beat", broker=os.environ.get("TFP_BROKER_URL", ""), fixups=[])
app.conf.update(
    beat_schedule=BEAT_SCHEDULE,
    task_ignore_result=True,
    timezone="UTC",
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
)
