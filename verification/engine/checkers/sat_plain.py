"""The authority on SAT files: a strict reading of instance and assignment, byte for byte, written to be read.

Tokens are matched as bytes and bounded in length before they become numbers, because `int()` and `str.split()` accept
more than the formats do. Whatever sat_fast answers, this module must answer too.
"""

from __future__ import annotations

import re

from verification.engine.checkers import sat_answer
from verification.engine.checkers.sat_answer import TOKEN_BYTES, Answer, BadInstance, Counts, Unreadable, escaped

LARGEST_VARIABLE = 2**31 - 2

COUNT = re.compile(rb"[0-9]{1,10}")
LITERAL = re.compile(rb"-?[1-9][0-9]*")

CLAIM_MADE = b"s SATISFIABLE"
CLAIMS_WITHDRAWN = (b"s UNSATISFIABLE", b"s UNKNOWN")


class Instance:
    """A formula in conjunctive normal form."""

    __slots__ = ("clauses", "literals", "variables")

    def __init__(self, *, variables: int, clauses: int, literals: list[int]) -> None:
        self.variables = variables
        self.clauses = clauses
        self.literals = literals  # of all clauses, one after the other, each ended by a 0


class Assignment:
    """A file of the agreed form, not yet held against an instance."""

    __slots__ = ("claim", "lines", "tokens")

    def __init__(self, *, lines: list[bytes], claim: int, tokens: list[tuple[int, bytes]]) -> None:
        self.lines = lines
        self.claim = claim  # the number of its `s` line; 0: none
        self.tokens = tokens  # the literals, each with the number of its line

    def quoted(self, number: int) -> str:
        """`line N, "text"`: how findings name a line, leaving room to quote a token of it."""
        return f"line {number}, {escaped(self.lines[number - 1], limit=sat_answer.QUOTED_BYTES - TOKEN_BYTES)}"


def _lines(content: bytes) -> list[bytes]:
    r"""The lines without their ends; `\r` belongs to an end only before `\n`."""
    *ended, last = content.split(b"\n")
    return [line[:-1] if line.endswith(b"\r") else line for line in ended] + [last]


def _tokens(line: bytes) -> list[bytes]:
    """What stands between blanks. Not `split()`, for which vertical tabs and bare carriage returns are blanks too."""
    return list(filter(None, line.replace(b"\t", b" ").split(b" ")))


class _KnownTokens(dict[bytes, int]):
    """What tokens stand for. A formula writes the same ones again and again: each is judged once."""

    def __init__(self, reader: _InstanceReader) -> None:
        self.reader = reader

    def __missing__(self, token: bytes) -> int:
        value = self[token] = self.reader.value(token)
        return value


class _InstanceReader:
    """Reads the lines of an instance in order and refuses the first that breaks the format."""

    def __init__(self) -> None:
        self.number = 0
        self.header_line = 0
        self.variables = 0
        self.clauses = 0
        self.literals: list[int] = []
        self.is_ended = False
        self.has_last_zero = False
        self.known = _KnownTokens(self)

    def read(self, number: int, tokens: list[bytes]) -> None:
        if self.is_ended:
            self._read_after_end(number, tokens)
        elif tokens == [b"%"]:
            self.is_ended = True
        elif tokens and tokens[0] == b"p":
            self._read_header(number, tokens)
        else:
            self.number = number
            self.literals.extend(map(self.known.__getitem__, tokens))

    def _read_after_end(self, number: int, tokens: list[bytes]) -> None:
        for token in tokens:
            if token != b"0" or self.has_last_zero:
                raise BadInstance(
                    f"line {number}: after the line with % only white space and one 0 may follow, "
                    f"found {escaped(token, limit=TOKEN_BYTES)}"
                )
            self.has_last_zero = True

    def _read_header(self, number: int, tokens: list[bytes]) -> None:
        text = escaped(b" ".join(tokens), limit=TOKEN_BYTES)
        if self.header_line:
            raise BadInstance(f"line {number}: a second header {text}; the first stands on line {self.header_line}")
        is_header = len(tokens) == 4 and tokens[1] == b"cnf"
        if not is_header or not COUNT.fullmatch(tokens[2]) or not COUNT.fullmatch(tokens[3]):
            raise BadInstance(
                f'line {number}: expected "p cnf VARIABLES CLAUSES" with counts of at most ten digits, found {text}'
            )
        self.header_line, self.variables, self.clauses = number, int(tokens[2]), int(tokens[3])
        if self.variables > LARGEST_VARIABLE:
            raise BadInstance(f"line {number}: at most {LARGEST_VARIABLE} variables are allowed, found {text}")

    def value(self, token: bytes) -> int:
        """What a token of the formula stands for, in the line being read."""
        if not self.header_line:
            expected = 'the header "p cnf VARIABLES CLAUSES" first'
        elif token == b"0":
            return 0
        elif not LITERAL.fullmatch(token):
            expected = "a literal or the 0 that ends a clause"
        elif not _is_within(token, self.variables):
            expected = f"a variable from 1 to {self.variables}"
        else:
            return int(token)
        raise BadInstance(f"line {self.number}: expected {expected}, found {escaped(token, limit=TOKEN_BYTES)}")

    def finish(self, number: int) -> Instance:
        if not self.header_line:
            raise BadInstance(f'line {number}: the file ends without a header "p cnf VARIABLES CLAUSES"')
        if self.literals and self.literals[-1] != 0:
            raise BadInstance(f"line {number}: the formula ends inside a clause; every clause ends with 0")
        clauses = self.literals.count(0)
        if clauses != self.clauses:
            raise BadInstance(
                f"line {number}: the formula ends after {clauses} clauses; "
                f"the header on line {self.header_line} announces {self.clauses}"
            )
        return Instance(variables=self.variables, clauses=clauses, literals=self.literals)


def _is_within(literal: bytes, variables: int) -> bool:
    """Whether the literal's variable is at most `variables`; by length first, so that no long token is converted."""
    digits = literal.removeprefix(b"-")
    return len(digits) <= len(str(variables)) and int(digits) <= variables


def read_instance(content: bytes) -> Instance:
    """The formula that the bytes of a DIMACS CNF file state.

    Raises:
        BadInstance: naming the first line that breaks the format, and how.
    """
    reader = _InstanceReader()
    lines = _lines(content)
    for number, line in enumerate(lines, start=1):
        # After the % even a comment would be something hidden behind the formula.
        if reader.is_ended or not line.startswith(b"c"):
            reader.read(number, _tokens(line))
    return reader.finish(len(lines))


def read_assignment(content: bytes) -> Assignment:
    """The claim and the literals of an assignment file: its form only, not what they mean for an instance.

    Raises:
        Unreadable: naming the first line that is not of the agreed form, and how.
    """
    lines = _lines(content)
    claim = 0
    has_values = is_closed = False
    found = Assignment(lines=lines, claim=0, tokens=[])
    for number, line in enumerate(lines, start=1):
        text = line.rstrip(b" \t")
        if not text or text.startswith(b"c"):
            continue
        if text == CLAIM_MADE or text in CLAIMS_WITHDRAWN:
            if claim:
                raise Unreadable(f"{found.quoted(number)}: a second s line; the first is line {claim}")
            claim = number
        elif text == b"v" or text.startswith((b"v ", b"v\t")):
            if is_closed:
                raise Unreadable(f"{found.quoted(number)}: a v line after the 0 that closes the values")
            has_values = True
            is_closed = _read_values(found, number, _tokens(text)[1:])
        else:
            raise Unreadable(f"{found.quoted(number)}: expected a c, s or v line in the agreed form")
    found.claim = claim
    is_withdrawn = bool(claim) and lines[claim - 1].rstrip(b" \t") in CLAIMS_WITHDRAWN
    if has_values and not is_closed:
        raise Unreadable(f"line {len(lines)}: the file ends without the 0 that closes the values")
    if not has_values and not is_withdrawn:
        raise Unreadable(f"line {len(lines)}: the file ends without any v line")
    return found


def _read_values(found: Assignment, number: int, tokens: list[bytes]) -> bool:
    """Collects the literals of one v line; whether it ends with the closing 0."""
    for place, token in enumerate(tokens, start=1):
        if token == b"0":
            if place < len(tokens):
                raise Unreadable(f"{found.quoted(number)}: tokens after the 0 that closes the values")
            return True
        if not LITERAL.fullmatch(token):
            raise Unreadable(f"{found.quoted(number)}: not a literal: {escaped(token, limit=TOKEN_BYTES)}")
        found.tokens.append((number, token))
    return False


def weigh(assignment: Assignment, variables: int) -> tuple[dict[int, bool], str]:
    """The values of an instance's variables, and the first claim or literal that breaks the statement, in words.

    Of both signs of one variable the first counts; a variable that the instance does not have counts for nothing.
    """
    values: dict[int, bool] = {}
    problem = ""
    if assignment.claim and assignment.lines[assignment.claim - 1].rstrip(b" \t") in CLAIMS_WITHDRAWN:
        problem = f"{assignment.quoted(assignment.claim)}: the statement asks for a satisfying assignment"
    for number, token in assignment.tokens:
        if _is_within(token, variables):
            variable, sign = abs(int(token)), not token.startswith(b"-")
            if values.setdefault(variable, sign) == sign:
                continue
            trouble = "the variable has both signs"
        else:
            trouble = f"the variables are 1 to {variables}"
        if not problem:
            problem = f"{assignment.quoted(number)}: {escaped(token, limit=TOKEN_BYTES)}: {trouble}"
    return values, problem


def first_missing(values: dict[int, bool], variables: int) -> int:
    """The first variable without a value; 0 when every one has one."""
    if len(values) == variables:
        return 0
    return next(variable for variable in range(1, variables + 1) if variable not in values)


def count_satisfied(instance: Instance, values: dict[int, bool]) -> Counts:
    """Evaluates every clause of the formula."""
    true_literals = {variable if sign else -variable for variable, sign in values.items()}
    satisfied = unsatisfied = start = 0
    unsatisfied_text = ""
    for number in range(1, instance.clauses + 1):
        end = instance.literals.index(0, start)
        clause = instance.literals[start:end]
        start = end + 1
        if not true_literals.isdisjoint(clause):
            satisfied += 1
        elif not unsatisfied:
            unsatisfied, unsatisfied_text = number, sat_answer.clause_text(clause)
    return Counts(
        clauses=instance.clauses, satisfied=satisfied, unsatisfied=unsatisfied, unsatisfied_text=unsatisfied_text
    )


def check(instance: bytes, assignment: bytes) -> Answer:
    """What the assignment file is worth for the instance.

    Raises:
        BadInstance: the instance breaks the format; it is read whole before the assignment is looked at.
    """
    formula = read_instance(instance)
    try:
        reading = read_assignment(assignment)
    except Unreadable as found:
        return sat_answer.unreadable(found)
    values, problem = weigh(reading, formula.variables)
    return sat_answer.conclude(
        problem=problem,
        variables=formula.variables,
        assigned=len(values),
        missing=first_missing(values, formula.variables),
        counts=count_satisfied(formula, values),
    )


def validate(instance: bytes) -> Answer:
    """Whether the instance may be bound to a Problem."""
    try:
        formula = read_instance(instance)
    except BadInstance as found:
        return sat_answer.refused(found)
    return sat_answer.accepted(variables=formula.variables, clauses=formula.clauses)
