"""Strict reading of ReviewProtocols, and the hashes of the three that ship."""

import copy
import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.rules.protocol import MAX_PROTOCOL_BYTES, protocol_shape_findings, read_protocol
from tests.strategies import hostile_values, leaves, shuffled, with_leaf
from verification.engine.documents import MAX_FINDINGS, DocumentRefused, document_hash

EXAMPLES = {
    "single_expert": ("sha256:efc5c2813e008d73f413074cd085840785bba6f5236a3f7ace404a3f94cabea3", 2536),
    "dual_adjudicated": ("sha256:5053ff6ef757eaffc1ec8dfe50adbede0a1da7eadce50155a510a6e607abb642", 3047),
    "panel_of_five": ("sha256:a575232df35ccc45f882a277136d564377eb28b85e896b4c45234c92206e1f74", 3046),
}


def text_of(name: str) -> bytes:
    return (files("reviews") / "examples" / f"{name}.json").read_bytes()


CONTENT: dict[str, Any] = json.loads(text_of("single_expert"))


def refusal(text: bytes) -> list[tuple[str, str]]:
    with pytest.raises(DocumentRefused) as refused:
        read_protocol(text)
    return [(finding.code, finding.pointer) for finding in refused.value.findings]


def written(**change: Any) -> bytes:
    return json.dumps(CONTENT | change).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_have_the_published_hashes(name: str):
    protocol = read_protocol(text_of(name))

    assert (protocol.protocol_hash, len(protocol.canonical.encode())) == EXAMPLES[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_canonical_text_is_the_same_protocol(name: str):
    protocol = read_protocol(text_of(name))

    assert read_protocol(protocol.canonical.encode()) == protocol
    assert protocol.content == json.loads(text_of(name))
    assert protocol.protocol_hash == document_hash(protocol.content)


@settings(max_examples=30, deadline=None)
@given(random=st.randoms(), indent=st.sampled_from([None, 0, 3]))
def test_order_and_blanks_never_change_the_hash(random: Any, indent: int | None):
    text = json.dumps(shuffled(CONTENT, random), indent=indent).encode()

    assert read_protocol(text).protocol_hash == EXAMPLES["single_expert"][0]


@settings(deadline=None)
@given(path=st.sampled_from(leaves(CONTENT)))
def test_any_changed_leaf_changes_the_hash(path: tuple[str | int, ...]):
    assert document_hash(with_leaf(CONTENT, path, "another")) != EXAMPLES["single_expert"][0]


@pytest.mark.parametrize(
    ("text", "code", "pointer"),
    [
        (b'{"title": 1, "title": 1}', "duplicate_key", "/title"),
        (written(human_minimum=float("nan")), "not_finite", "/human_minimum"),
        (written(human_minimum=2**53), "canonical", "/human_minimum"),
        (written(title="\ud800"), "canonical", "/title"),
        (written(title="e\u0301"), "nfc", "/title"),
        (written(title="a\x00"), "control", "/title"),
        (written(title="a\x85"), "control", "/title"),
        (written(instructions="a\r\nb"), "control", "/instructions"),
        (b" " * (MAX_PROTOCOL_BYTES + 1), "too_large", ""),
        (b"[" * 100_000, "too_deep", ""),
        (b"title: x", "not_json", ""),
    ],
    ids=["twice", "nan", "large", "surrogate", "nfc", "nul", "c1", "return", "size", "depth", "yaml"],
)
def test_text_is_read_strictly(text: bytes, code: str, pointer: str):
    assert refusal(text) == [(code, pointer)]


def test_a_float_is_refused_even_where_it_counts_like_an_integer():
    assert refusal(written(human_minimum=1.0)) == [("float", "/human_minimum"), ("schema_type", "/human_minimum")]


def test_instructions_may_have_lines_and_any_letters_in_nfc():
    protocol = read_protocol(written(instructions="Erstens\n\n\tPrüfe 𝔽₂ genau."))

    assert protocol.content["instructions"] == "Erstens\n\n\tPrüfe 𝔽₂ genau."


def _step(number: int, **change: Any) -> dict[str, Any]:
    content = copy.deepcopy(CONTENT)
    content["steps"][number] |= change
    return content


@pytest.mark.parametrize(
    ("content", "code", "pointer"),
    [
        ({name: value for name, value in CONTENT.items() if name != "steps"}, "schema_required", "/steps"),
        (CONTENT | {"timeout": 3}, "schema_additional_properties", "/timeout"),
        (CONTENT | {"schema": "review-protocol/2"}, "schema_const", "/schema"),
        (CONTENT | {"purpose": "triage"}, "schema_const", "/purpose"),
        (CONTENT | {"human_minimum": 0}, "schema_minimum", "/human_minimum"),
        (CONTENT | {"human_minimum": True}, "schema_type", "/human_minimum"),
        (_step(0, independence="open"), "schema_enum", "/steps/0/independence"),
        (_step(0, id="Expert"), "schema_pattern", "/steps/0/id"),
        (_step(1, reducer={"name": "unanimous"}), "schema_required", "/steps/1/reducer/abstain"),
        (_step(1, then={"accept": "reject", "maybe": "accept"}), "schema_enum", "/steps/1/then"),
    ],
)
def test_the_shape_is_that_of_the_published_schema(content: dict[str, Any], code: str, pointer: str):
    assert refusal(json.dumps(content).encode()) == [(code, pointer)]


@settings(deadline=None)
@given(content=hostile_values)
def test_any_value_is_judged_as_a_protocol(content: Any):
    assert 1 <= len(protocol_shape_findings(content)) <= MAX_FINDINGS


@settings(deadline=None)
@given(text=st.binary(max_size=100) | hostile_values.map(lambda v: json.dumps(v).encode("utf-8", "surrogatepass")))
def test_any_bytes_are_refused_with_findings(text: bytes):
    assert 1 <= len(refusal(text)) <= MAX_FINDINGS
