"""The two SAT readings against each other and against a third, written another way."""

import re
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verification.engine.checkers import sat_build, sat_fast, sat_plain
from verification.engine.checkers.sat_answer import BadInstance


@pytest.fixture(scope="module")
def quick():
    try:
        sat_build.build()
    except sat_fast.NoQuickReading as trouble:
        pytest.skip(f"the quick reading cannot be built here: {trouble}")
    return sat_fast.load()


def told(reading, instance, assignment):
    """Everything a checker makes known, to the byte."""
    try:
        answer = reading.check(instance, assignment)
    except BadInstance as found:
        return str(found)
    return answer.result_document(), answer.summary_document()


# The third reading: regular expressions over the whole decoded text, sets of literals, no lines and no tokens.

END = r"(?:\r?\n|\Z)"
HEADER = re.compile(rf"(?:[ \t]*\r?\n)*[ \t]*p[ \t]+cnf[ \t]+([0-9]{{1,10}})[ \t]+([0-9]{{1,10}})[ \t]*{END}")
CLAUSES = re.compile(r"(?:(?:-?[1-9][0-9]*|0)(?=[ \t\n]|\r\n|\Z)|[ \t\n]|\r\n)*")
TAIL = re.compile(rf"{END}(?:[ \t\n]|\r\n)*(?:0(?:[ \t\n]|\r\n)*)?")
ASSIGNMENT_LINE = re.compile(
    r"c.*|s (UNSATISFIABLE|SATISFIABLE|UNKNOWN)[ \t]*|(v)((?:[ \t]+-?[1-9][0-9]*)*)([ \t]+0)?[ \t]*|[ \t]*", re.DOTALL
)


def third_reading_of_instance(content):
    """(variables, clauses as sets), or None for a bad instance."""
    text = content.decode("latin-1")
    ending = re.search(r"(?m)^[ \t]*%[ \t]*(?=\r?\n|\Z)", text)
    if ending and not TAIL.fullmatch(text, ending.end()):
        return None
    text = re.sub(r"(?m)^c[^\n]*\n?", "", text[: ending.start()] if ending else text)
    header = HEADER.match(text)
    if not header or int(header[1]) > 2**31 - 2 or not CLAUSES.fullmatch(text, header.end()):
        return None
    numbers = [int(number) for number in re.findall(r"-?[0-9]+", text[header.end() :])]
    joined = " ".join(map(str, numbers))
    clauses = [{int(literal) for literal in clause.split()} for clause in re.split(r"(?:(?<= )|^)0(?: |$)", joined)]
    if clauses.pop() or len(clauses) != int(header[2]) or any(abs(number) > int(header[1]) for number in numbers):
        return None
    return int(header[1]), clauses


def third_reading(instance, assignment):
    """The result and the summary's four counts, or None for a bad instance."""
    formula = third_reading_of_instance(instance)
    if formula is None:
        return None
    variables, clauses = formula
    lines = [ASSIGNMENT_LINE.fullmatch(line) for line in re.split(r"\r?\n", assignment.decode("latin-1"))]
    if not all(lines):
        return "inconclusive", None
    claims = [line[1] for line in lines if line[1]]
    values = [line for line in lines if line[2]]
    closings = [bool(line[4]) for line in values]
    withdrawn = claims in (["UNSATISFIABLE"], ["UNKNOWN"])
    if len(claims) > 1 or sum(closings) != bool(values) or (closings and not closings[-1]) or not (values or withdrawn):
        return "inconclusive", None
    literals = [int(literal) for line in values for literal in line[3].split()]
    first = {}
    for literal in literals:
        first.setdefault(abs(literal), literal)
    chosen = {literal for variable, literal in first.items() if variable <= variables}
    satisfied = sum(1 for clause in clauses if clause & chosen)
    is_right = not withdrawn and set(literals) == chosen and len(chosen) == variables and satisfied == len(clauses)
    return "verified" if is_right else "refuted", [len(clauses), satisfied, variables, len(chosen)]


def told_briefly(reading, instance, assignment):
    try:
        answer = reading.check(instance, assignment)
    except BadInstance:
        return None
    return answer.result, answer.summary and list(answer.summary.values())


BLANKS = st.sampled_from([b" ", b" ", b" ", b"  ", b"\t", b" \t "])
LINE_ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b" \n", b"\n\n", b"\nc\n", b"\nc 1 0\x00\r \xff\n"])
GAPS = st.one_of(BLANKS, BLANKS, LINE_ENDS)


@st.composite
def formulas(draw):
    """(variables, clauses) small enough to be satisfied by chance."""
    variables = draw(st.sampled_from([1, 2, 3, 9, 10, 120, 12_345, 9_999_999, 10_000_001]))
    numbers = st.one_of(st.integers(1, min(variables, 3)), st.integers(1, variables), st.just(variables))
    literals = st.builds(lambda number, sign: number * sign, numbers, st.sampled_from([1, -1]))
    return variables, draw(st.lists(st.lists(literals, max_size=4), max_size=5))


@st.composite
def instance_files(draw):
    """A formula and one of the many ways to write it."""
    variables, clauses = draw(formulas())
    tokens = [b"%d" % literal for clause in clauses for literal in [*clause, 0]]
    before = draw(st.sampled_from([b"", b"", b"c\n", b"\r\n \n", b" ", b"\t"]))
    ending = draw(st.sampled_from([b"", b"", b"\n", b"\r\n", b" ", b"\n%", b"\n%\n0\n", b"\n\t% \r\n 0 \n\n"]))
    body = b"".join(token + (draw(GAPS) if place < len(tokens) else b"") for place, token in enumerate(tokens, 1))
    return (variables, clauses), b"%sp cnf %d %d%s%s%s" % (
        before,
        variables,
        len(clauses),
        draw(LINE_ENDS),
        body,
        ending,
    )


@st.composite
def assignment_files(draw, variables):
    """Mostly readable, often complete."""
    counted = min(variables, 12)
    signs = draw(st.lists(st.sampled_from([1, -1]), min_size=counted, max_size=counted))
    literals = [number * sign for number, sign in enumerate(signs, 1)]
    literals += draw(st.lists(st.sampled_from([1, -1, 2, variables, -variables, variables + 1, 10**30]), max_size=1))
    lines = [b"v"]
    for token in [*(b"%d" % literal for literal in literals), b"0"]:
        if draw(st.integers(0, 7)) == 0:
            lines.append(draw(st.sampled_from([b"v", b"v", b"", b"c 0", b" \t"])))
            lines.append(b"v")
        lines[-1] += draw(BLANKS) + token
    claim = draw(st.sampled_from([None, None, b"s SATISFIABLE", b"s SATISFIABLE\t", b"s UNSATISFIABLE", b"s UNKNOWN"]))
    if claim is not None:
        lines.insert(draw(st.sampled_from([0, len(lines)])), claim)
    end = draw(st.sampled_from([b"\n", b"\r\n", b" \n"]))
    return end.join(lines) + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


@st.composite
def written_pairs(draw):
    (variables, _), instance = draw(instance_files())
    return instance, draw(assignment_files(variables))


PIECES = [
    *(bytes([byte]) for byte in b"0123456789-+_/:%cpsv \t\r\n\x00\x0b\x0c\xa0\xff"),
    b"\r\n",
    b" 0",
    b"-1 ",
    b"00",
    b"10000000",
    b"4294967297",
    b"\nc",
    b"\n%\n",
]


@st.composite
def mutated(draw, content):
    """The bytes after one to three small accidents."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 3)))
        content = content[:start] + draw(st.sampled_from([b"", content[start:end] * 2, *PIECES])) + content[end:]
    return content


@st.composite
def damaged_pairs(draw):
    instance, assignment = draw(written_pairs())
    which = draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    return draw(mutated(instance)) if which[0] else instance, draw(mutated(assignment)) if which[1] else assignment


def soup(words):
    return st.lists(st.sampled_from([*words, *PIECES]), max_size=24).map(b"".join)


random_pairs = st.tuples(
    st.one_of(st.binary(max_size=40), soup([b"p cnf 3 1\n", b"p cnf ", b"1 0\n", b"2 -3 0\n", b"%\n"])),
    st.one_of(st.binary(max_size=40), soup([b"s SATISFIABLE\n", b"s UNKNOWN\n", b"v ", b"v 1 -2 3 0\n", b" 0\n"])),
)

pairs = st.one_of(written_pairs(), damaged_pairs(), damaged_pairs(), random_pairs)


@settings(max_examples=250, deadline=None)
@given(pairs)
@example((b"p cnf 2 1\n1 2 0\n%\n0\n", b"v 1 2 0"))
def test_the_quick_reading_says_what_the_plain_one_says_to_the_byte(quick, pair):
    assert told(quick, *pair) == told(sat_plain, *pair)


@settings(max_examples=250, deadline=None)
@given(pairs)
@example((b"p cnf 1 1\n\n0\n", b"v 1 0"))
def test_the_plain_reading_agrees_with_an_independent_one(pair):
    assert told_briefly(sat_plain, *pair) == third_reading(*pair)


@settings(max_examples=80, deadline=None)
@given(written_pairs())
def test_files_written_by_the_grammar_are_never_bad_nor_unreadable(pair):
    result, counts = told_briefly(sat_plain, *pair)

    assert (result, counts) == third_reading(*pair)
    assert result in {"verified", "refuted"}


@settings(max_examples=80, deadline=None)
@given(st.one_of(instance_files().map(lambda made: made[1]), random_pairs.map(lambda pair: pair[0])), st.data())
def test_the_validator_accepts_exactly_what_the_checker_can_use(quick, content, data):
    content = data.draw(st.one_of(st.just(content), mutated(content)))

    accepted = third_reading_of_instance(content) is not None

    assert (sat_plain.validate(content).result == "verified") == accepted
    assert quick.validate(content).result_document() == sat_plain.validate(content).result_document()


# Every file of a few pieces behind a beginning: what luck would take long to draw.

INSTANCE_BEGINNINGS = [b"p cnf 3 1\n", b"p cnf 3 1\n1 0", b"p cnf 3 1\n1 0\n%", b"", b"p cnf 3 1\n-1 3 0        "]
INSTANCE_PIECES = [b"1", b"-2", b"4", b"0", b" ", b"\n", b"\r", b"%", b"c", b"p cnf 3 1", b"-", b":", b"/", b"\x0b"]
ASSIGNMENT_BEGINNINGS = [b"", b"v", b"v 1 ", b"v 1 -2 3 0", b"s SATISFIABLE\nv 1 2 3 0\n", b"v 1 -2 3         "]
ASSIGNMENT_PIECES = [
    b"v ",
    b"v",
    b"s SATISFIABLE",
    b"s UNKNOWN",
    b"2",
    b"-2",
    b"4",
    b"0",
    b" ",
    b"\n",
    b"\r",
    b"c",
    b"-",
    b":",
]


@pytest.mark.parametrize("beginning", INSTANCE_BEGINNINGS)
def test_the_readings_agree_on_every_short_instance(quick, beginning):
    for pieces in product([b"", *INSTANCE_PIECES], repeat=3):
        content = beginning + b"".join(pieces)

        found = told(sat_plain, content, b"v 1 -2 3 0\n")

        assert told(quick, content, b"v 1 -2 3 0\n") == found, content
        assert isinstance(found, str) == (third_reading_of_instance(content) is None), content


@pytest.mark.parametrize("beginning", ASSIGNMENT_BEGINNINGS)
def test_the_readings_agree_on_every_short_assignment(quick, beginning):
    instance = b"p cnf 3 2\n1 2 0\n-2 3 0\n"
    for pieces in product([b"", *ASSIGNMENT_PIECES], repeat=3):
        content = beginning + b"".join(pieces)

        assert told(quick, instance, content) == told(sat_plain, instance, content), content
        assert told_briefly(sat_plain, instance, content) == third_reading(instance, content), content


@settings(max_examples=40, deadline=None)
@given(formulas(), st.data())
def test_the_order_of_clauses_does_not_change_what_is_satisfied(formula, data):
    variables, clauses = formula
    assignment = data.draw(assignment_files(variables))

    def counts(ordered):
        lines = b"\n".join(b" ".join(b"%d" % literal for literal in [*clause, 0]) for clause in ordered)
        return told_briefly(sat_plain, b"p cnf %d %d\n%s" % (variables, len(clauses), lines), assignment)

    assert counts(data.draw(st.permutations(clauses))) == counts(clauses)
