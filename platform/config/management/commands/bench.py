"""`manage.py bench`: how long people wait, and how much goes through, on a platform started for this."""

import subprocess
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.bench.scratch import ROOT, scratch_platform


class Command(BaseCommand):
    help = "Measure a platform of our own over HTTP, at 10^3 and 10^5 stored runs; figures as JSON on the last line."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help="fewer repetitions, and only 10^3 stored runs")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stderr.write("bench: starting database, broker, web and workers …")
        try:
            with scratch_platform() as platform:
                argv = [sys.executable, "-m", "config.bench.measure", *(["--quick"] if options["quick"] else [])]
                done = subprocess.run(argv, env=platform.environment, cwd=ROOT, stdout=subprocess.PIPE, check=False)
        except RuntimeError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(done.stdout.decode().rstrip("\n"))
        if done.returncode != 0:
            raise CommandError("The measurement failed; the lines above say why.")
