"""Identifiers and keys."""

import re
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.engine.ids import KEY_PATTERN, PREFIXES, InvalidId, format_id, is_key, parse_id, uuid7

MOMENTS = st.integers(0, 2**48 - 1)
RANDOM = st.integers(0, 2**74 - 1)
IDS = st.builds(uuid7, MOMENTS, RANDOM)


@settings(deadline=None)
@given(prefix=st.sampled_from(sorted(PREFIXES)), value=st.uuids())
def test_an_id_reads_back_as_what_it_names(prefix: str, value: uuid.UUID):
    text = format_id(prefix, value)

    assert parse_id(text) == (prefix, value)
    assert re.fullmatch(r"[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}", text)


@settings(deadline=None)
@given(earlier=MOMENTS, later=MOMENTS, first=RANDOM, second=RANDOM)
def test_ids_of_later_milliseconds_sort_later(earlier: int, later: int, first: int, second: int):
    low, high = sorted((earlier, later))

    ordered = format_id("vrn", uuid7(low, first)) < format_id("vrn", uuid7(high, second))

    assert ordered or low == high


@settings(deadline=None)
@given(milliseconds=MOMENTS, random_bits=RANDOM)
def test_a_uuid7_has_its_version_its_variant_and_its_moment(milliseconds: int, random_bits: int):
    value = uuid7(milliseconds, random_bits)

    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert value.int >> 80 == milliseconds


def test_the_example_of_rfc_9562_comes_out():
    assert uuid7(0x017F22E279B0, 0xCC3 << 62 | 0x18C4DC0C0C07398F) == uuid.UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")


@pytest.mark.parametrize(
    ("milliseconds", "random_bits"), [(-1, 0), (2**48, 0), (0, -1), (0, 2**74)], ids=["past", "far", "minus", "many"]
)
def test_a_uuid7_refuses_parts_that_do_not_fit(milliseconds: int, random_bits: int):
    with pytest.raises(ValueError, match="expected"):
        uuid7(milliseconds, random_bits)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vrn",
        "vrn_",
        "xyz_00000000000000000000000000",
        "vrn-00000000000000000000000000",
        "vrn_0000000000000000000000000",
        "vrn_000000000000000000000000000",
        "vrn_0000000000000000000000000A",
        "vrn_0000000000000000000000000u",
        "vrn_0000000000000000000000000\n",
        "vrn_80000000000000000000000000",
        "VRN_00000000000000000000000000",
        "vrn_" + "\u0660" * 26,
    ],
)
def test_only_the_canonical_spelling_is_an_id(text: str):
    with pytest.raises(InvalidId):
        parse_id(text)


@settings(deadline=None)
@given(text=st.text(max_size=40))
def test_any_text_is_an_id_or_refused_as_one(text: str):
    try:
        prefix, value = parse_id(text)
    except InvalidId:
        return

    assert format_id(prefix, value) == text


def test_an_unknown_prefix_is_refused():
    with pytest.raises(InvalidId, match="prefixes"):
        format_id("run", uuid7(0, 0))


@settings(deadline=None)
@given(text=st.from_regex(KEY_PATTERN, fullmatch=True))
def test_what_matches_the_pattern_is_a_key(text: str):
    assert is_key(text) is True


@pytest.mark.parametrize("text", ["", "A", "1a", "_a", "a-b", "a\n", "é", "a" * 64, None, 1])
def test_anything_else_is_no_key(text: object):
    assert is_key(text) is False
