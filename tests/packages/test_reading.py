"""Reading a package directory: every finding at once, nothing hostile followed."""

import json
import os
import shutil
from pathlib import Path

import pytest

from packages import reading
from packages.reading import PackageRefused, read_package
from tests.factories.contracts import PACKAGES


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the small package, to be broken."""
    return shutil.copytree(PACKAGES / "sat-small", tmp_path / "package")


def found(folder: Path) -> list[tuple[str, str]]:
    with pytest.raises(PackageRefused) as refused:
        read_package(folder)
    return sorted((finding.file, finding.finding.code) for finding in refused.value.findings)


def test_the_shipped_packages_are_read():
    for name in ("sat-small", "sat-structured"):
        package = read_package(PACKAGES / name)
        assert sorted(package.reference_files()) == ["instance"]
        assert package.contract is not None


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    assert [code for _, code in found(tmp_path / "nowhere")] == ["no_folder"]


def test_every_finding_is_told_at_once(package):
    (package / "problem.json").write_text('{"slug": "a", "slug": "b"}')
    (package / "statement.md").write_bytes(b"caf\xe9")
    (package / "verifier.json").unlink()
    (package / "implementations" / "Not-A-Key.json").write_text("{}")
    (package / "skill.md").write_bytes(b"x" * (reading.MAX_TEXT_BYTES + 1))
    (package / "reference" / "data.link.json").write_text(json.dumps({"url": "https://example.org", "more": 1}))

    files = {file for file, _ in found(package)}

    assert files == {
        "problem.json", "statement.md", "verifier.json", "implementations/Not-A-Key.json", "skill.md",
        "reference/data.link.json",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["[]", "1", "{", "", '{"a": NaN}', "{} {}", '"\\ud800"'])
def test_documents_that_are_no_strict_json_object_are_refused(package, text):
    (package / "implementations" / "assignment_check.json").write_text(text)

    assert [file for file, _ in found(package)] == ["implementations/assignment_check.json"]


def test_links_pipes_and_sockets_are_refused_and_not_followed(package, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (package / "statement.md").unlink()
    (package / "statement.md").symlink_to(secret)
    (package / "reference" / "dangling").symlink_to(tmp_path / "nowhere")
    (package / "fixtures" / "outside").symlink_to(tmp_path)
    os.mkfifo(package / "reference" / "pipe")

    assert found(package) == [
        ("fixtures/outside", "not_a_file"),
        ("reference/dangling", "not_a_file"),
        ("reference/pipe", "not_a_file"),
        ("statement.md", "not_a_file"),
    ]


def test_deep_folders_are_refused(package):
    deep = package / "/".join("abcdefghij"[: reading.MAX_DEPTH + 1])
    deep.mkdir(parents=True)

    assert [code for _, code in found(package)] == ["too_deep"]


def test_too_many_or_too_large_files_are_refused(package, monkeypatch):
    (package / "reference" / "big").write_bytes(b"x" * 100_001)
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 100_000)
    large = found(package)
    monkeypatch.undo()
    monkeypatch.setattr(reading, "MAX_FILES", 3)

    assert large == [("reference/big", "too_large")]
    assert [code for _, code in found(package)] == ["too_many_files"]


def test_a_name_that_is_no_text_is_refused(package):
    path = os.fsencode(package / "reference") + b"/\xff\xfe"
    with open(path, "wb") as file:  # noqa: PTH123 (a name that Path cannot spell)
        file.write(b"x")

    with pytest.raises(PackageRefused) as refused:
        read_package(package)

    assert str(refused.value).encode() != b""


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"url": 5}, "/url"),
        ({"size_bytes": True}, "/size_bytes"),
        ({"size_bytes": "10"}, "/size_bytes"),
        ({"more": 1}, "/more"),
    ],
)
def test_a_link_states_exactly_its_members(package, change, pointer):
    link = {
        "url": "https://example.org/d", "content_hash": "sha256:" + "0" * 64, "size_bytes": 10,
        "media_type": "text/plain", "filename": "d",
    }  # fmt: skip
    (package / "reference" / "data.link.json").write_text(json.dumps(link | change))

    with pytest.raises(PackageRefused) as refused:
        read_package(package)

    assert [finding.finding.pointer for finding in refused.value.findings] == [pointer]
