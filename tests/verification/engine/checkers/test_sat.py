"""The SAT checker as a program: arguments, exit status, and what it writes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verification.engine.checkers import sat, sat_build, sat_fast

ROOT = Path(sat.__file__).parents[3]

INSTANCE = b"p cnf 3 2\n1 -2 0\n2 3 0\n"
ASSIGNMENTS = {"verified": b"v 1 2 3 0\n", "refuted": b"v -1 2 3 0\n", "inconclusive": b"v 1 2 3\n"}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "instance").write_bytes(INSTANCE)
    (tmp_path / "bad").write_bytes(b"p cnf 3 2\n1 x 0\n")
    for name, content in ASSIGNMENTS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "out").mkdir()
    return tmp_path


def run(files, *argv, module=True):
    """The program as people start it, or as the sandbox does."""
    boot = "import sys; sys.path[:0] = [sys.argv.pop(1)]; from verification.engine.checkers.sat import main; "
    command = (
        [sys.executable, "-m", "verification.engine.checkers.sat"]
        if module
        else [sys.executable, "-I", "-S", "-B", "-c", boot + "sys.exit(main(sys.argv[1:]))", str(ROOT)]
    )
    arguments = [str(files / word) if (files / word).exists() else word for word in argv]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} if module else {}
    return subprocess.run([*command, *arguments], cwd=files, env=environment, capture_output=True, check=False)


@pytest.mark.parametrize("module", [True, False], ids=["module", "isolated"])
@pytest.mark.parametrize("result", ASSIGNMENTS)
def test_it_prints_its_result_and_exits_0_when_it_decided(files, result, module):
    done = run(files, "--instance", "instance", "--assignment", result, module=module)

    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, result)


@pytest.mark.parametrize("result", ASSIGNMENTS)
def test_it_writes_the_printed_result_and_a_summary_of_every_readable_file(files, result):
    done = run(files, "--instance", "instance", "--assignment", result, "--output", "out")

    written = {str(path.relative_to(files / "out")) for path in (files / "out").rglob("*") if path.is_file()}
    assert (files / "out/result.json").read_bytes() == done.stdout
    assert written == {"result.json"} | ({"evidence/summary.json"} if result != "inconclusive" else set())


def test_the_summary_counts_clauses_and_variables(files):
    run(files, "--instance=instance", "--assignment", "refuted", "--output", "out")

    assert json.loads((files / "out/evidence/summary.json").read_bytes()) == {
        "clauses_total": 2,
        "clauses_satisfied": 1,
        "variables_total": 3,
        "variables_assigned": 3,
    }


@pytest.mark.parametrize("result", ASSIGNMENTS)
def test_a_bad_instance_exits_2_names_line_and_reason_and_writes_nothing(files, result):
    done = run(files, "--instance", "bad", "--assignment", result, "--output", "out")

    assert (done.returncode, done.stdout, list((files / "out").iterdir())) == (2, b"", [])
    assert done.stderr.splitlines()[-1] == (
        b'sat: the instance is bad: line 2: expected a literal or the 0 that ends a clause, found "x"'
    )


def test_the_validator_accepts_a_good_instance(files):
    done = run(files, "--validate-instance", "--instance", "instance", "--output", "out")

    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, "verified")
    assert [path.name for path in (files / "out").iterdir()] == ["result.json"]


def test_the_validator_refuses_a_bad_instance_with_line_and_reason(files):
    done = run(files, "--validate-instance", "--instance", "bad")

    assert (done.returncode, json.loads(done.stdout)) == (
        0,
        {
            "result": "refuted",
            "reason": "The instance is not a well-formed DIMACS CNF file.",
            "findings": ['line 2: expected a literal or the 0 that ends a clause, found "x"'],
        },
    )


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--instance", "instance"],
        ["--assignment", "verified"],
        ["--validate-instance"],
        ["--instance", "instance", "--assignment"],
        ["--instance", "instance", "--assignment", "verified", "--validate-instance"],
        ["--instance", "instance", "--instance", "instance", "--assignment", "verified"],
        ["--instance", "instance", "--assignment", "verified", "--fast"],
        ["--instance", "instance", "--assignment", "verified", "more"],
        ["--instance", "instance", "--validate-instance=no"],
        ["--help"],
    ],
)
def test_wrong_usage_exits_64_and_shows_the_usage(capsys, argv):
    status = sat.main(argv)

    written = capsys.readouterr()
    assert (status, written.out, sat.USAGE_TEXT in written.err) == (64, "", True)


def test_a_file_that_cannot_be_read_exits_66(files, capsys):
    status = sat.main(["--instance", str(files / "instance"), "--assignment", str(files / "absent")])

    written = capsys.readouterr()
    assert (status, written.out) == (66, "")
    assert str(files / "absent") in written.err


def test_an_output_that_cannot_be_written_exits_73(files, capsys):
    argv = ["--instance", str(files / "instance"), "--assignment", str(files / "verified")]

    status = sat.main([*argv, "--output", str(files / "instance")])

    assert (status, capsys.readouterr().out) == (73, "")


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_without_the_compiled_part_the_answers_are_the_same_and_the_log_says_so(
    files, tmp_path, monkeypatch, capsys, assignment
):
    argv = ["--instance", str(files / "instance"), "--assignment", str(files / assignment)]
    sat.main([*argv, "--output", str(files / "out")])
    usual = capsys.readouterr().out
    monkeypatch.setattr(sat_fast, "library_path", lambda: str(tmp_path / "absent.so"))

    status = sat.main(argv)

    written = capsys.readouterr()
    assert (status, written.out) == (0, usual)
    assert written.err.startswith("sat: reading plainly, which is slower, because")


def test_a_checker_that_is_isolated_uses_the_compiled_part(files):
    try:
        sat_build.build()
    except sat_fast.NoQuickReading as trouble:
        pytest.skip(f"the quick reading cannot be built here: {trouble}")

    done = run(files, "--instance", "instance", "--assignment", "verified", module=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_candidate_files_named_like_modules_are_not_imported(files):
    for name in ("json.py", "os.py", "sitecustomize.py", "verification.py", "ctypes.py"):
        (files / name).write_text("raise SystemExit('imported')")

    done = run(files, "--instance", "instance", "--assignment", "refuted", module=False)

    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, "refuted")
