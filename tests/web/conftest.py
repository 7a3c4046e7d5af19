"""A server without a database, for pages that are the same for everyone; the browser is in tests/browser.py."""

from collections.abc import Iterator

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread


@pytest.fixture(scope="module")
def page_server(django_test_environment: None) -> Iterator[str]:
    """The address of the whole site; a page that asks the database fails."""
    thread = LiveServerThread("127.0.0.1", StaticFilesHandler)
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    if thread.error:
        raise thread.error
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()
