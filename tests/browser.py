"""A real browser for tests: Debian's Chromium, driven by Playwright, one per test module.

Without a browser these tests are skipped, and say so at the end of the run; with TFP_REQUIRE_BROWSER=1 they fail.
"""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these Chromium asks the network for its maker's servers at every start.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


def find_browser() -> str | None:
    """The path of a Chromium: TFP_BROWSER, else the first known name on PATH."""
    return os.environ.get("TFP_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def playwright_driver() -> Iterator[Playwright]:
    """Playwright itself; while it lives, Django sees a running event loop in this thread and must not mind."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as driver:
        yield driver
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    else:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A headless Chromium with an empty profile."""
    found = find_browser()
    if found is None:
        message = (
            f"no browser: none of {', '.join(NAMES)} is on PATH. "
            "Install Debian's package chromium, or name a program in TFP_BROWSER."
        )
        if os.environ.get("TFP_REQUIRE_BROWSER") == "1":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    driver: Playwright = request.getfixturevalue("playwright_driver")
    running = driver.chromium.launch(executable_path=found, args=list(FLAGS))
    yield running
    running.close()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes browser contexts (a person with cookies of their own): `new_context(javascript=False, width=360)`."""
    made: list[BrowserContext] = []

    def make(*, javascript: bool = True, width: int = 1280, height: int = 900, base_url: str = "") -> BrowserContext:
        context = browser.new_context(
            java_script_enabled=javascript,
            viewport={"width": width, "height": height},
            base_url=base_url or None,
            locale="en-GB",
        )
        context.set_default_timeout(15_000)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    """One page of one person, 1280 pixels wide, with JavaScript."""
    return new_context().new_page()
