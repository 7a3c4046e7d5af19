"""File names that people chose, made fit to be one segment of a path inside a sandbox."""

import unicodedata

MAX_NAME_BYTES = 255

# Categories that are invisible, reorder text, end lines, or are no characters at all. Cn and Co are left alone:
# what is unassigned depends on the Unicode tables of the interpreter, and a name must not.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

# Listed as well as categorised, so that an interpreter with older tables refuses them too.
_REFUSED_CHARACTERS = frozenset(
    "/\\\u061c\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)


def is_safe_character(character: str) -> bool:
    """True if the character shows as itself: no control, format, bidirectional or surrogate code point."""
    return unicodedata.category(character) not in _REFUSED_CATEGORIES and character not in _REFUSED_CHARACTERS


def is_safe_filename(name: str) -> bool:
    """True if `name` can stand as one path segment as it is, and looks like what it is."""
    if not name or name[0] == "." or name != name.strip():
        return False
    # No character is shorter than a byte; this bounds the work on a hostile name before it is encoded.
    if len(name) > MAX_NAME_BYTES or not all(is_safe_character(character) for character in name):
        return False
    return len(name.encode("utf-8")) <= MAX_NAME_BYTES


def safe_filename(name: str, *, fallback: str) -> str:
    """`name` itself if it is one safe path segment, else `fallback`.

    A name is replaced, never repaired: two names repaired to the same one would be confused, and a repaired name
    would look like something the participant wrote.

    Args:
        name: as the participant gave it.
        fallback: a synthetic name, usually the role or slot key.

    Raises:
        ValueError: `fallback` is not safe itself.
    """
    if is_safe_filename(name):
        return name
    if not is_safe_filename(fallback):
        raise ValueError(f"expected a fallback that is a safe file name, found {fallback!r}; pass the role or slot key")
    return fallback
