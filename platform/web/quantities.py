"""Sizes, durations and counts as people read them."""

from math import isfinite

_SIZE_STEP = 1024
_SIZE_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def size_words(size_bytes: int) -> str:
    """A size in the largest unit that keeps it at least one: `18 kB`, `1.2 MB`, `512 MB`.

    Steps are of 1024, so that limits that are powers of two read as round numbers.
    """
    if size_bytes == 1:
        return "1 byte"
    amount = float(size_bytes)
    unit = _SIZE_UNITS[0]
    for unit in _SIZE_UNITS:
        if amount < _SIZE_STEP or unit == _SIZE_UNITS[-1]:
            break
        amount /= _SIZE_STEP
    if unit == _SIZE_UNITS[0] or amount >= 100 or amount == int(amount):
        return f"{amount:.0f} {unit}"
    return f"{amount:.1f} {unit}"


def exact_size_words(size_bytes: int) -> str:
    """A size to the byte, with thousands apart: `1,048,576 bytes`."""
    return "1 byte" if size_bytes == 1 else f"{size_bytes:,} bytes"


def duration_words(seconds: float) -> str:
    """A duration in at most two units: `40 ms`, `0.8 s`, `41 s`, `2 min 5 s`, `2 days 3 h`."""
    if not isfinite(seconds) or seconds < 0:
        raise ValueError(f"expected a finite duration of at least 0 s, found {seconds!r}")
    if 0 < seconds < 0.0995:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 59.95:
        tenths = round(seconds, 1)
        return f"{tenths:.0f} s" if tenths == int(tenths) else f"{tenths:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return _two(whole // 60, "min", whole % 60, "s")
    if whole < 48 * 3600:
        return _two(whole // 3600, "h", whole % 3600 // 60, "min")
    return _two(whole // 86400, "days", whole % 86400 // 3600, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"


def counted(count: int, nouns: str) -> str:
    """A count with its noun: `counted(3, "run,runs")` is `3 runs`; without a plural, `s` is added."""
    singular, _, plural = nouns.partition(",")
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def bounded_words(count: int, bound: int) -> str:
    """A number that was counted only so far: `12`, or `more than 1,000`."""
    return f"{count:,}" if count <= bound else f"more than {bound:,}"


def ago_words(seconds: float) -> str:
    """How long ago, in one unit: `just now`, `3 min ago`, `2 days ago`; the future reads `in 3 min`."""
    distance = abs(seconds)
    if distance < 5:
        return "just now"
    steps = ((60, 1, "s"), (3600, 60, "min"), (48 * 3600, 3600, "h"), (float("inf"), 86400, "days"))
    size, unit = next((size, unit) for end, size, unit in steps if distance < end)
    amount = f"{int(distance // size)} {unit}"
    return f"{amount} ago" if seconds >= 0 else f"in {amount}"
