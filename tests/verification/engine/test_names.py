"""File names made safe."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification.engine.documents import shipped_schema
from verification.engine.manifest import artifact_path, reference_path
from verification.engine.names import MAX_NAME_BYTES, safe_filename

KEYS = st.builds("k{}".format, st.text("a0_", max_size=4))
# Names that people and attackers give, surrogates included: a name may come from bytes that are no UTF-8.
NAMES = st.one_of(
    st.text(max_size=300),
    st.text(alphabet=st.characters(categories=("Cs", "Cf", "Cc", "Zs", "Lu"))),
    st.text(alphabet="./\\ a\x00\n\u202e\u2066\ufeff~-é"),
    st.builds(lambda size: "é" * size, st.integers(120, 140)),
)


@given(name=NAMES, fallback=KEYS)
def test_a_name_is_always_one_safe_path_segment(name, fallback):
    found = safe_filename(name, fallback=fallback)

    assert found not in {"", ".", ".."}
    assert not found.startswith(".")
    assert found == found.strip()
    assert len(found.encode("utf-8")) <= MAX_NAME_BYTES
    assert not {"/", "\\", "\0"} & set(found)
    assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(character) for character in found}


@given(name=NAMES, fallback=KEYS)
def test_a_name_is_either_kept_whole_or_replaced_whole(name, fallback):
    assert safe_filename(name, fallback=fallback) in {name, fallback}


@given(name=NAMES, fallback=KEYS)
def test_a_safe_name_is_not_changed_again(name, fallback):
    once = safe_filename(name, fallback=fallback)

    assert safe_filename(once, fallback="other") == once


@pytest.mark.parametrize("name", ["answer.cnf", "Lösung 2.txt", "a-b_c.tar.gz", "~x", "-v", "データ.csv", "x" * 255])
def test_ordinary_names_are_kept(name):
    assert safe_filename(name, fallback="role") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".bashrc",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a\0b",
        "a\nb",
        "a\x1b[31m",
        "a\x7f",
        "a\x85",
        "gpj\u202e.exe",
        "a\u2066b",
        "a\u200bb",
        "\ufeffa",
        "a\u2028b",
        " a",
        "a ",
        "a\u00a0",
        "\udcff",
        "x" * 256,
        "é" * 128,
    ],
)
def test_names_that_mislead_or_escape_are_replaced(name):
    assert safe_filename(name, fallback="role") == "role"


@pytest.mark.parametrize("fallback", ["", "..", "a/b"])
def test_an_unsafe_fallback_is_a_mistake_of_ours(fallback):
    with pytest.raises(ValueError, match="expected a fallback"):
        safe_filename("..", fallback=fallback)


@given(keys=st.lists(KEYS, min_size=2, max_size=2, unique=True), one=NAMES, other=NAMES)
def test_two_roles_never_share_a_path(keys, one, other):
    assert artifact_path(keys[0], one) != artifact_path(keys[1], other)
    assert reference_path(keys[0], one) != reference_path(keys[1], other)
    assert artifact_path(keys[0], one) != reference_path(keys[0], one)


@given(name=NAMES)
def test_a_safe_name_is_a_filename_in_every_document(name):
    schema = shipped_schema("terms")["$defs"]["filename"]
    found = safe_filename(name, fallback="role")

    assert len(found) <= schema["maxLength"]
    assert re.search(schema["pattern"], found)
