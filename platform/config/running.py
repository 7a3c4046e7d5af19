"""Where the services of a running `make run` are, so that `manage.py` in a second terminal finds them."""

import json
import os
from pathlib import Path

FILE_NAME = "environment.json"


def running_environment(var: Path) -> dict[str, str]:
    """The environment that the running supervisor gives its children; empty when none runs, or for other users."""
    try:
        known: dict[str, str] = json.loads((var / "run" / FILE_NAME).read_text())
        os.kill(int(known.pop("TFP_SUPERVISOR_PID")), 0)
    except (OSError, ValueError, KeyError):
        return {}
    return known
