"""Every rule of the SAT formats, for the plain reading and for the one that is used."""

import json
from pathlib import Path

import pytest

from verification.engine.checkers import sat_build, sat_fast, sat_plain
from verification.engine.checkers.sat_answer import BadInstance

TWO_CLAUSES = b"p cnf 3 2\n1 -2 0\n2 3 0\n"
SATISFYING = b"v 1 2 3 0\n"


@pytest.fixture(scope="module", params=["plain", "quick"])
def reading(request):
    if request.param == "plain":
        return sat_plain
    try:
        sat_build.build()
    except sat_fast.NoQuickReading as trouble:
        pytest.skip(f"the quick reading cannot be built here: {trouble}")
    return sat_fast.load()


ACCEPTED_INSTANCES = {
    "as it is usually written": TWO_CLAUSES,
    "no newline at the end": b"p cnf 3 2\n1 -2 0\n2 3 0",
    "windows line ends": b"p cnf 3 2\r\n1 -2 0\r\n2 3 0\r\n",
    "blanks around lines and tokens": b"  p \t cnf  3   2 \t\n\t 1\t-2  0 \n 2 3 0 \r\n",
    "empty and blank lines": b"\n \n\t\r\np cnf 3 2\n\n1 -2 0\n\r\n2 3 0\n\n",
    "comments anywhere": b"c\ncomment\np cnf 3 2\nc between\n1\nc inside 9 9 0\n-2 0\n2 3 0\nc last",
    "any byte in a comment": b"c \x00\x0b\x0c\r\xff\xc3\xa9 p cnf 9 9\np cnf 3 2\n1 -2 0\n2 3 0\n",
    "a bare return ends no comment": b"p cnf 3 2\nc hidden?\r9 9 9 0\n1 -2 0\n2 3 0\n",
    "clauses over lines and on one line": b"p cnf 3 2\n1\n-2\n0 2\n3 0\n",
    "all clauses on one line": b"p cnf 3 2\n1 -2 0 2 3 0",
    "leading zeros in the counts": b"p cnf 0000000003 0000000002\n1 -2 0\n2 3 0\n",
    "duplicate literals and tautologies": b"p cnf 3 2\n1 1 -1 0\n2 2 3 0\n",
    "the satlib ending": b"p cnf 3 2\n1 -2 0\n2 3 0\n%\n0\n\n",
    "the satlib ending without its zero": b"p cnf 3 2\n1 -2 0\n2 3 0\n%\n",
    "the satlib ending at the very end": b"p cnf 3 2\n1 -2 0\n2 3 0\n%",
    "the satlib ending with blanks": b"p cnf 3 2\n1 -2 0\n2 3 0\n \t%\t \r\n \r\n\t0 \n \n\t",
    "long literals before the end": b"p cnf 1234567 2\n1234567 -1234567 0\n2 1000000 0\n",
}


@pytest.mark.parametrize("content", ACCEPTED_INSTANCES.values(), ids=ACCEPTED_INSTANCES)
def test_an_instance_of_the_format_is_accepted(reading, content):
    assert reading.validate(content).result == "verified"


@pytest.mark.parametrize(
    ("content", "variables", "clauses"),
    [
        (b"p cnf 0 0", 0, 0),
        (b"p cnf 5 0\n", 5, 0),
        (b"p cnf 0 1\n0\n", 0, 1),
        (b"p cnf 2147483646 1\n2147483646 -2147483646 0\n", 2147483646, 1),
        (b"p cnf 9999999 1\n9999999 0\n", 9999999, 1),
        (b"p cnf 10000000 1\n10000000 0\n", 10000000, 1),
    ],
)
def test_an_instance_at_a_limit_is_accepted(reading, content, variables, clauses):
    answer = reading.validate(content)

    assert answer.reason == f"The instance is well formed: {variables} variables, {clauses} clauses."


REFUSED_INSTANCES = {
    "empty": (b"", "line 1: the file ends without a header"),
    "only comments": (b"c p cnf 1 1\nc\n", "line 3: the file ends without a header"),
    "clause before the header": (b"1 0\np cnf 1 1\n", "line 1: expected the header"),
    "second header": (b"p cnf 1 1\np cnf 1 1\n1 0\n", "line 2: a second header"),
    "header after the clauses": (b"p cnf 1 1\n1 0\np cnf 1 1\n", "line 3: a second header"),
    "header with a clause behind it": (b"p cnf 1 1 1 0\n", "line 1: expected"),
    "header over two lines": (b"p cnf\n1 1\n1 0\n", "line 1: expected"),
    "header of another format": (b"p wcnf 1 1\n1 0\n", "line 1: expected"),
    "capital letters": (b"p CNF 1 1\n1 0\n", "line 1: expected"),
    "header without a blank": (b"pcnf 1 1\n1 0\n", "line 1: expected the header"),
    "negative count": (b"p cnf -1 1\n1 0\n", "line 1: expected"),
    "count of eleven digits": (b"p cnf 1 00000000001\n1 0\n", "line 1: expected"),
    "too many variables": (b"p cnf 2147483647 1\n1 0\n", "line 1: at most 2147483646 variables"),
    "variable above the count": (b"p cnf 3 1\n\n4 0\n", "line 3: expected a variable from 1 to 3"),
    "negative variable above the count": (b"p cnf 3 1\n-4 0\n", "line 2: expected a variable from 1 to 3"),
    "variable of eight digits": (b"p cnf 3 1\n10000001 0\n", "line 2: expected a variable"),
    "variable that wraps to 1": (b"p cnf 3 1\n4294967297 0\n", "line 2: expected a variable"),
    "variable that wraps in 64 bits": (b"p cnf 3 1\n18446744073709551617 0\n", "line 2: expected a variable"),
    "leading zero": (b"p cnf 3 1\n01 0\n", "line 2: expected a literal"),
    "two zeros in one token": (b"p cnf 3 1\n1 00\n", "line 2: expected a literal"),
    "minus zero": (b"p cnf 3 1\n1 -0\n", "line 2: expected a literal"),
    "lone minus": (b"p cnf 3 1\n1 - 2 0\n", "line 2: expected a literal"),
    "lone minus at the end": (b"p cnf 3 1\n1 0 -", "line 2: expected a literal"),
    "two minuses": (b"p cnf 3 1\n--1 0\n", "line 2: expected a literal"),
    "plus sign": (b"p cnf 3 1\n+1 0\n", "line 2: expected a literal"),
    "glued literals": (b"p cnf 3 1\n1-2 0\n", "line 2: expected a literal"),
    "underscore": (b"p cnf 30 1\n1_2 0\n", "line 2: expected a literal"),
    "letter": (b"p cnf 3 1\n1 x 0\n", "line 2: expected a literal"),
    "comment behind a clause": (b"p cnf 3 1\n1 0 c why\n", "line 2: expected a literal"),
    "comment after blanks": (b"p cnf 3 1\n c why\n1 0\n", "line 2: expected a literal"),
    "the byte above 9": (b"p cnf 30 1\n1: 0        \n", "line 2: expected a literal"),
    "the byte below 0": (b"p cnf 30 1\n1/ 0        \n", "line 2: expected a literal"),
    "arabic digits": (b"p cnf 3 1\n\xd9\xa1 0\n", "line 2: expected a literal"),
    "fullwidth digits": (b"p cnf 3 1\n\xef\xbc\x91 0\n", "line 2: expected a literal"),
    "no-break space": (b"p cnf 3 1\n1\xa00\n", "line 2: expected a literal"),
    "byte order mark": (b"\xef\xbb\xbfp cnf 3 1\n1 0\n", "line 1: expected the header"),
    "bare return between tokens": (b"p cnf 3 1\n1\r0\n", "line 2: expected a literal"),
    "bare return at the end": (b"p cnf 3 1\n1 0\r", "line 2: expected a literal"),
    "two returns": (b"p cnf 3 1\n1 0\r\r\n", "line 2: expected a literal"),
    "return, blank, newline": (b"p cnf 3 1\n1 0\r \n", "line 2: expected a literal"),
    "bare return after the header": (b"p cnf 3 1\r1 0\n", "line 1: expected"),
    "vertical tab": (b"p cnf 3 1\n1\x0b0\n", "line 2: expected a literal"),
    "form feed": (b"p cnf 3 1\n1 0\x0c\n", "line 2: expected a literal"),
    "nul": (b"p cnf 3 1\n1 0\n\x00", "line 3: expected a literal"),
    "last clause open": (b"p cnf 3 2\n1 0\n2", "line 3: the formula ends inside a clause"),
    "last clause open at the percent sign": (b"p cnf 3 1\n1\n%\n0\n", "line 5: the formula ends inside a clause"),
    "an open clause behind the last": (b"p cnf 3 1\n1 0\n2\n", "line 4: the formula ends inside a clause"),
    "one clause too few": (
        b"p cnf 3 2\n1 0\n",
        "line 3: the formula ends after 1 clauses; the header on line 1 announces 2",
    ),
    "one clause too many": (b"p cnf 3 1\n1 0\n2 0\n", "line 4: the formula ends after 2 clauses"),
    "a clause hidden behind the percent sign": (b"p cnf 3 2\n1 0\n%\n2 0\n", "line 4: after the line with %"),
    "the count met only behind the percent sign": (
        b"p cnf 3 2\n1 0\n%\n0\n",
        "line 5: the formula ends after 1 clauses",
    ),
    "two zeros behind the percent sign": (b"p cnf 3 1\n1 0\n%\n0\n0\n", "line 5: after the line with %"),
    "glued zeros behind the percent sign": (b"p cnf 3 1\n1 0\n%\n00\n", "line 4: after the line with %"),
    "comment behind the percent sign": (b"p cnf 3 1\n1 0\n%\nc\n", "line 4: after the line with %"),
    "second percent sign": (b"p cnf 3 1\n1 0\n%\n%\n", "line 4: after the line with %"),
    "return behind the percent sign": (b"p cnf 3 1\n1 0\n%\r", "line 3: expected a literal"),
    "percent sign and zero on one line": (b"p cnf 3 1\n1 0\n% 0\n", "line 3: expected a literal"),
    "percent sign behind a clause": (b"p cnf 3 1\n1 0 %\n0\n", "line 2: expected a literal"),
    "percent sign before the header": (b"%\np cnf 3 1\n1 0\n", "line 2: after the line with %"),
}


@pytest.mark.parametrize(("content", "finding"), REFUSED_INSTANCES.values(), ids=REFUSED_INSTANCES)
def test_an_instance_against_the_format_is_refused_with_line_and_reason(reading, content, finding):
    answer = reading.validate(content)

    assert (answer.result, answer.finding[: len(finding)], answer.summary) == ("refuted", finding, None)


@pytest.mark.parametrize(("content", "finding"), REFUSED_INSTANCES.values(), ids=REFUSED_INSTANCES)
@pytest.mark.parametrize("assignment", [SATISFYING, b"", b"s UNSATISFIABLE\n"])
def test_a_bad_instance_is_never_held_against_the_assignment(reading, content, finding, assignment):
    with pytest.raises(BadInstance) as refusal:
        reading.check(content, assignment)

    assert str(refusal.value)[: len(finding)] == finding


VERIFIED_ASSIGNMENTS = {
    "values alone": b"v 1 2 3 0\n",
    "claim before": b"s SATISFIABLE\nv 1 2 3 0\n",
    "claim after": b"v 1 2 3 0\ns SATISFIABLE\n",
    "claim between": b"v 1\ns SATISFIABLE\nv 2 3 0\n",
    "no newline at the end": b"v 1 2 3 0",
    "windows line ends": b"s SATISFIABLE\r\nv 1 2 3 0\r\n",
    "blanks at line ends": b"s SATISFIABLE \t\nv 1 2 3 0 \t\r\n",
    "empty and blank lines": b"\n\r\n \t\nv 1 2 3 0\n\n",
    "several value lines": b"v 1\nv\nv 2\nv 3\nv 0\n",
    "a bare v": b"v\nv \nv\t\nv 1 2 3 0\n",
    "tabs and many blanks": b"v\t1  2 \t 3   0\n",
    "comments anywhere": b"c\nc v 9\nv 1\ncomment\nv 2 3 0\nc v 7 0\nc",
    "any byte in a comment": b"c \x00\x0b\r\xff\nv 1 2 3 0\n",
    "repeated literals": b"v 1 1 2 3 2 0\n",
    "any order": b"v 3 1 2 0\n",
    "a negative value": b"v 1 2 -3 0\n",
}


@pytest.mark.parametrize("content", VERIFIED_ASSIGNMENTS.values(), ids=VERIFIED_ASSIGNMENTS)
def test_a_complete_satisfying_assignment_is_verified(reading, content):
    answer = reading.check(TWO_CLAUSES, content)

    assert (answer.result, answer.finding) == ("verified", "")
    assert list(answer.summary.items()) == [
        ("clauses_total", 2),
        ("clauses_satisfied", 2),
        ("variables_total", 3),
        ("variables_assigned", 3),
    ]


# name: (file, clauses satisfied, variables assigned, finding)
REFUTED_ASSIGNMENTS = {
    "claims unsatisfiable": (
        b"c\ns UNSATISFIABLE\n",
        0,
        0,
        'line 2, "s UNSATISFIABLE": the statement asks for a satisfying assignment',
    ),
    "claims nothing": (b"s UNKNOWN", 0, 0, 'line 1, "s UNKNOWN": the statement asks for a satisfying assignment'),
    "claims unsatisfiable with values": (
        b"v 1 2 3 0\ns UNSATISFIABLE\n",
        2,
        3,
        'line 2, "s UNSATISFIABLE": the statement asks for a satisfying assignment',
    ),
    "variable above the count": (
        b"v 1 2\nv 4 3 0\n",
        2,
        3,
        'line 2, "v 4 3 0": "4": the variables are 1 to 3',
    ),
    "variable that wraps to 1": (
        b"v 4294967297 -2 3 0\n",
        2,
        2,
        'line 1, "v 4294967297 -2 3 0": "4294967297": the variables are 1 to 3',
    ),
    "both signs": (b"v 1 -2 2 3 0\n", 2, 3, 'line 1, "v 1 -2 2 3 0": "2": the variable has both signs'),
    "both signs, the first counts": (
        b"v -1 1 2 3 0\n",
        1,
        3,
        'line 1, "v -1 1 2 3 0": "1": the variable has both signs',
    ),
    "no value": (b"v 1 3 0\n", 2, 2, "variable 2 of 3 has no value"),
    "no values": (b"v 0\n", 0, 0, "variable 1 of 3 has no value"),
    "no values under a claim": (b"s SATISFIABLE\nv\nv 0\n", 0, 0, "variable 1 of 3 has no value"),
    "first clause false": (b"v -1 2 3 0\n", 1, 3, 'clause 1 of 2 is not satisfied: "1 -2 0"'),
    "second clause false": (b"v 1 -2 -3 0\n", 1, 3, 'clause 2 of 2 is not satisfied: "2 3 0"'),
}


@pytest.mark.parametrize(
    ("content", "satisfied", "assigned", "finding"), REFUTED_ASSIGNMENTS.values(), ids=REFUTED_ASSIGNMENTS
)
def test_a_readable_file_that_breaks_the_statement_is_refuted(reading, content, satisfied, assigned, finding):
    answer = reading.check(TWO_CLAUSES, content)

    assert (answer.result, answer.finding) == ("refuted", finding)
    assert answer.summary == {
        "clauses_total": 2,
        "clauses_satisfied": satisfied,
        "variables_total": 3,
        "variables_assigned": assigned,
    }


INCONCLUSIVE_ASSIGNMENTS = {
    "empty": (b"", "line 1: the file ends without any v line"),
    "only comments": (b"c v 1 2 3 0\n", "line 2: the file ends without any v line"),
    "a claim without values": (b"s SATISFIABLE\n", "line 2: the file ends without any v line"),
    "two claims": (b"s SATISFIABLE\ns SATISFIABLE\nv 1 2 3 0\n", 'line 2, "s SATISFIABLE": a second s line'),
    "contradicting claims": (b"s SATISFIABLE\nv 1 2 3 0\ns UNSATISFIABLE\n", 'line 3, "s UNSATISFIABLE": a second s'),
    "unknown claim": (b"s OPTIMUM FOUND\nv 1 2 3 0\n", 'line 1, "s OPTIMUM FOUND": expected a c, s or v line'),
    "claim in small letters": (b"s satisfiable\nv 1 2 3 0\n", 'line 1, "s satisfiable": expected a c, s or v line'),
    "claim with more behind it": (b"s SATISFIABLE!\nv 1 2 3 0\n", 'line 1, "s SATISFIABLE!": expected a c, s or v'),
    "claim after two blanks": (b"s  SATISFIABLE\nv 1 2 3 0\n", 'line 1, "s  SATISFIABLE": expected a c, s or v line'),
    "no closing zero": (b"v 1 2 3\n", "line 2: the file ends without the 0 that closes the values"),
    "no closing zero under a withdrawn claim": (b"s UNSATISFIABLE\nv 1\n", "line 3: the file ends without the 0"),
    "a bare v under a withdrawn claim": (b"s UNKNOWN\nv\n", "line 3: the file ends without the 0"),
    "literal after the zero": (b"v 1 2 3 0 1\n", 'line 1, "v 1 2 3 0 1": tokens after the 0'),
    "two zeros": (b"v 1 2 3 0 0\n", 'line 1, "v 1 2 3 0 0": tokens after the 0'),
    "zero in every line": (b"v 1 0\nv 2 3 0\n", 'line 2, "v 2 3 0": a v line after the 0'),
    "bare v after the zero": (b"v 1 2 3 0\nv\n", 'line 2, "v": a v line after the 0'),
    "no line kind": (b"1 2 3 0\n", 'line 1, "1 2 3 0": expected a c, s or v line'),
    "glued line kind": (b"v1 2 3 0\n", 'line 1, "v1 2 3 0": expected a c, s or v line'),
    "blank before the line kind": (b" v 1 2 3 0\n", 'line 1, " v 1 2 3 0": expected a c, s or v line'),
    "capital line kind": (b"V 1 2 3 0\n", 'line 1, "V 1 2 3 0": expected a c, s or v line'),
    "another solver's answer": (b"SAT\n1 2 3 0\n", 'line 1, "SAT": expected a c, s or v line'),
    "leading zero": (b"v 01 2 3 0\n", 'line 1, "v 01 2 3 0": not a literal: "01"'),
    "glued zeros": (b"v 1 2 3 00\n", 'line 1, "v 1 2 3 00": not a literal: "00"'),
    "minus zero": (b"v 1 2 3 -0\n", 'line 1, "v 1 2 3 -0": not a literal: "-0"'),
    "lone minus": (b"v 1 - 2 3 0\n", 'line 1, "v 1 - 2 3 0": not a literal: "-"'),
    "lone minus at the end": (b"v 1 2 3 -", 'line 1, "v 1 2 3 -": not a literal: "-"'),
    "plus sign": (b"v +1 2 3 0\n", 'line 1, "v +1 2 3 0": not a literal: "+1"'),
    "underscore": (b"v 1_2 2 3 0\n", 'line 1, "v 1_2 2 3 0": not a literal: "1_2"'),
    "true and false": (b"v true 2 3 0\n", 'line 1, "v true 2 3 0": not a literal: "true"'),
    "arabic digit": (b"v \xd9\xa1 2 3 0\n", r'line 1, "v \xd9\xa1 2 3 0": not a literal: "\xd9\xa1"'),
    "no-break space": (b"v 1\xa02 3 0\n", r'line 1, "v 1\xa02 3 0": not a literal: "1\xa02"'),
    "byte order mark": (b"\xef\xbb\xbfv 1 2 3 0\n", r'line 1, "\xef\xbb\xbfv 1 2 3 0": expected a c, s or v line'),
    "nul": (b"v 1 2 3 0\x00\n", r'line 1, "v 1 2 3 0\x00": not a literal: "0\x00"'),
    "vertical tab": (b"v 1\x0b2 3 0\n", r'line 1, "v 1\x0b2 3 0": not a literal: "1\x0b2"'),
    "bare return": (b"v 1\r2 3 0\n", r'line 1, "v 1\x0d2 3 0": not a literal: "1\x0d2"'),
    "bare return at the end": (b"v 1 2 3 0\r", r'line 1, "v 1 2 3 0\x0d": not a literal: "0\x0d"'),
    "two returns": (b"v 1 2 3 0\r\r\n", r'line 1, "v 1 2 3 0\x0d": not a literal: "0\x0d"'),
    "form is judged before meaning": (b"s UNSATISFIABLE\nv 9 1 -1 0\nx\n", 'line 3, "x": expected a c, s or v line'),
}


@pytest.mark.parametrize(("content", "finding"), INCONCLUSIVE_ASSIGNMENTS.values(), ids=INCONCLUSIVE_ASSIGNMENTS)
def test_a_file_that_is_not_of_the_form_is_inconclusive(reading, content, finding):
    answer = reading.check(TWO_CLAUSES, content)

    assert (answer.result, answer.finding[: len(finding)], answer.summary) == ("inconclusive", finding, None)


@pytest.mark.parametrize(
    ("instance", "assignment", "result"),
    [
        (b"p cnf 0 0\n", b"v 0\n", "verified"),
        (b"p cnf 0 0\n", b"s SATISFIABLE\n", "inconclusive"),
        (b"p cnf 1 1\n0\n", b"v 1 0\n", "refuted"),
        (b"p cnf 1 1\n1 -1 0\n", b"v 0\n", "refuted"),
        (b"p cnf 2147483646 0\n", b"v 2147483646 -1 0\n", "refuted"),
        (b"p cnf 12345678 1\n12345678 0\n", b"v 12345678 0\n", "refuted"),
    ],
)
def test_the_edges_of_the_format_are_decided(reading, instance, assignment, result):
    assert reading.check(instance, assignment).result == result


# A thousand times what the format could need: conversion would take minutes, and Python itself refuses to try.
MANY_DIGITS = 1_000_000
MANY_LINES = 200_000


@pytest.mark.parametrize(
    ("assignment", "result"),
    [
        (b"v " + b"9" * MANY_DIGITS + b" 0\n", "refuted"),
        (b"v -" + b"9" * MANY_DIGITS + b" 0\n", "refuted"),
        (b"v 0" + b"9" * MANY_DIGITS + b" 0\n", "inconclusive"),
        (b"v " + b"9" * MANY_DIGITS + b"x 0\n", "inconclusive"),
        (b"v " + b"-" * MANY_DIGITS + b" 0\n", "inconclusive"),
        (b"v" * MANY_DIGITS, "inconclusive"),
        (b"v\n" * MANY_LINES, "inconclusive"),
        (b"v " + b"1 " * MANY_LINES + b"0\n", "refuted"),
        (b"c" * MANY_DIGITS + b"\nv 1 2 3 0", "verified"),
    ],
    ids=range(9),
)
def test_a_hostile_assignment_gets_a_bounded_answer(reading, assignment, result):
    answer = reading.check(TWO_CLAUSES, assignment)

    assert answer.result == result
    assert len(answer.result_document()) < 600


@pytest.mark.parametrize(
    "content",
    [
        b"p cnf 3 1\n" + b"9" * MANY_DIGITS + b" 0\n",
        b"p cnf " + b"9" * MANY_DIGITS + b" 1\n1 0\n",
        b"p cnf 3 1" + b" " * MANY_DIGITS + b"x\n1 0\n",
        b"\n" * MANY_LINES,
        b"%\n" * MANY_LINES,
        b"-" * MANY_DIGITS,
    ],
    ids=range(6),
)
def test_a_hostile_instance_gets_a_bounded_refusal(reading, content):
    answer = reading.validate(content)

    assert answer.result == "refuted"
    assert len(answer.result_document()) < 600


@pytest.mark.parametrize("layout", [b" ", b"\n", b"\nc in between\n", b"\t\r\n \n"])
def test_a_clause_is_quoted_in_one_form_however_it_was_written_and_cut_at_200_bytes(reading, layout):
    literals = layout.join(b"-%d" % variable for variable in range(1, 1001))
    instance = b"p cnf 1000 2\n1 0 " + literals + layout + b"0\n"
    assignment = b"v " + b" ".join(b"%d" % variable for variable in range(1, 1001)) + b" 0"

    finding = reading.check(instance, assignment).finding

    quoted = " ".join(f"-{variable}" for variable in range(1, 1001))[:197] + "..."
    assert finding == f'clause 2 of 2 is not satisfied: "{quoted}"'


def test_a_finding_quotes_at_most_200_bytes_of_hostile_text(reading):
    answer = reading.check(TWO_CLAUSES, b'v "\\\x1b[31m' + b"\xff" * 500 + b" 0\n")

    assert answer.finding.startswith('line 1, "v \\x22\\x5c\\x1b[31m\\xff')
    assert len(answer.finding.replace("line 1, ", "").replace(": not a literal: ", "").replace('"', "")) <= 200
    assert json.loads(answer.result_document()) == {
        "result": "inconclusive",
        "reason": answer.reason,
        "findings": [answer.finding],
    }


def test_the_summary_document_has_exactly_the_four_members():
    answer = sat_plain.check(TWO_CLAUSES, SATISFYING)

    assert json.loads(answer.summary_document()) == {
        "clauses_total": 2,
        "clauses_satisfied": 2,
        "variables_total": 3,
        "variables_assigned": 3,
    }


def test_the_checker_is_small_enough_to_be_read():
    here = Path(sat_plain.__file__).parent

    assert {path.name for path in here.glob("sat*") if len(path.read_text().splitlines()) > 400} == set()
