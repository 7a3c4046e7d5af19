"""What is handed to the broker, caught where it leaves the house."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple
from unittest import mock

from config.celery import app


class Message(NamedTuple):
    """One message as Celery would send it."""

    task: str
    kwargs: dict[str, str]
    queue: str
    countdown: float | None


@contextmanager
def sent_messages(capture: Callable[..., AbstractContextManager[Any]]) -> Iterator[list[Message]]:
    """The messages sent once the block's transactions stand; `capture` is django_capture_on_commit_callbacks."""
    sent: list[Message] = []

    def send_task(
        name: str, *, kwargs: dict[str, str], queue: str, countdown: float | None = None, **_options: Any
    ) -> None:
        sent.append(Message(name, kwargs, queue, countdown))

    with mock.patch.object(app, "send_task", send_task), capture(execute=True):
        yield sent
