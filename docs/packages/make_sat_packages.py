"""Writes the made parts of the three SAT packages: what they share, and the two instances that are committed.

    python docs/packages/make_sat_packages.py

What they share comes from the canonical SAT Contract in `verification/engine/examples`, so that importing all three
gives one Contract. Statements, summaries and the skill are written by hand and left alone. Run it after a change of
the canonical Contract or of an encoding below, and commit what it writes; a test compares.
"""

from __future__ import annotations

import json
import sys
from math import isqrt
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "verification" / "engine" / "examples"
PACKAGES = ("sat-small", "sat-structured", "sat-large")

# Members that a Contract has only once it is published; a package holds none of them.
PUBLISHED_MEMBERS = ("id", "verifier_id", "version", "normative_hash", "published_at", "yank")

VERIFIER = {
    "schema": "tfp.verifier/v1",
    "name": "@tfp/sat-assignment",
    "description": "Checks an assignment against a formula in conjunctive normal form, clause by clause. It reads both "
    "files strictly, as bytes, and never searches for an assignment itself.",
}

IMPLEMENTATION = {
    "runtime": "tfp-builtin/sat-assignment:1",
    "program": None,
    "limits": {
        "vcpu": 1,
        "memory_mb": 4096,
        "disk_mb": 64,
        "timeout_seconds": 600,
        "pids": 32,
        "network": "none",
    },
    "source": {"uri": "urn:tfp:builtin:sat-assignment", "revision": "1", "license": "AGPL-3.0-or-later"},
}

SCHUR_COLOURS, SCHUR_NUMBERS = 3, 13
TRIPLE_NUMBERS = 5000


def schur_instance() -> bytes:
    """Numbers 1 to 13 in three colours, no colour holding a, b and a + b."""

    def has(number: int, colour: int) -> int:
        return SCHUR_COLOURS * (number - 1) + colour

    numbers, colours = range(1, SCHUR_NUMBERS + 1), range(1, SCHUR_COLOURS + 1)
    clauses = [[has(number, colour) for colour in colours] for number in numbers]
    clauses += [
        [-has(number, first), -has(number, second)]
        for number in numbers
        for first in colours
        for second in colours
        if first < second
    ]
    for total in numbers:
        for part in range(1, total // 2 + 1):
            members = sorted({part, total - part, total})
            clauses += [[-has(member, colour) for member in members] for colour in colours]
    comments = [
        f"Colour the numbers 1 to {SCHUR_NUMBERS} with {SCHUR_COLOURS} colours so that no colour holds a, b and a + b.",
        f"Variable {SCHUR_COLOURS}(n - 1) + k: the number n has the colour k.",
    ]
    return _dimacs(comments, SCHUR_COLOURS * SCHUR_NUMBERS, clauses)


def triples_instance() -> bytes:
    """Numbers 1 to 5000 in two colours, no right triangle with whole sides in one colour."""
    clauses: list[list[int]] = []
    for short in range(1, TRIPLE_NUMBERS):
        for long in range(short + 1, TRIPLE_NUMBERS):
            square = short * short + long * long
            if square > TRIPLE_NUMBERS * TRIPLE_NUMBERS:
                break
            hypotenuse = isqrt(square)
            if hypotenuse * hypotenuse == square:
                clauses += [[short, long, hypotenuse], [-short, -long, -hypotenuse]]
    comments = [
        f"Colour the numbers 1 to {TRIPLE_NUMBERS} with two colours so that",
        "no a, b, c of one colour have a^2 + b^2 = c^2.",
        "Variable n: the number n has the first colour.",
    ]
    return _dimacs(comments, TRIPLE_NUMBERS, clauses)


def _dimacs(comments: list[str], variables: int, clauses: list[list[int]]) -> bytes:
    lines = [f"c {comment}" for comment in comments]
    lines.append(f"p cnf {variables} {len(clauses)}")
    lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
    return ("\n".join(lines) + "\n").encode("ascii")


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def made_files() -> dict[str, bytes]:
    """Every file that this script is responsible for, by its path below `docs/packages`."""
    canonical = json.loads((EXAMPLES / "verifier-contract.sat.json").read_bytes())
    contract = {name: member for name, member in canonical.items() if name not in PUBLISHED_MEMBERS}
    shared = {
        "verifier.json": _json(VERIFIER),
        "contract.json": _json(contract),
        "implementations/assignment_check.json": _json(IMPLEMENTATION),
    }
    for fixture in contract["conformance_fixtures"]:
        for kind in ("reference", "artifacts"):
            for name, file in fixture[kind].items():
                content = (EXAMPLES / "files" / "sat" / file["filename"]).read_bytes()
                shared[f"fixtures/{fixture['key']}/{kind}/{name}"] = content
    files = {f"{package}/{path}": content for package in PACKAGES for path, content in shared.items()}
    files["sat-small/reference/instance"] = schur_instance()
    files["sat-structured/reference/instance"] = triples_instance()
    return files


def main() -> int:
    """Writes them all."""
    for path, content in made_files().items():
        target = HERE / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
