"""Importing a package: all of it or nothing, reusing what stands."""

import json
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.clock import database_now
from blobs.models import Blob, BlobHold
from packages.importing import ImportedPackage, import_package
from packages.management.commands.import_package import publish_imported
from packages.reading import PackageRefused, read_package
from problems.models import Problem, ProblemRevision
from tests.factories.contracts import PACKAGES
from tests.factories.people import make_author
from verification.contracts.execution import builtin_digest
from verification.contracts.models import Verifier, VerifierContract, VerifierImplementation

pytestmark = pytest.mark.django_db


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the small package, to be broken."""
    return shutil.copytree(PACKAGES / "sat-small", tmp_path / "package")


def imported(folder: Path, author=None) -> ImportedPackage:
    return import_package(package=read_package(folder), author=author or make_author(), at=database_now())


def edited(path: Path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def nothing_stands() -> bool:
    tables = (Problem, ProblemRevision, Verifier, VerifierContract, VerifierImplementation, Blob, BlobHold)
    return not any(table.objects.exists() for table in tables)


def test_a_package_becomes_a_revision_that_can_be_published(package):
    author = make_author()

    made = imported(package, author)
    revision = publish_imported(made, author)

    assert (revision.number, revision.problem.slug) == (1, "schur-three-colours")
    assert made.digests == {"assignment_check": builtin_digest("sat-assignment")}
    assert revision.problem.managers.get() == author
    assert revision.skill is not None
    assert BlobHold.objects.filter(holder_kind="import", ended_at=None).count() == 0


def test_three_packages_share_one_contract():
    author = make_author()

    first = imported(PACKAGES / "sat-small", author)
    second = imported(PACKAGES / "sat-structured", author)

    assert first.contract == second.contract
    assert (Problem.objects.count(), VerifierContract.objects.count(), VerifierImplementation.objects.count()) == (
        2, 1, 1,
    )  # fmt: skip


def test_the_large_package_names_the_same_contract():
    # Its formula is made by a script and takes minutes; what it shares with the others is in its documents.
    contracts = {
        (PACKAGES / name / "contract.json").read_text() for name in ("sat-small", "sat-structured", "sat-large")
    }

    assert len(contracts) == 1


def test_importing_again_drafts_the_next_revision_with_its_bytes_held(package):
    author = make_author()

    numbers = [imported(package, author).revision.number for _ in range(2)]

    assert numbers == [1, 2]
    assert BlobHold.objects.filter(holder_kind="binding", ended_at=None).count() == 2


def test_somebody_else_may_use_the_contract_under_a_problem_of_their_own(package):
    first = imported(package)
    edited(package / "problem.json", slug="another")

    second = imported(package)

    assert first.contract == second.contract
    assert first.problem != second.problem


def test_a_slug_of_other_managers_is_refused(package):
    imported(package)

    with pytest.raises(PackageRefused) as refused:
        imported(package)

    assert [finding.finding.code for finding in refused.value.findings] == ["slug_taken"]
    assert ProblemRevision.objects.count() == 1


def test_a_contract_under_somebody_elses_verifier_is_refused(package):
    imported(package)
    edited(package / "problem.json", slug="another")
    edited(package / "contract.json", statement_md="Everything is verified.")

    with pytest.raises(PackageRefused) as refused:
        imported(package)

    assert [finding.finding.code for finding in refused.value.findings] == ["not_an_author"]


BREAKS = {
    "another byte in a fixture": lambda p: (p / "fixtures/satisfying/artifacts/assignment").write_bytes(b"v 0\n"),
    "a fixture's bytes missing": lambda p: (p / "fixtures/satisfying/artifacts/assignment").unlink(),
    "an unknown runtime": lambda p: edited(p / "implementations/assignment_check.json", runtime="tfp-builtin/other:1"),
    "an Implementation without limits": lambda p: edited(p / "implementations/assignment_check.json", limits={}),
    "a stage that is not there": lambda p: shutil.copy(
        p / "implementations/assignment_check.json", p / "implementations/other.json"
    ),
    "a slot that is not there": lambda p: (p / "reference/other").write_bytes(b"x"),
    "a window that ends before it begins": lambda p: edited(
        p / "problem.json", policies={"opens_at": "2027-01-02T00:00:00Z", "closes_at": "2027-01-01T00:00:00Z"}
    ),
    "a day that does not exist": lambda p: edited(p / "problem.json", policies={"opens_at": "2027-02-31T00:00:00Z"}),
    "a link that is not https": lambda p: (p / "reference/instance.link.json").write_text(
        json.dumps(
            {
                "url": "http://example.org/f", "content_hash": "sha256:" + "0" * 64, "size_bytes": 10,
                "media_type": "text/plain", "filename": "f",
            }
        )
    ) and (p / "reference/instance").unlink(),
}  # fmt: skip


@pytest.mark.parametrize("break_it", BREAKS.values(), ids=BREAKS)
def test_a_package_that_breaks_a_rule_leaves_nothing_behind(package, break_it):
    break_it(package)

    with pytest.raises(PackageRefused) as refused:
        imported(package)

    assert len(refused.value.findings) >= 1
    assert nothing_stands()


def test_a_slot_bound_twice_is_refused(package):
    link = {
        "url": "https://example.org/f", "content_hash": "sha256:" + "0" * 64, "size_bytes": 10,
        "media_type": "text/plain", "filename": "f",
    }  # fmt: skip
    (package / "reference/instance.link.json").write_text(json.dumps(link))

    with pytest.raises(PackageRefused) as refused:
        imported(package)

    assert [finding.finding.code for finding in refused.value.findings] == ["slot_twice"]


def test_the_command_imports_and_publishes(package, capsys):
    author = make_author()

    call_command("import_package", str(package), "--author", author.username, "--publish")

    revision = ProblemRevision.objects.get()
    assert revision.published_by == author
    assert builtin_digest("sat-assignment") in capsys.readouterr().out


def test_the_command_lists_every_violated_publication_rule_and_keeps_the_draft(package):
    author = make_author()
    (package / "reference/instance").write_bytes(b"no formula\n")

    with pytest.raises(CommandError) as refused:
        call_command("import_package", str(package), "--author", author.username, "--publish")

    assert str(refused.value).count("The validator of slot instance refused") == 1
    assert ProblemRevision.objects.get().published_at is None


def test_the_command_names_an_account_that_is_not_there(package):
    with pytest.raises(CommandError, match="no account 'nobody'"):
        call_command("import_package", str(package), "--author", "nobody")


def test_every_finding_that_needs_no_database_comes_at_once(package):
    (package / "extra.txt").write_text("?")
    (package / "fixtures/satisfying/artifacts/assignment").write_bytes(b"v 1 0\n")
    (package / "reference/instance").rename(package / "reference/formula")
    implementation = package / "implementations/assignment_check.json"
    document = json.loads(implementation.read_text())
    document["limits"]["memory_mb"] = "lots"
    implementation.write_text(json.dumps(document))

    with pytest.raises(PackageRefused) as refused:
        imported(package)

    assert [(found.file, found.finding.code) for found in refused.value.findings] == [
        ("extra.txt", "file_unknown"),
        ("contract.json", "bytes_differ"),
        ("implementations/assignment_check.json", "schema_type"),
        ("reference/formula", "slot_unknown"),
    ]
