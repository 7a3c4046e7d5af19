"""Runtime images: made from this machine's own Python, unpacked once, and named by the catalogue.

An image is one OCI layer with its config and manifest; the image digest is the manifest's, as Docker would have it. It
holds the interpreter, the standard library and the shared libraries they need, with fixed times, owners and order, so
that two builds on one machine have one digest. What is compiled from it while unpacking is a cache and no part of it.
"""

import hashlib
import io
import json
import logging
import os
import platform
import re
import shutil
import stat
import struct
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from verification.engine.checkers.registry import SOURCE_ROOT

logger = logging.getLogger(__name__)

CATALOGUE_PATH = Path(__file__).with_name("runtimes.json")
DEVELOPMENT_NAME = re.compile(r"tfp-runtime/python-\d+\.\d+\.\d+-dev:[0-9a-f]{12}")

# No checker needs windows, installers, other people's tests or the network; and the build's own settings, which
# would tell the machine's paths, are left out too.
_LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "dist-packages"}
    | {"__pycache__", "pydoc_data", "distutils", "venv", "curses", "dbm"}
)
_LEFT_OUT_FILES = re.compile(
    r"(_sysconfig(_vars_|data).*|turtle\.py|sitecustomize\.py|(_tkinter|_curses|_curses_panel|readline|_dbm|_gdbm|nis|_ssl"
    r"|_test\w*|_xx\w*|xx\w*|_ctypes_test)\..*\.so)"
)
_INTERPRETER_SEGMENT = 3
_LIBRARY_ROW = re.compile(r"^\s*(\S+)(?: => (\S+))? \(0x[0-9a-f]+\)$", re.MULTILINE)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class RuntimeRefused(Exception):
    """A runtime cannot be made from this machine, or would take a name that is not its own; the message says why."""


@dataclass(frozen=True)
class Runtime:
    """One runtime that is unpacked here."""

    name: str
    image_digest: str
    directory: Path
    python: str
    is_development: bool

    @property
    def root_path(self) -> Path:
        """The unpacked root, to be shown read-only."""
        return self.directory / "rootfs"

    @property
    def mount_point(self) -> Path:
        """An empty directory on which a sandbox, in its own mount namespace, assembles its root."""
        return self.directory / "mnt"


def default_runtimes_root() -> Path:
    """Where runtimes lie unless a deployment says otherwise."""
    named = os.environ.get("TFP_RUNTIMES_DIR")
    return Path(named) if named else Path(os.environ.get("TFP_VAR_DIR") or SOURCE_ROOT / "var") / "runtimes"


def runtimes_in(root: Path) -> Mapping[str, Runtime]:
    """The runtimes that are enabled by lying below `root`, by image digest; the newest first."""
    try:
        changed = root.stat().st_mtime_ns
    except FileNotFoundError:
        return {}
    return _runtimes(root, changed)


@lru_cache(maxsize=8)
def _runtimes(root: Path, _changed: int) -> Mapping[str, Runtime]:
    found = []
    for note in root.glob("*/runtime.json"):
        try:
            document = json.loads(note.read_text(encoding="utf-8"))
            runtime = Runtime(
                name=document["name"],
                image_digest=document["image_digest"],
                directory=note.parent.absolute(),
                python=document["python"],
                is_development=document["is_development"],
            )
            check_name(runtime)
        except (OSError, ValueError, KeyError, RuntimeRefused):
            # One that is not in order is not there; the others still are.
            logger.warning("a runtime was left out: %s", note, exc_info=True)
            continue
        found.append((note.stat().st_mtime_ns, runtime))
    found.sort(key=lambda row: row[0], reverse=True)
    return {runtime.image_digest: runtime for _time, runtime in found}


def check_name(runtime: Runtime, catalogue: Mapping[str, Any] | None = None) -> None:
    """Refuse a runtime under a name that means something else.

    Raises:
        RuntimeRefused: the catalogue pins another digest for the name, or the name is not one a build here may take.
    """
    document = catalogue if catalogue is not None else json.loads(CATALOGUE_PATH.read_text(encoding="utf-8"))
    pinned = {row["name"]: row["image_digest"] for row in document["runtimes"]}
    if runtime.name in pinned:
        if pinned[runtime.name] != runtime.image_digest:
            raise RuntimeRefused(
                f"expected {runtime.name} to be {pinned[runtime.name]}, as the catalogue pins it, found "
                f"{runtime.image_digest}; a deployment may enable a name, never redefine it"
            )
        return
    own_name = DEVELOPMENT_NAME.fullmatch(runtime.name) and runtime.name.endswith(runtime.image_digest[7:19])
    if not (own_name and runtime.is_development):
        raise RuntimeRefused(
            f"expected a name of the catalogue or {document['development']['name']}, found {runtime.name}; "
            "build it with `manage.py images build-runtime`"
        )


def build_runtime(root: Path) -> Runtime:
    """The runtime of this machine's Python, unpacked below `root`; what is there already stays.

    Raises:
        RuntimeRefused: this Python or machine cannot be made into one.
    """
    if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES:
        raise RuntimeRefused(f"expected Linux on {', '.join(_ARCHITECTURES)}, found {sys.platform}")
    root.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=root))
    try:
        layer = draft / "layer.tar"
        python = _write_layer(layer)
        manifest, config = _documents(_digest(layer), layer.stat().st_size, python)
        image_digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
        final = root / image_digest.removeprefix("sha256:")
        name = f"tfp-runtime/python-{platform.python_version()}-dev:{image_digest[7:19]}"
        runtime = Runtime(name, image_digest, final.absolute(), python, is_development=True)
        check_name(runtime)
        if not (final / "runtime.json").exists():
            _unpack(layer, draft)
            (draft / "manifest.json").write_bytes(manifest)
            (draft / "config.json").write_bytes(config)
            note = {"name": name, "image_digest": image_digest, "python": python, "is_development": True}
            (draft / "runtime.json").write_text(json.dumps(note, indent=1), encoding="utf-8")
            draft.chmod(0o755)
            # Two builds at once: the second finds the place taken by the very same content.
            if not final.exists():
                draft.rename(final)
        return runtime
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _unpack(layer: Path, draft: Path) -> None:
    rootfs = draft / "rootfs"
    rootfs.mkdir(mode=0o755)
    with tarfile.open(layer) as archive:
        archive.extractall(rootfs, filter="tar")
    layer.unlink()
    (draft / "mnt").mkdir(mode=0o755)
    # A process of its own: this one may be a worker that must not fork, or a script that cannot be imported again.
    command = [sys.executable, "-I", "-S", "-m", "compileall", "-qq", "-j", "0", "-s", str(rootfs), "-p", "/"]
    done = subprocess.run(
        [*command, "--invalidation-mode", "unchecked-hash", str(rootfs / "usr" / sys.platlibdir)], check=False, env={}
    )
    if done.returncode < 0:
        raise RuntimeRefused(f"expected the standard library to be compiled, found signal {-done.returncode}")


def _documents(layer_digest: str, layer_size: int, python: str) -> tuple[bytes, bytes]:
    """Manifest and config of an OCI image with this one layer."""
    config = _canonical(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": {"Entrypoint": [python, "-I", "-S", "-B"], "User": "65532:65532", "WorkingDir": "/tmp"},  # noqa: S108
            "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
        }
    )
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": f"sha256:{hashlib.sha256(config).hexdigest()}",
            "size": len(config),
        },
        "layers": [
            {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layer_digest, "size": layer_size},
        ],
    }
    return _canonical(manifest), config


def _canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _write_layer(path: Path) -> str:
    """Write the layer; the path of the interpreter in it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    target = f"usr/{sys.platlibdir}/python{version}"
    files = {f"usr/bin/python{version}": executable}
    files |= {f"{target}/{name}": source for name, source in _stdlib_files(stdlib)}
    files |= _libraries([executable, *(source for name, source in files.items() if name.endswith(".so"))])
    links = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "usr/bin/python3": f"python{version}"}
    directories = {"usr/lib", "usr/lib64", "dev", "input", "output", "tmp"}
    for name in [*files, *links]:
        directories |= {str(parent) for parent in Path(name).parents if str(parent) != "."}
    directories |= {"usr"}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted([*directories, *files, *links]):
            _add(archive, name, source=files.get(name), link=links.get(name))
    return f"/usr/bin/python{version}"


def _add(archive: tarfile.TarFile, name: str, *, source: Path | None, link: str | None) -> None:
    """One entry with nothing in it that depends on when, where and by whom it was made."""
    entry = tarfile.TarInfo(name)
    entry.mode = 0o755
    if link is not None:
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, link, 0o777
        archive.addfile(entry)
    elif source is None:
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
    else:
        content = source.read_bytes()
        entry.size = len(content)
        entry.mode = 0o755 if source.stat().st_mode & stat.S_IXUSR else 0o644
        archive.addfile(entry, io.BytesIO(content))


def _stdlib_files(stdlib: Path) -> Iterator[tuple[str, Path]]:
    for folder, names, files in os.walk(stdlib):
        names[:] = [name for name in names if name not in _LEFT_OUT and not name.startswith("config-")]
        for name in files:
            source = Path(folder) / name
            is_wanted = name.endswith((".py", ".so", ".txt", ".toml")) and not _LEFT_OUT_FILES.fullmatch(name)
            if is_wanted and not source.is_symlink():
                yield source.relative_to(stdlib).as_posix(), source


def _libraries(binaries: list[Path]) -> dict[str, Path]:
    """The loader and every shared library that it finds for these binaries, by where they lie in the image."""
    loader = _loader_of(binaries[0])
    found = {_library_place(loader): Path(loader)}
    for binary in binaries:
        done = subprocess.run([loader, "--list", str(binary)], capture_output=True, text=True, check=False, env={})
        if "not found" in done.stdout:
            raise RuntimeRefused(f"expected all libraries of {binary.name}, found some missing: {done.stdout.strip()}")
        for name, path in _LIBRARY_ROW.findall(done.stdout):
            source = path or name
            if source.startswith("/") and Path(source).name != Path(loader).name:
                found[_library_place(source)] = Path(source).resolve()
    return found


def _library_place(path: str) -> str:
    """A place in which the loader looks by itself."""
    for standard in ("/usr/lib", "/lib"):
        if path.startswith((f"{standard}/", f"{standard}64/")):
            return f"usr/{path.removeprefix('/usr').lstrip('/')}"
    return f"usr/lib/{Path(path).name}"


def _loader_of(executable: Path) -> str:
    """The loader that an ELF-64 executable asks for."""
    content = executable.read_bytes()
    if not content.startswith(b"\x7fELF\x02\x01"):
        raise RuntimeRefused(f"expected a 64-bit little-endian ELF executable, found {executable}")
    (offset,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for index in range(count):
        kind, _flags, start, _address, _physical, length = struct.unpack_from("<IIQQQQ", content, offset + size * index)
        if kind == _INTERPRETER_SEGMENT:
            return content[start : start + length].rstrip(b"\0").decode("ascii")
    raise RuntimeRefused(f"expected {executable} to name its loader, found none: a static Python has no extensions")
