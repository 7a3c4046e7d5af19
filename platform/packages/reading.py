"""Reading a package directory: plain files only, within bounds, every finding with its file and pointer."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reviews.rules.protocol import read_protocol
from verification.engine.documents import DocumentRefused, Finding, parse_json, validate_document
from verification.engine.ids import is_key

MAX_FILES = 5_000
MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024
MAX_DEPTH = 5
LINK_SUFFIX = ".link.json"


@dataclass(frozen=True)
class PackageFinding:
    """One thing wrong with a package: where, by file and pointer, and what to do."""

    file: str
    finding: Finding

    def __str__(self) -> str:
        place = f"{self.file}{self.finding.pointer}"
        return f"{place}: {self.finding.message} [{self.finding.code}]"


class PackageRefused(Exception):
    """The package cannot be imported; `findings` lists everything at once."""

    def __init__(self, findings: list[PackageFinding]) -> None:
        super().__init__("\n".join(str(finding) for finding in findings))
        self.findings = findings


@dataclass(frozen=True)
class Link:
    """A binding by link, as its author states it."""

    url: str
    content_hash: str
    size_bytes: int
    media_type: str
    filename: str


@dataclass(frozen=True)
class Package:
    """A package as read: documents parsed and of the right shape, bytes still in their files."""

    folder: Path
    files: Mapping[str, Path]
    problem: dict[str, Any]
    statement_md: str
    verifier: dict[str, Any] | None
    contract: dict[str, Any] | None
    protocols: Mapping[str, bytes]
    implementations: Mapping[str, dict[str, Any]]
    links: Mapping[str, Link]
    skill_md: str | None

    def reference_files(self) -> dict[str, Path]:
        """The stored bindings' files, by slot."""
        found = {}
        for name, path in self.files.items():
            folder, _, key = name.partition("/")
            if folder == "reference" and not key.endswith(LINK_SUFFIX):
                found[key] = path
        return found

    def fixture_file(self, fixture_key: str, member: str, key: str) -> Path | None:
        """The bytes of a fixture for one slot (`reference`) or role (`artifacts`)."""
        return self.files.get(f"fixtures/{fixture_key}/{member}/{key}")


@dataclass
class _Reader:
    files: dict[str, Path]
    findings: list[PackageFinding] = field(default_factory=list)

    def add(self, file: str, code: str, message: str, pointer: str = "") -> None:
        self.findings.append(PackageFinding(file, Finding(code, pointer, message)))

    def content(self, name: str, *, is_required: bool) -> bytes | None:
        path = self.files.get(name)
        if path is None:
            if is_required:
                self.add(name, "file_missing", "The package needs this file; add it.")
            return None
        content = _bounded(path, MAX_TEXT_BYTES)
        if content is None:
            self.add(name, "too_large", f"Expected at most {MAX_TEXT_BYTES} bytes; shorten it.")
        return content

    def text(self, name: str, *, is_required: bool) -> str | None:
        content = self.content(name, is_required=is_required)
        if content is None:
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            self.add(name, "not_utf8", f"Expected UTF-8, found another byte at offset {error.start}; save it as UTF-8.")
            return None

    def json(self, name: str, *, kind: str | None, is_required: bool) -> dict[str, Any] | None:
        content = self.content(name, is_required=is_required)
        if content is None:
            return None
        try:
            document = parse_json(content, max_bytes=MAX_TEXT_BYTES)
        except DocumentRefused as refused:
            self.findings += [PackageFinding(name, finding) for finding in refused.findings]
            return None
        found = [] if kind is None else validate_document(kind, document)
        self.findings += [PackageFinding(name, finding) for finding in found]
        if not isinstance(document, dict):
            self.add(name, "not_an_object", "Expected a JSON object.")
            return None
        return None if found else document


def read_package(folder: Path) -> Package:
    """The package in that directory.

    Raises:
        PackageRefused: with every finding that reading alone can make.
    """
    reader = _Reader(_plain_files(folder))
    problem = reader.json("problem.json", kind="package", is_required=True)
    statement = reader.text("statement.md", is_required=True)
    has_contract = "contract.json" in reader.files
    verifier = reader.json("verifier.json", kind="verifier", is_required=has_contract)
    protocols = _protocols(reader)
    contract = _contract(reader, protocols)
    implementations = {}
    links: dict[str, Link] = {}
    for name in sorted(reader.files):
        folder_name, _, rest = name.partition("/")
        if folder_name == "implementations":
            document = reader.json(name, kind=None, is_required=True)
            if document is not None and (key := _key_of(reader, name, rest, ".json")):
                implementations[key] = document
        elif folder_name == "reference" and rest.endswith(LINK_SUFFIX):
            if key := _key_of(reader, name, rest, LINK_SUFFIX):
                links |= _link(reader, name, key)
        elif folder_name == "reference":
            _key_of(reader, name, rest, "")
    skill = reader.text("skill.md", is_required=False)
    if reader.findings or problem is None or statement is None:
        raise PackageRefused(reader.findings)
    return Package(
        folder, reader.files, problem, statement, verifier, contract, protocols, implementations, links, skill
    )


def _protocols(reader: _Reader) -> dict[str, bytes]:
    """The bytes of each protocol file, by name; they are judged by the reviews' own strict reading."""
    found = {}
    for name in reader.files:
        if name.startswith("protocols/"):
            content = reader.content(name, is_required=True)
            key = _key_of(reader, name, name.removeprefix("protocols/"), ".json")
            if content is not None and key is not None:
                found[key] = content
    return found


def _contract(reader: _Reader, protocols: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The Contract document; a review stage names its protocol by file (`protocol`), here it gets that file's hash."""
    name = "contract.json"
    document = reader.json(name, kind=None, is_required=False)
    if document is None:
        return None
    stages = document.get("stages")
    for place, stage in enumerate(stages if isinstance(stages, list) else []):
        if not isinstance(stage, dict) or "protocol" not in stage:
            continue
        named = stage.pop("protocol")
        content = protocols.get(named) if isinstance(named, str) else None
        if content is None:
            message = "Name a file of the folder protocols, without .json."
            reader.add(name, "protocol_missing", message, f"/stages/{place}/protocol")
            continue
        try:
            stage |= {"review_protocol_id": None, "protocol_hash": read_protocol(content).protocol_hash}
        except DocumentRefused as refused:
            reader.findings += [PackageFinding(f"protocols/{named}.json", finding) for finding in refused.findings]
    found = validate_document("verifier-contract", document)
    reader.findings += [PackageFinding(name, finding) for finding in found]
    return None if found else document


def _plain_files(folder: Path) -> dict[str, Path]:
    """Every regular file below the directory, by its relative name; links and devices are refused, not followed."""
    if not folder.is_dir():
        raise PackageRefused([PackageFinding(str(folder), Finding("no_folder", "", "Expected a directory."))])
    found: dict[str, Path] = {}
    findings = []
    for relative, entry in _entries(folder, ""):
        if not relative.isprintable():
            message = "Expected a name of printable UTF-8; rename it."
            findings.append(PackageFinding(ascii(relative), Finding("name_not_text", "", message)))
        elif not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            findings.append(PackageFinding(relative, Finding("not_a_file", "", "Expected a plain file; remove it.")))
        elif entry.stat(follow_symlinks=False).st_size > MAX_FILE_BYTES:
            findings.append(PackageFinding(relative, Finding("too_large", "", "This file is too large.")))
        else:
            found[relative] = Path(entry.path)
        if len(found) > MAX_FILES:
            findings.append(PackageFinding(relative, Finding("too_many_files", "", f"More than {MAX_FILES} files.")))
            break
    if findings:
        raise PackageRefused(findings)
    return found


def _entries(folder: Path, prefix: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        relative = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if relative.count("/") >= MAX_DEPTH:
                raise PackageRefused([PackageFinding(relative, Finding("too_deep", "", "Folders nest too deep."))])
            yield from _entries(Path(entry.path), f"{relative}/")
        else:
            yield relative, entry


def _bounded(path: Path, limit: int) -> bytes | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else None


def _key_of(reader: _Reader, name: str, rest: str, suffix: str) -> str | None:
    key = rest.removesuffix(suffix)
    if is_key(key):
        return key
    reader.add(name, "not_a_key", "Name the file by its key: a-z, 0-9 and _, beginning with a letter.")
    return None


def _link(reader: _Reader, name: str, key: str) -> dict[str, Link]:
    document = reader.json(name, kind=None, is_required=True)
    if document is None:
        return {}
    wanted: dict[str, type] = {
        "url": str, "content_hash": str, "size_bytes": int, "media_type": str, "filename": str,
    }  # fmt: skip
    # `type` and not `isinstance`: true is no number of bytes.
    wrong = [member for member, kind in wanted.items() if type(document.get(member)) is not kind]
    unknown = sorted(set(document) - set(wanted))
    for member in (*wrong, *unknown):
        reader.add(name, "link_member", f"Expected exactly {', '.join(wanted)}.", f"/{member}")
    return {} if wrong or unknown else {key: Link(**document)}
