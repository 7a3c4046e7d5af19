"""Makes a process send every message twice.

Python imports this module by its name at the start of every process that has this folder on its path, so workers and
beat repeat what they send, sweeps included; the platform's own code knows nothing of it.
"""

from celery import Celery

_send_once = Celery.send_task


def send_twice(self, *args, **kwargs):
    """The message of this call, two times."""
    _send_once(self, *args, **kwargs)
    return _send_once(self, *args, **kwargs)


Celery.send_task = send_twice
