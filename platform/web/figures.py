"""Where the parts of a figure lie, in percent; drawing them is the template's work."""

from collections.abc import Sequence
from dataclasses import dataclass

NEAR_SHARE = 0.9
_ORDER = ("verified", "refuted", "inconclusive", "error")


@dataclass(frozen=True)
class Part:
    """One part of a stacked strip, from `start` over `length`, both in percent."""

    label: str
    words: str
    start: str
    length: str


@dataclass(frozen=True)
class Block:
    """One rectangle of the runs figure, in percent of the plot."""

    result: str
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class DayCounts:
    """How the runs of one day ended."""

    day: str
    verified: int = 0
    refuted: int = 0
    inconclusive: int = 0
    error: int = 0

    @property
    def total(self) -> int:
        """All finished runs of the day."""
        return self.verified + self.refuted + self.inconclusive + self.error


def percent(share: float) -> str:
    """A share of 1 as SVG reads it, kept inside 0 to 100."""
    return f"{min(1.0, max(0.0, share)) * 100:.2f}%"


def is_near(used: float, limit: float) -> bool:
    """True from nine tenths of a limit on."""
    return limit > 0 and used / limit >= NEAR_SHARE


def strip_parts(named_seconds: Sequence[tuple[str, float, str]]) -> list[Part]:
    """Parts end to end, in proportion; each is `(label, seconds, words)`."""
    total = sum(seconds for _, seconds, _ in named_seconds)
    parts: list[Part] = []
    passed = 0.0
    for label, seconds, words in named_seconds:
        share = seconds / total if total else 1 / len(named_seconds)
        parts.append(Part(label, words, percent(passed), percent(share)))
        passed += share
    return parts


def day_blocks(days: Sequence[DayCounts]) -> list[Block]:
    """The stacked rectangles of all days, results from the ground up in a fixed order."""
    if not days:
        return []
    tallest = max(1, *(day.total for day in days))
    slot = 1 / len(days)
    blocks: list[Block] = []
    for position, day in enumerate(days):
        ground = 1.0
        for result in _ORDER:
            height = getattr(day, result) / tallest
            if height:
                ground -= height
                x, width = percent((position + 0.09) * slot), percent(0.82 * slot)
                blocks.append(Block(result, x, percent(ground), width, percent(height)))
    return blocks
