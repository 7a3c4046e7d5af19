"""Comparing a digest that a reader has with one of ours: the same, different, or not a digest, and why."""

from dataclasses import dataclass

_PREFIX = "sha256:"
_DIGITS = 64


@dataclass(frozen=True)
class DigestAnswer:
    """Whether two digests are the same, in words."""

    is_same: bool
    words: str


def compare(ours: str, given: str) -> DigestAnswer | None:
    """The answer for a digest that was typed or pasted; None when nothing was given."""
    text = given.strip()
    if not text:
        return None
    if text == ours:
        return DigestAnswer(True, "Same.")
    digits = text.lower().removeprefix(_PREFIX)
    if text.lower().partition(":")[1] and not text.lower().startswith(_PREFIX):
        return DigestAnswer(False, f"Not comparable: expected the prefix {_PREFIX}, found {text.partition(':')[0]}:.")
    if len(digits) != _DIGITS:
        return DigestAnswer(False, f"Not a whole digest: expected {_DIGITS} digits, found {len(digits)}.")
    if strange := next((letter for letter in digits if letter not in "0123456789abcdef"), None):
        return DigestAnswer(False, f"Not a digest: {strange!r} is none of 0-9 and a-f.")
    if digits != ours.removeprefix(_PREFIX):
        return DigestAnswer(False, "Different.")
    if text == text.lower():
        return DigestAnswer(True, f"Same; ours is written with {_PREFIX} in front.")
    return DigestAnswer(True, "Same; ours is written in small letters.")
