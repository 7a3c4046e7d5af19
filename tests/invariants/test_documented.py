"""docs/invariants.md names every invariant and only test files that exist and hold it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", (ROOT / "docs" / "invariants.md").read_text(), re.MULTILINE)


def test_every_invariant_has_its_row_and_a_test_of_its_number():
    tested = {
        int(number)
        for path in (ROOT / "tests").rglob("test_*.py")
        for number in re.findall(r"def test_inv_(\d\d)_", path.read_text())
    }

    assert [int(number) for number, _ in ROWS] == list(range(1, 26))
    assert set(range(1, 26)) <= tested


def test_every_file_that_is_named_exists():
    named = {name for _, cell in ROWS for name in re.findall(r"`([a-z_0-9/]+\.py)`", cell)}
    places = {
        name: ROOT / "tests" / ("verification" if name.startswith(("engine/", "runs/")) else "") / name
        for name in named
    }

    assert {name for name, path in places.items() if not path.is_file()} == set()
