"""The Celery application: messages are hints, rows are the truth (SPEC 7)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")
app = Celery("tfp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
