"""`manage.py seed_demo`: the demonstration's accounts and Problems; quick and harmless where they are there."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from config import demo
from verification.contracts.dispatch import SANDBOX_QUEUE, send_after_commit


class Command(BaseCommand):
    help = "Make the demonstration's accounts and publish the SAT packages; what is there stays as it is."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--directory", type=Path, help="where passwords and the large package are kept (default: var/run)"
        )
        parser.add_argument(
            "--here", action="store_true", help="do everything in this process, also what a worker would do"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        var = Path(os.environ.get("TFP_VAR_DIR") or settings.ROOT / "var")
        directory: Path = options["directory"] or var / "run"
        passwords = demo.seed_accounts(directory)
        demo.seed_small_problems()
        packages = directory / "packages"
        if options["here"] or not settings.CELERY_BROKER_URL:
            demo.seed_large_problem(packages)
            demo.run_open_conformance()
        elif not demo.is_large_problem_there():
            # A minute's work for a slow machine; the worker does it while the first pages are read.
            send_after_commit("config.seed_large_problem", queue=SANDBOX_QUEUE, directory=str(packages))
        self.stdout.write("Sign in with (name, password):")
        for account in demo.ACCOUNTS:
            self.stdout.write(f"  {account.username:<5} {passwords[account.username]}   {account.role}")
