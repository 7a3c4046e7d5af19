"""Moments as people read them: absolute, in the reader's own zone, with the zone's name."""

from datetime import UTC, date, datetime, tzinfo

FORMS = ("full", "minutes", "day", "clock")


def iso_words(moment: datetime) -> str:
    """The moment for programs: UTC, ISO 8601, with `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_words(moment: datetime, zone: tzinfo, form: str = "full") -> str:
    """The moment for people: `28 Nov 2026, 14:02:31 UTC`, or less of it by `form` (one of `FORMS`)."""
    local = moment.astimezone(zone)
    day = day_words(local.date())
    if form == "day":
        return day
    name = zone_name(local)
    if form == "clock":
        return f"{local:%H:%M:%S} {name}"
    if form == "minutes":
        return f"{day}, {local:%H:%M} {name}"
    if form == "full":
        return f"{day}, {local:%H:%M:%S} {name}"
    raise ValueError(f"expected one of {', '.join(FORMS)}, found {form!r}")


def day_words(day: date) -> str:
    """A day as `3 Sep 2026`."""
    return f"{day.day} {day:%b} {day.year}"


def zone_name(local: datetime) -> str:
    """The zone's short name where it has one (`CET`), else its distance from UTC (`UTC+5:30`)."""
    name = local.tzname() or "UTC"
    if name.isalpha():
        return name
    offset = local.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes >= 0 else "\N{MINUS SIGN}"
    return f"UTC{sign}{hours}:{rest:02}" if rest else f"UTC{sign}{hours}"
