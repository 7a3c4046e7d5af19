"""`manage.py import_package DIR`: a package becomes a draft revision; with `--publish`, a published one."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.clock import database_now
from accounts.models import User
from packages.importing import ImportedPackage, import_package
from packages.reading import PackageRefused, read_package
from problems.models import ProblemRevision
from problems.services import PublicationRefused, publish_revision
from verification.contracts.services import validate_reference
from verification.contracts.services.validation import ReferenceFile


class Command(BaseCommand):
    """Import one package directory."""

    help = "Import a package directory as a draft revision; --publish freezes it, or lists every violated rule."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument("--author", required=True, help="username of the author and first manager")
        parser.add_argument("--publish", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        author = User.objects.filter(username=options["author"]).first()
        if author is None:
            raise CommandError(f"There is no account {options['author']!r}.")
        try:
            imported = import_package(package=read_package(options["folder"]), author=author, at=database_now())
            if options["publish"]:
                publish_imported(imported, author)
        except PackageRefused as refused:
            raise CommandError(f"The package was refused; nothing was written.\n{refused}") from None
        except PublicationRefused as refused:
            raise CommandError(f"Imported as a draft; not published, because:\n{refused}") from None
        revision = imported.revision
        self.stdout.write(f"{imported.problem.slug}: revision {revision.number} ({revision.pk})")
        for stage_key, digest in imported.digests.items():
            self.stdout.write(f"  stage {stage_key} executes {digest}")


def publish_imported(imported: ImportedPackage, author: User) -> ProblemRevision:
    """Ask the reference validators here and now, then publish.

    Raises:
        PublicationRefused: with every violated rule.
    """
    bindings = imported.revision.bindings.select_related("slot__validator_program").filter(kind="stored")
    for binding in bindings:
        file = ReferenceFile(binding.content_hash, binding.size_bytes, binding.filename, binding.media_type)
        validate_reference(slot=binding.slot, file=file, at=database_now())
    return publish_revision(revision=imported.revision, published_by=author, at=database_now())
