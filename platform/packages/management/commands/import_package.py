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
from verification.contracts.models import ConformanceRecord, ConformanceStatus, VerifierContract
from verification.contracts.selectors import current_sets
from verification.contracts.services import execute_conformance, validate_reference
from verification.contracts.services.validation import ReferenceFile
from verification.runs.holders import this_process


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
        if options["publish"] and imported.contract is not None:
            self.tell_conformance(imported.contract)

    def tell_conformance(self, contract: VerifierContract) -> None:
        """Run the fixtures that no worker has begun, and say what conformance found."""
        failed = False
        for record in conformance_now(contract):
            implementation = record.implementation
            self.stdout.write(f"  conformance of {implementation.pk}: {record.get_status_display()}")
            failed = failed or record.status == ConformanceStatus.FAILED
            for run in record.runs.filter(claim_number=record.claim_number, matches=False).select_related("fixture"):
                expected, found = run.fixture.expected_result, run.actual_result
                self.stdout.write(f"    fixture {run.fixture.key}: expected {expected}, found {found}")
        if failed:
            raise CommandError("Published, but its checker did not reproduce the fixtures, so it judges nothing.")


def conformance_now(contract: VerifierContract) -> list[ConformanceRecord]:
    """The conformance records of the Contract's current fixtures, executed here where nobody holds them."""
    current = [record_set for stage in contract.stages.all() for record_set in current_sets(stage)]
    wanted = ConformanceRecord.objects.filter(fixture_set__in=current, implementation__yanked_at=None)
    for record in wanted:
        execute_conformance(record_id=record.pk, holder=this_process())
    return list(wanted.select_related("implementation"))


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
