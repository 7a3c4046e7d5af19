"""A checker that takes its time when it is first asked, and answers at once when it is asked again."""

import os
import time


def main(argv):
    """The assignment's file names a place; who finds nothing there leaves its process id and sleeps."""
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    with open(options["--assignment"], encoding="utf-8") as file:
        place = file.readline().strip()
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        with open(os.path.join(options["--output"], "result.json"), "w", encoding="utf-8") as file:
            file.write('{"result": "verified"}')
        return 0
    os.write(descriptor, f"{os.getpid()}\n".encode())
    os.close(descriptor)
    time.sleep(590)
    return 1
