"""New ids: the engine's pure form, with this machine's clock and randomness put in."""

import secrets
import time

from verification.engine.ids import format_id, uuid7


def new_id(prefix: str) -> str:
    """A fresh id such as `vrn_…`; ids made later sort later (to the millisecond)."""
    return format_id(prefix, uuid7(time.time_ns() // 1_000_000, secrets.randbits(74)))
