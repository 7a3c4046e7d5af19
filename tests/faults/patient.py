"""A checker that takes its time when it is first asked, and answers at once when it is asked again."""

import os
import time
from pathlib import Path


def main(argv):
    """The assignment's file names a place; who finds nothing there leaves its process id and waits for `<place>.go`."""
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    place = Path(options["--assignment"]).read_text(encoding="utf-8").strip()
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return verify(options["--output"])
    os.write(descriptor, f"{os.getpid()}\n".encode())
    os.close(descriptor)
    give_up_at = time.monotonic() + 590
    while not Path(f"{place}.go").exists():
        if time.monotonic() > give_up_at:
            return 1
        time.sleep(0.05)
    return verify(options["--output"])


def verify(output):
    """Leave a positive result."""
    Path(output, "result.json").write_text('{"result": "verified"}', encoding="utf-8")
    return 0
