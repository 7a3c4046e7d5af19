"""Figures: use against limits, stage durations, runs a day, fixture by implementation."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

from web.figures import DayCounts, day_blocks, is_near, percent, strip_parts
from web.quantities import duration_words, size_words
from web.states import state_of

register = template.Library()
_LONGEST_IN_SECONDS = 600


@register.inclusion_tag("components/usage_row.html")
def usage(label: str, used: float, limit: float, unit: str) -> dict[str, Any]:
    """One bar of use against a limit; `unit` is `s`, `bytes`, or a word set after the numbers."""
    near = is_near(used, limit)
    return {
        "label": label,
        "words": _of(used, limit, unit),
        "is_near": near,
        "length": percent(used / limit if limit else 0),
    }


def _of(used: float, limit: float, unit: str) -> str:
    """Both amounts, the unit said once where it is the same: `476 of 512 MB`."""
    if unit == "s" and limit <= _LONGEST_IN_SECONDS:
        return f"{duration_words(used) if 0 < used < 0.1 else f'{used:.1f}'} of {limit:g} s"
    words, limit_words = _amount(used, unit), _amount(limit, unit)
    number, _, word = words.rpartition(" ")
    shared = number and limit_words.endswith(f" {word}") and limit_words.count(" ") == words.count(" ") == 1
    return f"{number if shared else words} of {limit_words}"


def _amount(value: float, unit: str) -> str:
    if unit == "s":
        return duration_words(value)
    if unit == "bytes":
        return size_words(int(value))
    return f"{value:,g} {unit}".rstrip()


@register.inclusion_tag("components/durations.html")
def durations(stages: Sequence[Mapping[str, Any]], afterwards: str = "") -> dict[str, Any]:
    """Machine time of the stages end to end: `stages` are `{title, wall_s}`; `afterwards` tells of people's time."""
    named = [(str(stage["title"]), float(stage["wall_s"]), duration_words(float(stage["wall_s"]))) for stage in stages]
    return {
        "parts": strip_parts(named),
        "total": duration_words(sum(seconds for _, seconds, _ in named)),
        "afterwards": afterwards,
    }


@register.inclusion_tag("components/runs_per_day.html")
def runs_per_day(days: Sequence[DayCounts], figure_id: str = "runs") -> dict[str, Any]:
    """Finished runs a day, stacked and patterned by result, with the same numbers as a table."""
    totals = [
        {"result": name, "label": state_of(name).label, "count": sum(getattr(day, name) for day in days)}
        for name in ("verified", "refuted", "inconclusive", "error")
    ]
    return {"days": days, "blocks": day_blocks(days), "totals": totals, "figure_id": figure_id}


@register.inclusion_tag("components/matrix.html")
def matrix(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], label: str, corner: str = "Fixture"
) -> dict[str, Any]:
    """Rows `{title, expected, cells}` against columns; a cell is a state's name or empty, framed when unexpected."""
    laid_out = []
    for row in rows:
        cells = [
            {"state": cell, "column": column, "is_unexpected": bool(cell) and cell != row["expected"]}
            for column, cell in zip(columns, row["cells"], strict=True)
        ]
        laid_out.append({"title": row["title"], "expected": row["expected"], "cells": cells})
    unexpected = sum(cell["is_unexpected"] for row in laid_out for cell in row["cells"])
    return {
        "columns": columns,
        "rows": laid_out,
        "label": label,
        "corner": corner,
        "unexpected": unexpected,
        "total": sum(bool(cell["state"]) for row in laid_out for cell in row["cells"]),
    }
