"""The checkers that ship with the platform: names, digests over their sources, and the arguments they take."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from verification.engine.documents import document_hash

# The directory that holds the package `verification`: the checkout, or site-packages.
SOURCE_ROOT = Path(__file__).resolve().parents[3]

BUILTIN_PREFIX = "tfp-builtin/"


@dataclass(frozen=True)
class CheckerFiles:
    """The paths one execution hands to a builtin that is given paths as arguments.

    `artifacts` maps roles to files, `reference` slot keys; `output` is the directory for the result and evidence.
    """

    artifacts: Mapping[str, Path]
    reference: Mapping[str, Path]
    manifest: Path
    output: Path


def named_arguments(files: CheckerFiles) -> list[str]:
    """`--<role> FILE` for each artifact, `--<key> FILE` for each reference input, and `--output DIR`."""
    arguments: list[str] = []
    for name, path in [*files.reference.items(), *files.artifacts.items()]:
        arguments += [f"--{name}", str(path)]
    return [*arguments, "--output", str(files.output)]


def instance_arguments(files: CheckerFiles) -> list[str]:
    """A reference validator's arguments: it sees the bytes of one slot, whatever the Contract calls that slot."""
    arguments = ["--validate-instance"]
    for path in files.reference.values():
        arguments += ["--instance", str(path)]
    return [*arguments, "--output", str(files.output)]


@dataclass(frozen=True)
class Builtin:
    """One checker of the platform.

    `module` has `main(argv: list[str]) -> int` and imports nothing but the standard library and its own sources.
    `sources` are all files that decide what it answers, relative to `root`; a change to any is another digest, and so
    another Implementation that has to pass conformance.
    """

    name: str
    version: int
    module: str
    sources: tuple[str, ...]
    argv: Callable[[CheckerFiles], list[str]] = named_arguments
    root: Path = SOURCE_ROOT
    _known: dict[tuple[object, ...], str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def image_ref(self) -> str:
        """The name people read."""
        return f"{BUILTIN_PREFIX}{self.name}:{self.version}"

    @property
    def image_digest(self) -> str:
        """Digest over name, version and the exact bytes of the sources as they lie there now.

        Cached by the files' identity, size and times, not for good: a worker that outlives an upgrade must notice
        that it no longer has what it was asked for.

        Raises:
            OSError: a source is not there.
        """
        paths = [self.root / source for source in self.sources]
        stamp = tuple(_stamp(path) for path in paths)
        if stamp not in self._known:
            hashes = {
                source: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
                for source, path in zip(self.sources, paths, strict=True)
            }
            self._known[stamp] = document_hash({"name": self.name, "version": self.version, "sources": hashes})
        return self._known[stamp]


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


_SAT_MODULE = "verification.engine.checkers.sat"


def _sat_sources() -> tuple[str, ...]:
    """Every file of the SAT checker that ships; what is compiled from them is no source."""
    folder = SOURCE_ROOT / "verification" / "engine" / "checkers"
    return tuple(
        sorted(str(path.relative_to(SOURCE_ROOT)) for path in folder.glob("sat*") if path.suffix in {".py", ".c"})
    )


BUILTINS: Mapping[str, Builtin] = MappingProxyType(
    {
        builtin.name: builtin
        for builtin in (
            Builtin("sat-assignment", 1, _SAT_MODULE, _sat_sources()),
            Builtin("sat-instance", 1, _SAT_MODULE, _sat_sources(), argv=instance_arguments),
        )
    }
)


def resolve(image_digest: str, builtins: Iterable[Builtin] = tuple(BUILTINS.values())) -> Builtin | None:
    """The builtin whose sources have this digest at this moment, or None."""
    for builtin in builtins:
        try:
            if builtin.image_digest == image_digest:
                return builtin
        except OSError:
            # Sources that are not there cannot be what was asked for.
            continue
    return None
