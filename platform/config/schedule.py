"""What beat asks for, and how often. Plain values: the process that reads them loads no Django."""

from typing import Any

# Sweeps repair what a lost message left behind; a request that waits for two rounds is dropped.
SWEEP_EVERY_S = 5.0
# Bytes that a dying process left in the store: nobody waits for their end, and every look asks the store.
CLEAN_EVERY_S = 600.0

BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    name: {"task": name, "schedule": every_s, "options": {"queue": "default", "expires": 2 * every_s}}
    for name, every_s in (
        ("runs.sweep", SWEEP_EVERY_S),
        ("contracts.sweep", SWEEP_EVERY_S),
        ("problems.sweep", SWEEP_EVERY_S),
        ("blobs.sweep", CLEAN_EVERY_S),
    )
}
