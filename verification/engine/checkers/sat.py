"""The SAT checker as a program: reads two files, prints its result.json, and writes it where it is asked to.

    python -m verification.engine.checkers.sat --instance F --assignment F [--output DIR]
    python -m verification.engine.checkers.sat --instance F --validate-instance [--output DIR]

Exit 0: it decided. 2: the instance is bad, so nothing can be said about the assignment. 64: wrong usage. 66: a file
cannot be read. 73: the output cannot be written.
"""

# pathlib would cost 15 ms of a process that is to take 80.
# ruff: noqa: PTH103, PTH118, PTH123

from __future__ import annotations

import os
import sys

from verification.engine.checkers.sat_answer import Answer, BadInstance

DECIDED, BAD_INSTANCE, USAGE, NO_INPUT, NO_OUTPUT = 0, 2, 64, 66, 73

USAGE_TEXT = """usage: sat --instance FILE --assignment FILE [--output DIR]
       sat --instance FILE --validate-instance [--output DIR]
"""

FILE_OPTIONS = ("--instance", "--assignment", "--output")
VALIDATE_OPTION = "--validate-instance"


class WrongUsage(Exception):
    """The command line is not one of the two forms."""


def _options(argv: list[str]) -> dict[str, str]:
    """The command line by option. By hand: argparse would cost as much time as reading the instance."""
    options: dict[str, str] = {}
    rest = iter(argv)
    for word in rest:
        name, equals, value = word.partition("=")
        if name == VALIDATE_OPTION and not equals:
            value = "yes"
        elif name not in FILE_OPTIONS:
            raise WrongUsage(f"unknown argument {word!a}")
        elif not equals:
            value = next(rest, "")
        if not value or name in options:
            raise WrongUsage(f"{name} is to be given once, with a value")
        options[name] = value
    if "--instance" not in options or ("--assignment" in options) == (VALIDATE_OPTION in options):
        raise WrongUsage(f"expected --instance and either --assignment or {VALIDATE_OPTION}")
    return options


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def _decide(options: dict[str, str]) -> Answer:
    """The answer, by the quick reading where it is built and by the plain one elsewhere: they never differ."""
    instance = _content(options["--instance"])
    assignment = _content(options["--assignment"]) if "--assignment" in options else None
    from verification.engine.checkers import sat_fast

    try:
        quick = sat_fast.load()
    except sat_fast.NoQuickReading as trouble:
        from verification.engine.checkers import sat_plain

        _say(f"sat: reading plainly, which is slower, because the quick reading cannot be had: {trouble}")
        return sat_plain.validate(instance) if assignment is None else sat_plain.check(instance, assignment)
    return quick.validate(instance) if assignment is None else quick.check(instance, assignment)


def _write(directory: str, answer: Answer) -> None:
    summary = answer.summary_document()
    if summary is not None:
        evidence = os.path.join(directory, "evidence")
        os.makedirs(evidence, exist_ok=True)
        with open(os.path.join(evidence, "summary.json"), "wb") as file:
            file.write(summary)
    # The result last: where it stands, everything stands.
    with open(os.path.join(directory, "result.json"), "wb") as file:
        file.write(answer.result_document())


def _say(text: str) -> None:
    sys.stderr.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")


def main(argv: list[str]) -> int:
    """Runs the checker; the exit status."""
    try:
        options = _options(argv)
    except WrongUsage as trouble:
        _say(f"sat: {trouble}\n{USAGE_TEXT}")
        return USAGE
    try:
        answer = _decide(options)
    except BadInstance as found:
        _say(f"sat: the instance is bad: {found}")
        return BAD_INSTANCE
    except OSError as trouble:
        _say(f"sat: cannot read: {trouble}")
        return NO_INPUT
    try:
        if "--output" in options:
            _write(options["--output"], answer)
        sys.stdout.write(answer.result_document().decode("ascii"))
        sys.stdout.flush()
    except OSError as trouble:
        _say(f"sat: cannot write: {trouble}")
        return NO_OUTPUT
    return DECIDED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
