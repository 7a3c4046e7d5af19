"""`manage.py images`: the runtimes that checkers run on here: build the development one, list all."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from verification.engine.checkers.registry import BUILTINS
from verification.engine.sandbox.images import RuntimeRefused, build_runtime, default_runtimes_root, runtimes_in


class Command(BaseCommand):
    help = "Build the development runtime from this machine's Python, or list what is here."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--directory", type=Path, help="where runtimes lie (default: var/runtimes)")
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("build-runtime", help="build and enable the runtime; quick where it is there")
        actions.add_parser("list", help="name, digest and standing of every runtime and builtin")

    def handle(self, *args: Any, **options: Any) -> None:
        root: Path = options["directory"] or default_runtimes_root()
        try:
            if options["action"] == "build-runtime":
                runtime = build_runtime(root)
                self.stdout.write(f"{runtime.name}  {runtime.image_digest}  development")
            else:
                self._list(root)
        except RuntimeRefused as refusal:
            raise CommandError(str(refusal)) from refusal

    def _list(self, root: Path) -> None:
        for runtime in runtimes_in(root).values():
            standing = "development" if runtime.is_development else "catalogue"
            self.stdout.write(f"{runtime.name}  {runtime.image_digest}  {standing}")
        for builtin in BUILTINS.values():
            self.stdout.write(f"{builtin.image_ref}  {builtin.image_digest}  builtin")
