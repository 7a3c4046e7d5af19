"""Bytes that a checker wrote, as text that shows what it is: whatever is no plain character is spelled out."""

import codecs
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from verification.engine.names import is_safe_character

INLINE_BYTES = 64 * 1024
# How Python's `surrogateescape` keeps a byte that is no UTF-8: as one of 128 lone surrogates.
_BYTE_BASE = 0xDC00
_BYTES = range(0xDC80, 0xDD00)


def log_html(content: bytes, *, is_cut: bool = False) -> SafeString:
    """The text of a log, escaped; invalid bytes, controls, ANSI and bidirectional characters are spelled in a `mark`.

    Args:
        content: the bytes, or their beginning.
        is_cut: the content may end inside a character; its incomplete bytes are then left out.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decoder.decode(content, final=not is_cut).replace("\r\n", "\n")
    return mark_safe("\n".join(_line(line) for line in text.split("\n")))  # noqa: S308  (every piece is escaped)


def plain_html(text: str) -> SafeString:
    """A name or text that somebody else chose, on one line, with the same spelling out."""
    return mark_safe(_line(text))  # noqa: S308  (every piece is escaped)


def line_count(content: bytes) -> int:
    """How many lines the content has; a last one without its line feed counts."""
    return content.count(b"\n") + bool(content and not content.endswith(b"\n"))


def _line(line: str) -> str:
    # One look at the whole line is some fifty times faster than one per character, and logs are plain mostly.
    if line.replace("\t", "").isprintable():
        return escape(line)
    return "".join(_pieces(line))


def _pieces(line: str) -> Iterator[str]:
    for character in line:
        if character == "\t" or character in "/\\" or is_safe_character(character):
            yield escape(character)
        elif ord(character) in _BYTES:
            yield f"<mark>\\x{ord(character) - _BYTE_BASE:02x}</mark>"
        else:
            yield f"<mark>\\u{{{ord(character):x}}}</mark>"
