"""Strict reading of JSON, its one canonical form and its hash."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import hostile_values, json_values, shuffled
from verification.engine.documents import (
    MAX_FINDINGS,
    MAX_SAFE_INTEGER,
    DocumentRefused,
    canonical_bytes,
    document_hash,
    parse_json,
    value_findings,
)

MANY = 1_000_000
# RFC 8785, appendix B: the bits of a double and how ECMAScript writes it.
RFC_8785_NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("433fffffffffffff", "9007199254740991"),
    ("c33fffffffffffff", "-9007199254740991"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("44b52d02c7e14af6", "1e+23"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("3e7ad7f29abcaf48", "1e-7"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
]


def codes(refused: pytest.ExceptionInfo[DocumentRefused]) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in refused.value.findings]


@settings(deadline=None)
@given(value=json_values)
def test_what_is_written_canonically_is_read_back_and_written_alike(value: Any):
    spelling = canonical_bytes(value)

    read = parse_json(spelling, max_bytes=MANY)

    assert read == value
    assert canonical_bytes(read) == spelling


@settings(deadline=None)
@given(value=json_values, random=st.randoms())
def test_a_hash_does_not_depend_on_the_order_of_members(value: Any, random: Any):
    assert document_hash(shuffled(value, random)) == document_hash(value)


@settings(deadline=None)
@given(data=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes):
    try:
        value = parse_json(data, max_bytes=100)
    except DocumentRefused:
        return

    assert value_findings(value) == []


@settings(deadline=None)
@given(value=hostile_values)
def test_any_json_text_is_read_or_refused(value: Any):
    data = json.dumps(value, default=str).encode("utf-8", "surrogatepass")

    try:
        read = parse_json(data, max_bytes=MANY)
    except DocumentRefused:
        return

    assert parse_json(canonical_bytes(read), max_bytes=MANY) == read


@pytest.mark.parametrize(
    ("text", "code", "pointer"),
    [
        (b'{"a": 1, "a": 1}', "duplicate_key", "/a"),
        (b'{"x": [{"a": 1, "\\u0061": 2}]}', "duplicate_key", "/x/0/a"),
        (b"[NaN]", "not_finite", "/0"),
        (b"[-Infinity]", "not_finite", "/0"),
        (b"[1e999]", "not_finite", "/0"),
        (b"[9007199254740992]", "integer_range", "/0"),
        (b"[-9007199254740992]", "integer_range", "/0"),
        (b"[9007199254740993.0]", "integer_range", "/0"),
        (b"[1e20]", "integer_range", "/0"),
        (b"[" + b"9" * 100_000 + b"]", "integer_range", "/0"),
        (b'{"a": "\\ud800"}', "lone_surrogate", "/a"),
        (b'{"\\udc00": 1}', "lone_surrogate", "/\\udc00"),
        (b"\xef\xbb\xbf{}", "not_json", ""),
        (b"{}\xff", "not_utf8", ""),
        (b"", "not_json", ""),
        (b"{} {}", "not_json", ""),
        (b"{'a': 1}", "not_json", ""),
        (b"[1,]", "not_json", ""),
        (b"[01]", "not_json", ""),
        (b'["\n"]', "not_json", ""),
        (b"[" * 65 + b"]" * 65, "too_deep", "/0" * 64),
        (b"[" * 200_000, "too_deep", ""),
        (b'"' + b"a" * MANY + b'"', "too_large", ""),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_text_that_is_not_one_bounded_canonical_value_is_refused(text: bytes, code: str, pointer: str):
    with pytest.raises(DocumentRefused) as refused:
        parse_json(text, max_bytes=MANY)

    assert codes(refused) == [(code, pointer)]


@pytest.mark.parametrize("text", [b"0", b" null ", b'"\\ud83d\\ude00"', b"[9007199254740991, 1e21, -0.0, 1E-400]"])
def test_other_json_is_read_as_python_reads_it(text: bytes):
    assert parse_json(text, max_bytes=100) == json.loads(text)


def test_every_fault_of_a_text_is_listed_up_to_a_bound():
    with pytest.raises(DocumentRefused) as few:
        parse_json(b'{"a": NaN, "b": [9007199254740992], "b": 1, "c": "\\ud800"}', max_bytes=1000)
    with pytest.raises(DocumentRefused) as many:
        parse_json(b"[" + b",".join([b"NaN"] * 1000) + b"]", max_bytes=MANY)

    assert codes(few) == [("duplicate_key", "/b"), ("not_finite", "/a"), ("lone_surrogate", "/c")]
    assert (len(codes(many)), codes(many)[-1]) == (MAX_FINDINGS, ("too_many_findings", ""))


@pytest.mark.parametrize(
    "value", [(1,), {1: 2}, {"a": {1, 2}}, b"x", 1j, pytest.param(object(), id="object")], ids=repr
)
def test_what_json_cannot_hold_has_no_canonical_form(value: object):
    with pytest.raises(DocumentRefused):
        canonical_bytes(value)


def test_numbers_at_the_edge_of_what_doubles_can_count_are_kept():
    assert value_findings([MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]) == []
    assert [f.code for f in value_findings([MAX_SAFE_INTEGER + 1])] == ["integer_range"]


@pytest.mark.parametrize(("bits", "expected"), RFC_8785_NUMBERS)
def test_the_numbers_of_rfc_8785_come_out(bits: str, expected: str):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))

    assert canonical_bytes([number]) == f"[{expected}]".encode()


def test_the_sample_of_rfc_8785_section_3_2_comes_out():
    text = (
        rb'{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        rb'"string": "\u20ac$\u000F\u000aA' + rb"'" + rb'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}'
    )

    assert (
        canonical_bytes(parse_json(text, max_bytes=1000))
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_members_are_sorted_by_utf_16_as_in_rfc_8785():
    names = ["€", "\r", "\ufb33", "1", "😀", "\x80", "ö"]

    assert list(json.loads(canonical_bytes(dict.fromkeys(names)))) == ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]


def test_a_hash_is_over_the_canonical_bytes():
    assert document_hash({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
