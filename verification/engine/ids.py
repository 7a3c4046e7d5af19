"""Typed identifiers: a prefix that names the kind of record, and a UUIDv7 that people can type."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "prb": "Problem",
        "prv": "ProblemRevision",
        "skl": "Skill",
        "vfr": "Verifier",
        "vct": "VerifierContract",
        "vim": "VerifierImplementation",
        "cfx": "conformance run",
        "att": "Attempt",
        "art": "Artifact",
        "sub": "Submission",
        "vrn": "VerificationRun",
        "rvp": "ReviewProtocol",
        "rpr": "ReviewProcess",
        "ras": "ReviewAssignment",
        "req": "Requirement",
        "usr": "User",
    }
)
KEY_PATTERN: Final = r"[a-z][a-z0-9_]{0,62}"

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUE: Final = {character: value for value, character in enumerate(_ALPHABET)}
_LENGTH: Final = 26
_KEY: Final = re.compile(KEY_PATTERN)
_RANDOM_BITS: Final = 74


class InvalidId(ValueError):
    """The text is no identifier in its one canonical spelling."""


def format_id(prefix: str, value: uuid.UUID) -> str:
    """The one spelling of an id: prefix, underscore, 26 lower-case Crockford base32 characters.

    Raises:
        InvalidId: no kind of record has this prefix.
    """
    if prefix not in PREFIXES:
        raise InvalidId(f"expected one of the prefixes {', '.join(PREFIXES)}; found {prefix[:20]!r}")
    number = value.int
    characters = []
    for _ in range(_LENGTH):
        characters.append(_ALPHABET[number & 31])
        number >>= 5
    return f"{prefix}_{''.join(reversed(characters))}"


def parse_id(text: str) -> tuple[str, uuid.UUID]:
    """Prefix and UUID of an id.

    Only the canonical spelling is read (no capitals, no look-alike letters), so that one record has one address.

    Raises:
        InvalidId: unknown prefix, another length, a character outside the alphabet, or a value above 128 bits.
    """
    prefix, separator, body = text.partition("_")
    if not separator or prefix not in PREFIXES:
        raise InvalidId(f"expected an id such as vrn_01jf…, found {text[:40]!r}; use the id as it was shown")
    if len(body) != _LENGTH:
        raise InvalidId(f"expected {_LENGTH} characters after {prefix}_, found {len(body)}; use the id as it was shown")
    number = 0
    for character in body:
        value = _VALUE.get(character)
        if value is None:
            raise InvalidId(f"expected lower-case Crockford base32 after {prefix}_, found {character!r}")
        number = number << 5 | value
    # 26 characters hold 130 bits: a first character above 7 would spell a UUID that does not exist.
    if number >> 128:
        raise InvalidId(f"expected a first character of 0 to 7 after {prefix}_, found {body[0]!r}")
    return prefix, uuid.UUID(int=number)


def uuid7(milliseconds: int, random_bits: int) -> uuid.UUID:
    """The UUIDv7 of a moment; ids of later milliseconds sort later.

    Args:
        milliseconds: since 1970-01-01 UTC, below 2^48.
        random_bits: 74 random bits as one integer; the caller has the randomness.

    Raises:
        ValueError: a part does not fit its field.
    """
    if not 0 <= milliseconds < 1 << 48:
        raise ValueError(f"expected milliseconds in 0 to 2^48 - 1, found {milliseconds}")
    if not 0 <= random_bits < 1 << _RANDOM_BITS:
        raise ValueError(
            f"expected 0 to {_RANDOM_BITS} random bits, found {random_bits.bit_length()} or a negative number"
        )
    high, low = random_bits >> 62, random_bits & ((1 << 62) - 1)
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low)


def is_key(text: object) -> bool:
    """True when the value may name a stage, a slot, a role or a fixture."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None
