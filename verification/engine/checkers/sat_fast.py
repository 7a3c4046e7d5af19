"""The SAT reading that is used: sat_scan.c, through ctypes, for what is plainly in order; sat_plain for all else.

The compiled part only ever says "in order, and this is what I counted" or "not sure". Every refusal, and every word of
one, is the authority's. So the two can differ only if the compiled part accepts what the authority refuses, or counts
wrongly, and that is what the tests hunt for.
"""

# pathlib would cost 15 ms of a process that is to take 80.
# ruff: noqa: PTH100, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import ctypes
import os
import stat
import sys
import zlib

from verification.engine.checkers import sat_answer
from verification.engine.checkers.sat_answer import Answer, Counts, Unreadable

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sat_scan.c")

# One byte a variable is set aside, and eight-digit variables are left to the plain reading.
LARGEST_VARIABLE = 9_999_999

FOUND = ctypes.c_longlong * 5


class NoQuickReading(Exception):
    """The compiled part is missing, stale or not to be trusted; the message says which."""


def library_path() -> str:
    """Where the compiled part of exactly this source lies: beside the interpreter's own compiled files.

    The name carries the source's checksum and the machine, so that a part built from other source is never found. That
    guards against forgetting to build; against an enemy who may write here nothing would, for he could write sources.
    """
    with open(SOURCE, "rb") as source:
        checksum = zlib.crc32(source.read())
    directory, name = os.path.split(SOURCE)
    tag = f"{checksum:08x}-{sys.platform}-{os.uname().machine}"
    return os.path.join(directory, "__pycache__", f"{name.removesuffix('.c')}.{tag}.so")


def _check_ownership(path: str) -> None:
    """Refuses a compiled part that somebody other than the owner of its source could have written."""
    found, source = os.lstat(path), os.stat(SOURCE)
    directory = os.stat(os.path.dirname(path))
    if not stat.S_ISREG(found.st_mode):
        raise NoQuickReading(f"{path} is not a regular file")
    if found.st_uid not in {source.st_uid, 0}:
        raise NoQuickReading(f"{path} does not belong to the owner of {SOURCE}")
    if found.st_mode & 0o022 or directory.st_mode & 0o002:
        raise NoQuickReading(f"{path} can be written by others")


class QuickReading:
    """The functions of sat_scan.c, with their lengths and buffers kept straight."""

    def __init__(self, path: str) -> None:
        if sys.byteorder != "little":
            raise NoQuickReading("sat_scan.c reads eight digits at once, lowest byte first")
        try:
            library = ctypes.CDLL(path)
            self._header = library.sat_scan_header
            self._instance = library.sat_scan_instance
            self._assignment = library.sat_scan_assignment
        except (OSError, AttributeError) as trouble:
            raise NoQuickReading(str(trouble)) from trouble
        # The last two of each: a table of values (or of what was found) and its length, and where to write counts.
        text, length = ctypes.c_char_p, ctypes.c_longlong
        self._header.argtypes = [text, length, FOUND]
        self._instance.argtypes = [text, length, ctypes.c_void_p, length, FOUND]
        self._assignment.argtypes = [text, length, ctypes.c_void_p, length, FOUND]

    def header(self, instance: bytes) -> int | None:
        """How many variables the header announces; None when not sure or when they are too many."""
        found = FOUND()
        if self._header(instance, len(instance), found) != 0 or found[0] > LARGEST_VARIABLE:
            return None
        return found[0]

    def assignment(self, content: bytes, variables: int) -> tuple[bytearray, int] | None:
        """The values by variable (1 true, 2 false, 0 none) and how many there are; None when not sure."""
        found = FOUND()
        values = bytearray(variables + 1)
        table = (ctypes.c_ubyte * len(values)).from_buffer(values)
        if self._assignment(content, len(content), table, variables, found) != 0:
            return None
        return values, found[0]

    def instance(self, content: bytes, values: bytearray) -> Counts | None:
        """The clauses under `values`; None when not sure that the instance is well formed."""
        found = FOUND()
        table = (ctypes.c_ubyte * len(values)).from_buffer(values)
        if self._instance(content, len(content), table, len(values), found) != 0 or found[0] != len(values) - 1:
            return None
        _, clauses, satisfied, unsatisfied, start = found
        text = sat_answer.clause_text(sat_answer.clause_at(content, start)) if unsatisfied else ""
        return Counts(clauses=clauses, satisfied=satisfied, unsatisfied=unsatisfied, unsatisfied_text=text)

    def check(self, instance: bytes, assignment: bytes) -> Answer:
        """The same as sat_plain.check, sooner.

        Raises:
            BadInstance: the instance breaks the format.
        """
        # The authority is imported where it is needed: `re` alone costs as much as starting Python.
        variables = self.header(instance)
        if variables is None:
            return _plain_check(instance, assignment)
        problem = ""
        refusal: Answer | None = None
        reading = self.assignment(assignment, variables)
        if reading is None:
            from verification.engine.checkers import sat_plain

            values, assigned = bytearray(variables + 1), 0
            try:
                weighed, problem = sat_plain.weigh(sat_plain.read_assignment(assignment), variables)
            except Unreadable as found:
                refusal = sat_answer.unreadable(found)
            else:
                assigned = len(weighed)
                for variable, sign in weighed.items():
                    values[variable] = 1 if sign else 2
        else:
            values, assigned = reading
        # A bad instance comes before anything that may be said of the candidate's file.
        counts = self.instance(instance, values)
        if counts is None:
            return _plain_check(instance, assignment)
        return refusal or sat_answer.conclude(
            problem=problem,
            variables=variables,
            assigned=assigned,
            missing=max(values.find(0, 1), 0),
            counts=counts,
        )

    def validate(self, instance: bytes) -> Answer:
        """The same as sat_plain.validate, sooner."""
        variables = self.header(instance)
        counts = None if variables is None else self.instance(instance, bytearray(variables + 1))
        if variables is None or counts is None:
            from verification.engine.checkers import sat_plain

            return sat_plain.validate(instance)
        return sat_answer.accepted(variables=variables, clauses=counts.clauses)


def _plain_check(instance: bytes, assignment: bytes) -> Answer:
    from verification.engine.checkers import sat_plain

    return sat_plain.check(instance, assignment)


def load() -> QuickReading:
    """The quick reading, ready for use; it never compiles anything.

    Raises:
        NoQuickReading: saying why it cannot be had.
    """
    path = library_path()
    try:
        _check_ownership(path)
    except OSError as trouble:
        raise NoQuickReading(str(trouble)) from trouble
    return QuickReading(path)
