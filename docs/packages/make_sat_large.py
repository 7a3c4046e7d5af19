"""Makes the large SAT package: the committed part of `sat-large/` and an instance just below the Contract's limit.

    python docs/packages/make_sat_large.py [DIRECTORY]

DIRECTORY (`var/packages` unless given) then holds `sat-large/`, ready to be imported, and beside it
`sat-large.assignment.txt`, the assignment that the instance was built around. Everything follows from one seed, so that
every machine makes the same bytes; a second call finds them and does nothing.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT_DIRECTORY = HERE.parents[1] / "var" / "packages"

SEED = 20260101
VARIABLES = 125_000
LIMIT_BYTES = 10_485_760
ASSIGNMENT_LINE = 12

INSTANCE_SHA256 = "e0fba625a5f968a952a23a95e60d2aeeeeb8c5a162c6c9f21f1fd0fdf2578df9"
ASSIGNMENT_SHA256 = "e404da7e8308f6bc2c6197a33332e5233eede8a8d20740ad249a9451001d96f9"

HEADER = """c {clauses} clauses of three literals over {variables} variables, drawn with seed {seed}.
c Every clause is true under one assignment that was drawn first, so the formula can be satisfied.
p cnf {variables} {clauses}
"""


class OtherBytes(Exception):
    """This machine made other bytes from the seed than every other one does."""


def instance_and_assignment() -> tuple[bytes, bytes]:
    """The formula and the assignment it was built around."""
    # Only `random()` itself is drawn from: it alone is promised to give the same sequence in every Python.
    draw = random.Random(SEED).random  # noqa: S311 - reproducible on purpose, and nothing secret
    planted = [draw() < 0.5 for _ in range(VARIABLES + 1)]
    room = LIMIT_BYTES - len(HEADER.format(clauses=100_000, variables=VARIABLES, seed=SEED))
    lines: list[str] = []
    while True:
        variables = {1 + int(draw() * VARIABLES) for _ in range(3)}
        if len(variables) < 3:
            continue
        signs = [(variable, draw() < 0.5) for variable in sorted(variables)]
        if all(planted[variable] != sign for variable, sign in signs):
            continue
        line = " ".join(str(variable if sign else -variable) for variable, sign in signs) + " 0\n"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    instance = HEADER.format(clauses=len(lines), variables=VARIABLES, seed=SEED) + "".join(lines)
    literals = [str(variable if planted[variable] else -variable) for variable in range(1, VARIABLES + 1)]
    values = [literals[start : start + ASSIGNMENT_LINE] for start in range(0, VARIABLES, ASSIGNMENT_LINE)]
    assignment = "s SATISFIABLE\n" + "".join(f"v {' '.join(line)}\n" for line in values) + "v 0\n"
    return instance.encode("ascii"), assignment.encode("ascii")


def _holds(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _place(path: Path, content: bytes, sha256: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise OtherBytes(f"{path.name}: expected SHA-256 {sha256}, made {found}; compare the Python versions")
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def _copy_committed(package: Path) -> None:
    """Brings everything but the instance up to date, and removes what is committed no longer."""
    package.mkdir(parents=True, exist_ok=True)
    for found in package.iterdir():
        if found.is_dir() and found.name != "reference":
            shutil.rmtree(found)
        elif found.is_file():
            found.unlink()
    shutil.copytree(HERE / "sat-large", package, dirs_exist_ok=True)


def make(directory: Path = DEFAULT_DIRECTORY) -> Path:
    """The package's directory below `directory`, made if it is not there.

    Raises:
        OtherBytes: the seed gave other bytes here.
    """
    package = directory / "sat-large"
    _copy_committed(package)
    instance, assignment = package / "reference" / "instance", directory / "sat-large.assignment.txt"
    if not (_holds(instance, INSTANCE_SHA256) and _holds(assignment, ASSIGNMENT_SHA256)):
        instance.parent.mkdir(exist_ok=True)
        made_instance, made_assignment = instance_and_assignment()
        _place(assignment, made_assignment, ASSIGNMENT_SHA256)
        _place(instance, made_instance, INSTANCE_SHA256)
    return package


def main(argv: list[str]) -> int:
    """Makes the package and says where it is."""
    if len(argv) > 1:
        sys.stderr.write("usage: make_sat_large.py [DIRECTORY]\n")
        return 64
    package = make(Path(argv[0]) if argv else DEFAULT_DIRECTORY)
    sys.stdout.write(f"{package}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
