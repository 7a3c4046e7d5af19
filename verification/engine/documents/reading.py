"""From hostile bytes to a plain JSON value with exactly one canonical form, and from there to its hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import rfc8785

from verification.engine.documents.findings import DocumentRefused, Finding, JsonValue, capped, pointer_to, shown

MAX_SAFE_INTEGER: Final = 2**53 - 1
# What the schema validator can walk without touching Python's recursion limit, on any caller's stack.
MAX_DOCUMENT_DEPTH: Final = 32
MAX_NODES: Final = 100_000
# RFC 8785 writes a float below 10^21 without an exponent, so above 2^53 it would be read back as an unsafe integer.
_EXPONENT_FROM: Final = 1e21
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_Path = tuple[Any, ...] | None


class _Repeated(dict[str, Any]):
    """An object whose text named a member twice."""

    repeated: str


@dataclass(frozen=True)
class _RefusedNumber:
    code: str
    token: str


def parse_json(data: bytes, *, max_bytes: int, max_depth: int = 64) -> JsonValue:
    """The one value that these bytes spell, in a form RFC 8785 can write back.

    Refused are: more bytes than `max_bytes`, anything but UTF-8 without a byte order mark, duplicate members, NaN and
    infinities, lone surrogates, integers beyond 2^53 - 1 (floats that RFC 8785 would write as such integers, too),
    and nesting beyond `max_depth`.

    Raises:
        DocumentRefused: with a finding for every reason, as far as the text could be read.
    """
    if len(data) > max_bytes:
        message = f"expected at most {max_bytes} bytes, found {len(data)}; send a smaller document"
        raise DocumentRefused([Finding("too_large", "", message)])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, found an invalid byte at offset {error.start}; save the file as UTF-8"
        raise DocumentRefused([Finding("not_utf8", "", message)]) from error
    if text.startswith("\ufeff"):
        message = "expected JSON, found a byte order mark; save the file without one"
        raise DocumentRefused([Finding("not_json", "", message)])
    value = _loads(text, max_depth)
    findings = value_findings(value, max_depth=max_depth, max_nodes=None)
    if findings:
        raise DocumentRefused(findings)
    plain: JsonValue = value
    return plain


def value_findings(
    value: object,
    *,
    max_depth: int = MAX_DOCUMENT_DEPTH,
    max_nodes: int | None = MAX_NODES,
    refuse_controls: bool = False,
    max_magnitude: float = float("inf"),
) -> list[Finding]:
    """Why this Python value is no bounded, canonical JSON; empty when it is. Never raises, never recurses.

    Args:
        value: anything at all.
        max_depth: containers inside containers; a bare scalar has depth 0.
        max_nodes: values altogether, None for no bound but the caller's own on the bytes.
        refuse_controls: also refuse control characters other than tab, line feed and carriage return, which a
            database column or a log line would choke on.
        max_magnitude: the largest number, either way.
    """
    return capped(_walk(value, max_depth, max_nodes, refuse_controls, max_magnitude))


def size_of(value: object) -> int:
    """How much work a bounded value makes: one for every value and for every 64 characters of text."""
    size, pending = 0, [value]
    while pending:
        node = pending.pop()
        size += 1
        if isinstance(node, str):
            size += len(node) >> 6
        elif isinstance(node, dict):
            pending.extend(node.values())
            size += sum(len(key) >> 6 for key in node if isinstance(key, str))
        elif isinstance(node, list):
            pending.extend(node)
    return size


def canonical_bytes(doc: object) -> bytes:
    """The RFC 8785 form of a JSON value.

    Raises:
        DocumentRefused: the value is no JSON that has such a form.
    """
    findings = value_findings(doc, max_depth=64, max_nodes=None)
    if findings:
        raise DocumentRefused(findings)
    return rfc8785.dumps(doc)  # type: ignore[arg-type]  # the walk above has just proved it


def document_hash(doc: object) -> str:
    """`sha256:` and 64 hex digits over the canonical form; the order of members never matters.

    Raises:
        DocumentRefused: as `canonical_bytes`.
    """
    return "sha256:" + hashlib.sha256(canonical_bytes(doc)).hexdigest()


def _loads(text: str, max_depth: int) -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=lambda token: _RefusedNumber("not_finite", token),
        )
    except json.JSONDecodeError as error:
        message = f"expected JSON, found something else at line {error.lineno}, column {error.colno}: {error.msg}"
        raise DocumentRefused([Finding("not_json", "", message)]) from error
    except RecursionError as error:
        raise DocumentRefused([_too_deep("", max_depth)]) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    repeated = _Repeated(members)
    repeated.repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return repeated


def _integer(token: str) -> int | _RefusedNumber:
    # Measured before it is converted: int() takes quadratic time, and refuses long numbers on its own terms.
    if len(token) > 17:
        return _RefusedNumber("integer_range", token[:24])
    number = int(token)
    return number if abs(number) <= MAX_SAFE_INTEGER else _RefusedNumber("integer_range", token)


def _float(token: str) -> float | _RefusedNumber:
    number = float(token)
    code = _float_code(number)
    return number if code is None else _RefusedNumber(code, token[:24])


def _float_code(number: float) -> str | None:
    if number != number or number in (float("inf"), float("-inf")):
        return "not_finite"
    return "integer_range" if MAX_SAFE_INTEGER < abs(number) < _EXPONENT_FROM else None


def _walk(
    value: object, max_depth: int, max_nodes: int | None, refuse_controls: bool, max_magnitude: float
) -> Iterator[Finding]:
    pending: list[tuple[object, _Path, int]] = [(value, None, 0)]
    nodes = 0
    check_text = _text_checker(refuse_controls)
    while pending:
        node, path, depth = pending.pop()
        nodes += 1
        if max_nodes is not None and nodes > max_nodes:
            yield Finding("too_large", "", f"expected at most {max_nodes} values in one document; send a smaller one")
            return
        if isinstance(node, str):
            yield from check_text(node, path)
        elif isinstance(node, dict):
            if depth >= max_depth:
                yield _too_deep(_pointer(path), max_depth)
                continue
            yield from _key_findings(node, path, check_text)
            # Reversed, so that findings come in the order in which a reader meets them.
            pending.extend((node[key], (path, key), depth + 1) for key in reversed(node) if isinstance(key, str))
        elif isinstance(node, list):
            if depth >= max_depth:
                yield _too_deep(_pointer(path), max_depth)
                continue
            pending.extend((node[index], (path, index), depth + 1) for index in range(len(node) - 1, -1, -1))
        else:
            yield from _scalar_findings(node, path)
            if isinstance(node, float) and abs(node) > max_magnitude:
                message = f"expected a number of at most {max_magnitude:g} either way, found {shown(node)}"
                yield Finding("number_range", _pointer(path), message)


def _key_findings(
    node: dict[Any, Any], path: _Path, check_text: Callable[[str, _Path], Iterator[Finding]]
) -> Iterator[Finding]:
    if isinstance(node, _Repeated):
        message = f"expected every member once, found {shown(node.repeated)} twice; keep one of them"
        yield Finding("duplicate_key", _pointer((path, node.repeated)), message)
    for key in node:
        if isinstance(key, str):
            yield from check_text(key, (path, key))
        else:
            yield Finding("not_json", _pointer(path), f"expected text as the name of a member, found {shown(key)}")


def _text_checker(refuse_controls: bool) -> Callable[[str, _Path], Iterator[Finding]]:
    def check(text: str, path: _Path) -> Iterator[Finding]:
        if not text.isascii() and not _is_encodable(text):
            yield Finding("lone_surrogate", _pointer(path), "expected Unicode text, found half of a surrogate pair")
        if refuse_controls and _CONTROL.search(text):
            message = "expected text without control characters other than tab and line ends; remove them"
            yield Finding("control_character", _pointer(path), message)

    return check


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _scalar_findings(node: object, path: _Path) -> Iterator[Finding]:
    if node is None or isinstance(node, bool):
        return
    code: str | None
    if isinstance(node, _RefusedNumber):
        code, found = node.code, node.token
    elif isinstance(node, int):
        code, found = (None if abs(node) <= MAX_SAFE_INTEGER else "integer_range"), shown(node)
    elif isinstance(node, float):
        code, found = _float_code(node), shown(node)
    else:
        yield Finding("not_json", _pointer(path), f"expected a JSON value, found {shown(node)}")
        return
    if code == "not_finite":
        yield Finding(code, _pointer(path), f"expected a finite number, found {found}")
    elif code is not None:
        message = f"expected an integer of at most 2^53 - 1, found {found}; write larger numbers as text"
        yield Finding(code, _pointer(path), message)


def _pointer(path: _Path) -> str:
    tokens: list[str | int] = []
    while path is not None:
        path, token = path
        tokens.append(token)
    return pointer_to(*reversed(tokens))


def _too_deep(pointer: str, max_depth: int) -> Finding:
    return Finding("too_deep", pointer, f"expected at most {max_depth} levels of nesting, found more; flatten it")
