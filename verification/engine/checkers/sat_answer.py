"""What the SAT checker says: the words, counts and documents that its plain and its quick reading share.

It imports nothing: the whole process is measured, and `re`, `json` or `dataclasses` alone would cost a tenth of it.
"""

from __future__ import annotations

QUOTED_BYTES = 200
TOKEN_BYTES = 60
ELLIPSIS = "..."

VERIFIED = "verified"
REFUTED = "refuted"
INCONCLUSIVE = "inconclusive"


class BadInstance(Exception):
    """The instance breaks the format; the message names line and reason. Never the candidate's fault."""


class Unreadable(Exception):
    """The assignment is not of the agreed form; the message names line and reason."""


class Counts:
    """How many clauses an assignment satisfies, and the first one that it does not."""

    __slots__ = ("clauses", "satisfied", "unsatisfied", "unsatisfied_text")

    def __init__(self, *, clauses: int, satisfied: int, unsatisfied: int, unsatisfied_text: str) -> None:
        self.clauses = clauses
        self.satisfied = satisfied
        self.unsatisfied = unsatisfied  # its number, counted from 1; 0: none
        self.unsatisfied_text = unsatisfied_text


class Answer:
    """What goes into result.json, and into evidence/summary.json when the candidate's file could be read."""

    __slots__ = ("finding", "reason", "result", "summary")

    def __init__(self, result: str, reason: str, finding: str = "", summary: dict[str, int] | None = None) -> None:
        self.result = result
        self.reason = reason
        self.finding = finding
        self.summary = summary

    def result_document(self) -> bytes:
        """The bytes of result.json."""
        findings = f', "findings": [{_json_string(self.finding)}]' if self.finding else ""
        reason = _json_string(self.reason)
        return f'{{"result": {_json_string(self.result)}, "reason": {reason}{findings}}}\n'.encode("ascii")

    def summary_document(self) -> bytes | None:
        """The bytes of evidence/summary.json, or None when there is nothing to sum up."""
        if self.summary is None:
            return None
        members = ", ".join(f'"{name}": {count}' for name, count in self.summary.items())
        return f"{{{members}}}\n".encode("ascii")


def _json_string(text: str) -> str:
    # Every text here is printable ASCII: ours, or put through `escaped`.
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def escaped(text: bytes, *, limit: int = QUOTED_BYTES) -> str:
    """Printable ASCII for any bytes, in double quotes, never longer than `limit` between them."""
    pieces: list[str] = []
    room = limit
    for byte in text[: limit + 1]:
        piece = chr(byte) if 0x20 <= byte <= 0x7E and byte not in b'"\\' else f"\\x{byte:02x}"
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            break
    if room < 0:
        kept = limit - len(ELLIPSIS)
        while sum(map(len, pieces)) > kept:
            pieces.pop()
        pieces.append(ELLIPSIS)
    return '"' + "".join(pieces) + '"'


def clause_text(literals: list[int]) -> str:
    """A clause as the format writes it, quoted and bounded."""
    # 200 bytes hold at most 100 literals: a clause of a million is not spelled out first.
    shown = [*literals[:QUOTED_BYTES], 0]
    return escaped(" ".join(map(str, shown)).encode("ascii"))


def clause_at(instance: bytes, start: int) -> list[int]:
    """The literals of the clause whose first token stands at `start` of an instance that was read without complaint."""
    literals: list[int] = []
    while True:
        end = instance.find(b"\n", start)
        line = instance[start : end if end >= 0 else len(instance)]
        is_comment = literals and line[:1] == b"c"  # the clause itself never begins with a comment
        # One more piece than is used, so that the unsplit rest of a long line is never read as a token.
        for token in () if is_comment else line.split(None, QUOTED_BYTES + 2):
            if token == b"0" or len(literals) > QUOTED_BYTES:
                return literals
            literals.append(int(token))
        start = end + 1


def conclude(*, problem: str, variables: int, assigned: int, missing: int, counts: Counts) -> Answer:
    """The answer for a file that could be read.

    Args:
        problem: the first claim or literal that breaks the statement, in words; empty when there is none.
        variables: how many the instance has.
        assigned: how many of them got a value.
        missing: the first variable without a value; 0 when there is none.
        counts: the clauses under that assignment.
    """
    summary = {
        "clauses_total": counts.clauses,
        "clauses_satisfied": counts.satisfied,
        "variables_total": variables,
        "variables_assigned": assigned,
    }
    if problem:
        return Answer(REFUTED, "The file does not state an assignment of this instance.", problem, summary)
    if missing:
        finding = f"variable {missing} of {variables} has no value"
        return Answer(REFUTED, "The assignment is not complete.", finding, summary)
    if counts.unsatisfied:
        finding = f"clause {counts.unsatisfied} of {counts.clauses} is not satisfied: {counts.unsatisfied_text}"
        return Answer(REFUTED, "The assignment does not satisfy every clause.", finding, summary)
    return Answer(VERIFIED, "Every variable has a value and every clause is satisfied.", "", summary)


def unreadable(found: Unreadable) -> Answer:
    """The answer for a file that is not of the agreed form."""
    return Answer(INCONCLUSIVE, "The assignment file is not of the agreed form.", str(found))


def accepted(*, variables: int, clauses: int) -> Answer:
    """The reference validator's yes."""
    return Answer(VERIFIED, f"The instance is well formed: {variables} variables, {clauses} clauses.")


def refused(found: BadInstance) -> Answer:
    """The reference validator's no, with line and reason."""
    return Answer(REFUTED, "The instance is not a well-formed DIMACS CNF file.", str(found))
