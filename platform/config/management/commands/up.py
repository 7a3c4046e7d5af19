"""`manage.py up`: everything the platform needs, under one supervisor."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Start database, broker, web, worker and beat under one supervisor; Ctrl-C ends them all."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        # The supervisor needs no Django, which would cost 60 MB for as long as it runs.
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path[:2] if path)
        os.execv(sys.executable, [sys.executable, "-m", "config.supervisor"])  # noqa: S606 (our own module)
