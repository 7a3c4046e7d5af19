"""What beat asks for, and how often. Plain values: the process that reads them loads no Django."""

from typing import Any

# Sweeps repair what a lost message left behind; a request that waits until the next one is due is dropped.
SWEEP_EVERY_S = 5.0
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    name: {"task": name, "schedule": SWEEP_EVERY_S, "options": {"queue": "default", "expires": 2 * SWEEP_EVERY_S}}
    for name in ("runs.sweep", "contracts.sweep", "problems.sweep")
}
# Bytes that a dying process left in the store: nobody waits for their end, and every look asks the store.
BEAT_SCHEDULE["blobs.sweep"] = {"task": "blobs.sweep", "schedule": 600.0, "options": {"queue": "default"}}
