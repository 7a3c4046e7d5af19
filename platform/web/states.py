"""Each state a reader can meet: its word, its icon and its tone. Results take their words from the engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from verification.engine.reasons import LABELS, Result


@dataclass(frozen=True)
class State:
    """How one state looks: `tone` is the value of `data-result`, which the style sheet colours."""

    label: str
    icon: str
    tone: str


_OTHERS: dict[str, State] = {
    "running": State("Running", "running", "active"),
    "queued": State("Queued", "queued", "neutral"),
    "waiting": State("Waiting", "waiting", "neutral"),
    "not_started": State("Not started", "not_started", "neutral"),
    "not_run": State("Not run", "not_run", "neutral"),
    "revoked": State("Revoked", "revoked", "neutral"),
    "withdrawn": State("Withdrawn", "withdrawn", "neutral"),
    "withheld": State("Withheld", "withheld", "neutral"),
    "redacted": State("Redacted", "redacted", "neutral"),
    "not_checked": State("Not checked", "info", "neutral"),
    # Conformance of an implementation.
    "pending": State("Pending", "queued", "neutral"),
    "passed": State("Passed", "verified", "verified"),
    "failed": State("Failed", "refuted", "refuted"),
    # Problems, revisions, attempts, contracts.
    "open": State("Open", "open", "active"),
    "closed": State("Closed", "closed", "neutral"),
    "draft": State("Draft", "draft", "neutral"),
    "published": State("Published", "verified", "neutral"),
    "superseded": State("Superseded", "record", "neutral"),
    "archived": State("Archived", "closed", "neutral"),
    "retired": State("Retired", "withdrawn", "neutral"),
    "yanked": State("Yanked", "revoked", "neutral"),
    # Tasks of a manager.
    "in_progress": State("In progress", "partial", "active"),
    "ready": State("Ready", "verified", "verified"),
    "blocked": State("Blocked", "blocked", "refuted"),
    # Tones of a notice.
    "info": State("Note", "info", "active"),
    "warning": State("Warning", "blocked", "inconclusive"),
}

STATES: Mapping[str, State] = MappingProxyType(
    {result.value: State(LABELS[result], result.value, result.value) for result in Result} | _OTHERS
)


def state_of(name: str) -> State:
    """The look of a state; a name unknown here is shown as a plain word rather than hidden."""
    return STATES.get(name) or State(name.replace("_", " ").capitalize(), "info", "neutral")
