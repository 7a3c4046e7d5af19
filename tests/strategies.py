"""Hypothesis strategies for documents: plain and hostile JSON, Contracts, bindings and fixtures.

A Contract has a hundred leaves. Those that no rule looks into (titles, file names, hashes) come from small pools or
follow from their place, so that a property over Contracts takes seconds, not minutes.
"""

import hashlib
from typing import Any

from hypothesis import strategies as st

MAX_SAFE = 2**53 - 1

_KEYS = [
    f"{word}{ending}" for word in ("a", "row", "table", "proof", "model_card") for ending in ("", "_b", "7", "__0")
]
_TEXTS = ["Find one.", "Größe ≥ 3", "x", "two\nlines", "𝔽₂ and “quotes”", "<b>&amp;</b>", "\u202eabc"]
keys = st.sampled_from(_KEYS)
hashes = st.integers(0, 2**32).map(lambda number: hash_of(str(number)))
media_types = st.sampled_from(["text/plain", "application/json", "application/octet-stream", "text/csv"])
texts = st.sampled_from(_TEXTS)
filenames = st.sampled_from(["a.txt", "main.py", "Übung 3.csv", "no_ending", "x" * 255])
safe_floats = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not MAX_SAFE < abs(x) < 1e21)
scalars = st.none() | st.booleans() | st.integers(-MAX_SAFE, MAX_SAFE) | safe_floats


def _nested(leaves: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5),
        max_leaves=20,
    )


# What RFC 8785 can write: no lone surrogates, no unsafe numbers.
json_values = _nested(scalars | st.text(max_size=12), st.text(max_size=6))

# What Python's parser may give at its worst, and the words of our own documents in the wrong places.
_WORDS = st.one_of(
    st.sampled_from(
        ["schema", "key", "kind", "stages", "sandbox", "review", "external", "score", "result", "required"]
    ),
    st.sampled_from(["type", "allOf", "$ref", "#/$defs/a", "$defs", "properties", "items", "all", "any", "not", "in"]),
    st.sampled_from(["pointer", "op", "value", "eq", "exists", "conformance_fixtures", "reference", "artifacts", "a"]),
)
hostile_values = _nested(
    scalars
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(["\ud800", "\x00", "a" * 5000, 10**400, float("inf"), "tfp.verifier-contract/v1", "1\n"])
    | _WORDS,
    st.text(st.characters(), max_size=6) | _WORDS,
)


def hash_of(text: str) -> str:
    """A hash that looks like any other and follows from a text."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def files(place: str) -> st.SearchStrategy[dict[str, Any]]:
    """A fixture's file as a Contract names it; its bytes are those of its place and of no other."""
    return st.builds(
        lambda filename, media_type: {
            "filename": filename,
            "content_hash": hash_of(place),
            "size_bytes": len(place),
            "media_type": media_type,
        },
        filenames,
        media_types,
    )


@st.composite
def slots(draw: st.DrawFn, key: str) -> dict[str, Any]:
    """A declared slot."""
    program = {"filename": "check.py", "content_hash": hash_of(f"validator of {key}"), "size_bytes": 100}
    script = {"runtime": "tfp-runtime/python:1", "program": program}
    return {
        "key": key,
        "required": draw(st.booleans()),
        "media_types": draw(st.lists(media_types, min_size=1, max_size=3, unique=True)),
        "max_bytes": draw(st.integers(1, 10**9)),
        "description": draw(texts),
        "sealed": draw(st.booleans()),
        "validator": draw(st.sampled_from([None, {"builtin": "sat-instance"}, script])),
    }


evidence_schemas = st.none() | st.just(
    {
        "type": "object",
        "required": ["rows_total"],
        "properties": {"rows_total": {"type": "integer", "minimum": 0}, "best": {"$ref": "#/$defs/measure"}},
        "$defs": {"measure": {"type": "number"}},
        "additionalProperties": False,
    }
)


@st.composite
def stages(draw: st.DrawFn, key: str, kind: str, slot_keys: list[str], has_sealed: bool) -> dict[str, Any]:
    """A stage of the given kind, valid beside the given slots."""
    stage: dict[str, Any] = {"key": key, "kind": kind, "title": draw(texts), "description_md": draw(texts)}
    if kind == "review":
        return stage | {"review_protocol_id": None, "protocol_hash": hash_of(f"protocol of {key}")}
    if kind == "external":
        is_ours = draw(st.booleans())
        return stage | {
            "external_system": "example-lab",
            "rule_owner": "contract" if is_ours else "partner",
            "evidence_schema": {"type": "object"},
            "acceptance": draw(rules()) if is_ours else None,
            "partner_rule": None if is_ours else {"title": draw(texts), "url": "https://lab.example/rule"},
            "deadline_s": draw(st.integers(60, 7_776_000)),
        }
    selected = draw(st.lists(st.sampled_from(slot_keys), unique=True)) if slot_keys else []
    if not has_sealed and draw(st.booleans()):
        selected = None
    chosen = slot_keys if selected is None else selected
    optional = draw(st.lists(st.sampled_from(chosen), unique=True)) if chosen else []
    return stage | {
        "reference_input_slots": selected,
        "optional_reference_slots": optional,
        "result_kind": draw(st.sampled_from([None, "pass_fail"])),
        "evidence_schema": draw(evidence_schemas),
    }


def comparisons() -> st.SearchStrategy[dict[str, Any]]:
    """One comparison over the members a, b and c."""
    pointers = st.sampled_from(["/a", "/b", "/c", "/a/0", "/b/c", ""])
    plain = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "x", "y", ""])
    numbers = st.integers(-3, 3) | st.sampled_from([0.5, 1.0])
    return st.one_of(
        st.builds(lambda p, o, v: {"pointer": p, "op": o, "value": v}, pointers, st.sampled_from(["eq", "ne"]), plain),
        st.builds(
            lambda p, o, v: {"pointer": p, "op": o, "value": v},
            pointers,
            st.sampled_from(["lt", "lte", "gt", "gte"]),
            numbers,
        ),
        st.builds(
            lambda p, v: {"pointer": p, "op": "in", "value": v}, pointers, st.lists(plain, min_size=1, max_size=4)
        ),
        st.builds(lambda p, v: {"pointer": p, "op": "exists", "value": v}, pointers, st.booleans()),
        st.builds(lambda p: {"pointer": p, "op": "exists"}, pointers),
    )


def rules() -> st.SearchStrategy[dict[str, Any]]:
    """An acceptance rule without findings, at most four levels deep."""
    level = comparisons()
    for _ in range(3):
        inner = level
        several = st.lists(inner, min_size=1, max_size=3)
        level = st.one_of(
            comparisons(),
            st.builds(lambda children: {"all": children}, several),
            st.builds(lambda children: {"any": children}, several),
            st.builds(lambda child: {"not": child}, inner),
        )
    return level


# Evidence that the comparisons above find true, false, missing or of another type.
evidence_values = st.dictionaries(
    st.sampled_from("abc"),
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, "x", "y", ""])
    | st.lists(st.integers(0, 2), max_size=2)
    | st.dictionaries(st.just("c"), st.integers(0, 2), max_size=1),
    max_size=3,
)


def chosen_slots(contract: dict[str, Any], stage: dict[str, Any]) -> list[str]:
    """Keys of the slots that a sandbox stage names, or of all where it names none."""
    named = stage["reference_input_slots"]
    return [slot["key"] for slot in contract["reference_inputs"]] if named is None else named


@st.composite
def fixtures(draw: st.DrawFn, contract: dict[str, Any], stage: dict[str, Any], key: str) -> dict[str, Any]:
    """A fixture of a sandbox stage that keeps every rule."""
    required = {slot["key"] for slot in contract["reference_inputs"] if slot["required"]}
    bound = [slot for slot in chosen_slots(contract, stage) if slot in required or draw(st.booleans())]
    expected = draw(st.sampled_from(["verified", "refuted", "inconclusive"]))
    is_scored = contract["result_kind"] == "score" and stage["result_kind"] != "pass_fail"
    return {
        "key": key,
        "stage_key": stage["key"],
        "title": draw(texts),
        "reference": {slot: draw(files(f"{key} {slot}")) for slot in bound},
        "artifacts": {
            artifact["role"]: draw(files(f"{key} {artifact['role']}"))
            for artifact in contract["submission_requirements"]["required_artifacts"]
        },
        "expected_result": expected,
        "expected_score": draw(st.integers(0, 100)) if is_scored and expected == "verified" else None,
    }


@st.composite
def contracts(draw: st.DrawFn) -> dict[str, Any]:
    """A Contract without findings, as an author writes it: at least one sandbox stage and one role."""
    names = draw(st.permutations(_KEYS))[:8]
    slot_keys, stage_keys = names[: draw(st.integers(0, 3))], names[3 : 3 + draw(st.integers(1, 3))]
    kinds = ["sandbox", *draw(st.lists(st.sampled_from(["sandbox", "review", "external"]), max_size=2))]
    is_scored = draw(st.booleans())
    declared = [draw(slots(key)) for key in slot_keys]
    has_sealed = any(slot["sealed"] for slot in declared)
    release = st.sampled_from(["immediate", "with_labels"]) if has_sealed else st.just("immediate")
    contract: dict[str, Any] = {
        "schema": "tfp.verifier-contract/v1",
        "statement_md": draw(texts),
        "reference_inputs": declared,
        "stages": [
            draw(stages(key, kind, slot_keys, has_sealed)) for key, kind in zip(stage_keys, kinds, strict=False)
        ],
        "submission_requirements": {
            "required_artifacts": [
                {"role": role, "media_types": ["text/plain"], "max_bytes": draw(st.integers(1, 10**6))}
                for role in names[6:]
            ],
            "summary": draw(st.sampled_from(["required", "optional", "refused"])),
        },
        "result_kind": "score" if is_scored else "pass_fail",
        "score": draw(score_blocks) if is_scored else None,
        "sealing": {"verdict_release": draw(release), "score_release": draw(release)},
        "conformance_fixtures": [],
    }
    if is_scored:
        contract["stages"][0]["result_kind"] = None
    contract["conformance_fixtures"] = [
        draw(fixtures(contract, stage, f"{stage['key']}_{number}"))
        for stage in contract["stages"]
        if stage["kind"] == "sandbox"
        for number in range(draw(st.integers(1, 2)))
    ]
    return contract


score_blocks = st.fixed_dictionaries(
    {
        "name": texts,
        "unit": st.sampled_from(["", "m", "percent"]),
        "direction": st.sampled_from(["maximize", "minimize"]),
        "minimum": st.none() | st.integers(-5, 0),
        "maximum": st.none() | st.integers(100, 105),
        "decimals": st.integers(0, 6),
        "release_step": st.none() | st.sampled_from([0.01, 1, 2.5]),
    }
)


@st.composite
def bindings(draw: st.DrawFn, contract: dict[str, Any]) -> list[dict[str, Any]]:
    """Bindings of every slot of a Contract that keep every rule."""
    mounted: set[str] = set()
    for stage in contract["stages"]:
        if stage["kind"] == "sandbox":
            mounted |= set(chosen_slots(contract, stage)) - set(stage["optional_reference_slots"])
    bound = []
    for slot in contract["reference_inputs"]:
        may_link = not slot["sealed"] and not (slot["required"] and slot["key"] in mounted)
        is_linked = may_link and draw(st.booleans())
        binding = {
            "key": slot["key"],
            "kind": "linked" if is_linked else "stored",
            "url": f"https://files.example/{slot['key']}" if is_linked else None,
            "content_hash": hash_of(f"bytes of {slot['key']}"),
            "size_bytes": draw(st.sampled_from([0, slot["max_bytes"]])),
            "media_type": draw(st.sampled_from(slot["media_types"])),
            "filename": draw(filenames),
        }
        if slot["sealed"]:
            binding["commitment"] = hash_of(f"commitment to {slot['key']}")
        bound.append(binding)
    return bound


def shuffled(value: Any, random: Any) -> Any:
    """The same JSON value with the members of its objects in another order; `random` is one of `st.randoms()`."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], random) for key in random.sample(list(value), len(value))}
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths of everything in a JSON value that is no container, empty containers included."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for key, child in items for leaf in leaves(child, (*path, key))]
    return [path]


def with_leaf(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a JSON value with the leaf at `path` replaced."""
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = with_leaf(value[path[0]], path[1:], new)
    return copied
