"""What is wrong with a document: a code for programs, a pointer for forms, a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# A hostile document has more faults than anybody reads; the count bounds time, pages and records alike.
MAX_FINDINGS: Final = 50
_MAX_SHOWN: Final = 80


@dataclass(frozen=True)
class Finding:
    """One violated rule and where: `pointer` is an RFC 6901 pointer into the document."""

    code: str
    pointer: str
    message: str


class DocumentRefused(ValueError):
    """The bytes or the value are no document of the expected kind; `findings` says every reason."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(findings)
        first = self.findings[0] if self.findings else Finding("refused", "", "the document was refused")
        more = f" (and {len(self.findings) - 1} more)" if len(self.findings) > 1 else ""
        super().__init__(f"{first.pointer or 'document'}: {first.message}{more}")


def pointer_to(*tokens: str | int) -> str:
    """RFC 6901 pointer of a path; every token is cut, since a hostile key may be megabytes long."""
    return "".join(f"/{_token(token)}" for token in tokens)


def within(prefix: str, findings: Iterable[Finding]) -> list[Finding]:
    """The same findings, seen from the document that holds the one they were found in."""
    return [Finding(finding.code, prefix + finding.pointer, finding.message) for finding in findings]


def capped(findings: Iterable[Finding]) -> list[Finding]:
    """At most MAX_FINDINGS of them; where some are left out, the last one says so."""
    kept = list(islice(findings, MAX_FINDINGS + 1))
    if len(kept) <= MAX_FINDINGS:
        return kept
    kept[MAX_FINDINGS - 1 :] = [
        Finding("too_many_findings", "", "there are more findings than are listed; mend these and check again")
    ]
    return kept


def shown(value: object) -> str:
    """A value as a message may quote it: bounded, on one line, without control characters."""
    if isinstance(value, dict):
        return f"an object with {len(value)} members"
    if isinstance(value, list | tuple):
        return f"an array of {len(value)} items"
    if isinstance(value, str):
        cut = value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…"
        return json.dumps(cut)
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int):
        # Above 2^63 the digits say nothing, and very long integers refuse to be printed at all.
        return str(value) if value.bit_length() < 64 else f"an integer of {value.bit_length()} bits"
    return f"a {type(value).__name__}"


def listed(values: Sequence[object]) -> str:
    """A bounded, comma-separated list of values for a message."""
    text = ", ".join(shown(value) for value in values[:20])
    return f"{text}, …" if len(values) > 20 else text


def _token(token: str | int) -> str:
    text = str(token) if isinstance(token, int) else token[:_MAX_SHOWN]
    # A lone surrogate in a key must not travel on in the pointer that complains about it.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("~", "~0").replace("/", "~1")
