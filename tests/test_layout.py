"""The house as DESIGN.md draws it: what stands where, how large a room may grow, what must not lie in it."""

import ast
import os
import platform
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

TOP_LEVEL = {
    ".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "DECISIONS.md", "LICENSE", "Makefile", "README.md", "docs",
    "manage.py", "platform", "pyproject.toml", "reviews", "static", "templates", "tests", "uv.lock", "verification",
}  # fmt: skip
PLATFORM_ROOMS = {
    "accounts", "api", "blobs", "config", "mcp_server", "measurement", "notices", "packages", "problems",
    "requirements", "submissions", "tfp", "web",
}  # fmt: skip
# Made by tools or by running the platform, and kept out of the repository by .gitignore.
NOT_OURS = {
    ".boot", ".git", ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv",
    "__pycache__", "built", "dist", "staticfiles", "var",
}  # fmt: skip
VENDORED = {"static/vendor", "tests/e2e/vendor"}
SOURCES = {".c", ".css", ".html", ".js", ".py"}
TEXTS = SOURCES | {".json", ".md", ".toml", ".txt", ".yml", ""}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60

# Put together from pieces, so that this file does not break its own rules.
REGISTRIES = re.compile(
    "|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.org", r"deb\.debian" + r"\.org"))
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.\-/{}])/(?:" + "|".join(("ro" + "ot", "wo" + "rk", "ho" + r"me/\w+", "Us" + r"ers/\w+")) + r")/"
)
UNNUMBERED = re.compile(r"\b(?:TO" + "DO|FIX" + r"ME|X{3})\b(?!\s*\(?#\d+)")
CLOCKS = {"now", "utcnow", "today", "fromtimestamp"}


@lru_cache(maxsize=1)
def our_files() -> tuple[Path, ...]:
    """Every file of the project, relative to its root; what tools made and what others wrote is left out."""
    return tuple(sorted(_walk(ROOT)))


def _walk(directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in entries:
            path = Path(entry.path).relative_to(ROOT)
            if entry.name in NOT_OURS or path.as_posix() in VENDORED:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path))
            elif not entry.name.endswith(".pyc"):
                yield path


def files_with(suffixes: set[str]) -> list[Path]:
    """The project's files of some kinds."""
    return [path for path in our_files() if path.suffix in suffixes]


def modules() -> list[Path]:
    """The project's Python files, migrations left out: a tool writes those."""
    return [path for path in files_with({".py"}) if "migrations" not in path.parts]


def text_of(path: Path) -> str:
    """The file's text; bytes that are none (fonts, fixtures made to be broken) read as nothing."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def lines_that_match(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """`path:line: text` for each line in which the pattern is found."""
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in paths
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def test_the_folder_platform_does_not_hide_pythons_own_module() -> None:
    package_file = ROOT / "platform" / "__init__.py"

    assert not package_file.exists()
    assert platform.system() == os.uname().sysname


def test_the_top_level_is_what_the_design_draws() -> None:
    found = {path.parts[0] for path in our_files()}

    assert found == TOP_LEVEL


def test_platform_holds_no_room_that_the_design_does_not_name() -> None:
    found = {path.parts[1] for path in our_files() if path.parts[0] == "platform"}

    assert found - PLATFORM_ROOMS == set()


def test_nothing_is_named_for_having_no_place() -> None:
    nameless = {"utils", "util", "helpers", "helper", "common", "misc"}

    found = [str(path) for path in modules() if nameless & {*path.parts[:-1], path.stem}]

    assert found == []


def test_tests_are_no_package() -> None:
    found = [str(path) for path in our_files() if path.parts[0] == "tests" and path.name == "__init__.py"]

    assert found == []


def test_no_file_outgrows_its_reader() -> None:
    sources = [path for path in files_with(SOURCES) if "migrations" not in path.parts]

    lengths = {str(path): len(text_of(path).splitlines()) for path in sources}

    assert {path: length for path, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_no_function_outgrows_its_reader() -> None:
    lengths = {
        f"{path}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in modules()
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert {name: length for name, length in lengths.items() if length > MAX_FUNCTION_LINES} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(path) for path in modules() if not ast.get_docstring(ast.parse(text_of(path)))]

    assert silent == []


def test_work_left_over_carries_the_number_of_an_issue() -> None:
    found = lines_that_match(UNNUMBERED, files_with(SOURCES | {".md", ".toml"}))

    assert found == []


def test_no_registry_is_named_outside_the_lock() -> None:
    found = lines_that_match(REGISTRIES, [path for path in files_with(TEXTS) if path.name != "uv.lock"])

    assert found == []


def test_no_path_of_somebodys_machine_is_written_down() -> None:
    found = lines_that_match(MACHINE_PATHS, [path for path in files_with(TEXTS) if path.name != "LICENSE"])

    assert found == []


@pytest.mark.parametrize("rules", ["verification/engine", "reviews/rules"])
def test_rules_ask_for_no_time_of_day(rules: str) -> None:
    machine = {f"{rules}/sandbox", f"{rules}/checkers"}
    paths = [
        path
        for path in modules()
        if path.as_posix().startswith(f"{rules}/")
        and not any(path.as_posix().startswith(f"{part}/") for part in machine)
    ]

    asked = [
        f"{path}:{node.lineno}"
        for path in paths
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS
    ]

    assert asked == []
