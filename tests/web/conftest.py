"""A server without a database and a real browser, for pages that are the same for everyone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; without it these tests are skipped, and say so."""
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}: install Debian's package chromium to run the browser tests")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()
