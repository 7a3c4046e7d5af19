"""The main path in a real browser: register, open the SAT Problem, upload, submit, watch the result appear.

With JavaScript the page changes by itself; without, the same pages after a reload. Real web server, worker and broker.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.factories.problems import published_problem
from tests.factories.work import JUNK, LIAR, right_answer
from tests.services import ChildProcess

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
PASSWORD = "correct horse battery"
VERDICT_MS = 20_000
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
NewContext = Callable[..., BrowserContext]


@pytest.fixture(autouse=True)
def published(transactional_db: None, broker: str) -> None:
    """A published SAT Problem whose checker conforms, before any worker could begin to see to that."""
    published_problem(slug="three-colours")


@pytest.fixture
def problem_url(published: None, site_url: str) -> str:
    """The page of the Problem on the running site."""
    return f"{site_url}/problems/three-colours/"


def register(page: Page, site: str, name: str) -> None:
    page.goto(f"{site}/account/signup/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("E-mail address").fill(f"{name}@example.org")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    page.get_by_role("button", name=re.compile("Create|Sign up")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My work")


def open_attempt(page: Page, problem_url: str) -> str:
    """Go to the Attempt by the Problem's own button; its address."""
    page.goto(problem_url)
    page.locator("form[action$='/attempt/'] button").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your Attempt")
    return page.url


def upload(page: Page, name: str, content: bytes) -> None:
    page.get_by_label("File", exact=True).set_input_files({"name": name, "mimeType": "", "buffer": content})
    page.get_by_role("button", name="Upload the file").click()
    expect(page.get_by_text(f"{name} is stored: {len(content):,} bytes.")).to_be_visible()


def submit(page: Page) -> None:
    """From the Attempt to the run, through the three pages."""
    page.get_by_role("link", name="Choose files and submit").click()
    page.get_by_role("button", name="Go on to the check").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Check what you submit")
    page.get_by_role("button", name="Submit 1 file").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("is received")
    page.get_by_role("link", name="Watch the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 1 of Submission")


CASES = [("Verified", right_answer), ("Refuted", lambda: LIAR), ("Inconclusive", lambda: JUNK)]


@contextmanager
def held(worker: ChildProcess) -> Iterator[None]:
    """The worker does nothing meanwhile, so that a page is there before the result is."""
    os.killpg(worker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(worker.pid, signal.SIGCONT)


def test_with_scripts_each_result_appears_without_reloading(
    published: None,
    gunicorn_url: str,
    celery_worker_process: Callable[..., ChildProcess],
    new_context: NewContext,
) -> None:
    worker = celery_worker_process(queues="default,sandbox", concurrency=1)
    page = new_context().new_page()
    register(page, gunicorn_url, "ada")
    attempt = open_attempt(page, f"{gunicorn_url}/problems/three-colours/")
    cancel_an_upload(page)
    for number, (word, answer) in enumerate(CASES, start=1):
        page.goto(attempt)
        upload(page, f"answer{number}.txt", answer())
        with held(worker):
            submit(page)
            expect(page.locator("#verdict-word")).to_have_text("Queued")
            page.evaluate("window.isTheSamePage = true")
            page.get_by_role("link", name="The Submission").focus()

        expect(page.locator("#verdict-word")).to_have_text(word, timeout=VERDICT_MS)

        assert page.evaluate("window.isTheSamePage") is True
        assert page.evaluate("document.activeElement.tagName") != "BODY"
        expect(page.locator("#say")).to_contain_text(f"The run is finished: {word}.")
        expect(page.locator("#stage-1 .chip")).to_have_text(word)
        expect(page.locator("#poll")).not_to_have_attribute("hx-trigger", re.compile(".*"))
        expect(page).to_have_title(re.compile(f"^{word}: run 1 of Submission {number}"))
        expect(page.get_by_role("heading", name="Check it yourself")).to_be_visible()


def cancel_an_upload(page: Page) -> None:
    # Held back, so that there is time to cancel.
    page.route("**/attempts/**", lambda route: None if route.request.method == "POST" else route.continue_())
    page.get_by_label("File", exact=True).set_input_files({"name": "a.txt", "mimeType": "", "buffer": b"x" * 100_000})
    page.get_by_role("button", name="Upload the file").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#say")).to_have_text("Upload cancelled. Nothing was stored.")
    expect(page.get_by_role("button", name="Upload the file")).to_be_focused()
    page.unroute_all(behavior="ignoreErrors")


def test_without_scripts_the_same_path_ends_in_the_same_results(
    site_url: str, problem_url: str, new_context: NewContext
) -> None:
    page = new_context(javascript=False).new_page()
    register(page, site_url, "bob")
    attempt = open_attempt(page, problem_url)
    for number, (word, answer) in enumerate(CASES, start=1):
        page.goto(attempt)
        upload(page, f"answer{number}.txt", answer())
        submit(page)

        reload_until(page, word)

        expect(page.locator("#stage-1 .chip")).to_have_text(word)
        if word != "Verified":
            expect(page.locator("#stage-1-log-text")).to_be_visible()


def reload_until(page: Page, word: str) -> None:
    for _ in range(60):
        if page.locator("#verdict-word").inner_text() == word:
            return
        page.wait_for_timeout(500)
        page.reload()
    pytest.fail(f"the run's page never said {word}, but {page.locator('#verdict-word').inner_text()}")


def test_the_whole_path_goes_by_keyboard_alone(site_url: str, problem_url: str, new_context: NewContext) -> None:
    page = new_context().new_page()
    register(page, site_url, "cleo")
    page.goto(problem_url)

    press(page, page.locator("form[action$='/attempt/'] button").first)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your Attempt")
    # A file cannot be picked by keys in a headless browser; the field itself must be reachable by them.
    reach(page, page.get_by_label("File", exact=True))
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": right_answer()}
    )
    press(page, page.get_by_role("button", name="Upload the file"))
    expect(page.get_by_text("a.txt is stored: ")).to_be_visible()
    press(page, page.get_by_role("link", name="Choose files and submit"))
    press(page, page.get_by_role("button", name="Go on to the check"))
    press(page, page.get_by_role("button", name="Submit 1 file"))
    press(page, page.get_by_role("link", name="Watch the run"))

    expect(page.locator("#verdict-word")).to_have_text("Verified", timeout=VERDICT_MS)


def reach(page: Page, part: Locator) -> None:
    """Tab until the part has the focus."""
    expect(part).to_be_visible()
    for _ in range(80):
        if part.evaluate("part => part === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{part} cannot be reached with the Tab key")


def press(page: Page, part: Locator) -> None:
    reach(page, part)
    page.keyboard.press("Enter")


def found_by_axe(page: Page) -> list[tuple[str, list[str]]]:
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found["violations"]]


def test_axe_finds_nothing_on_any_page_in_either_theme_and_nothing_runs_over_the_edge(
    site_url: str, problem_url: str, new_context: NewContext
) -> None:
    context = new_context(width=360)
    page = context.new_page()
    register(page, site_url, "finn")
    attempt = open_attempt(page, problem_url)
    addresses = [attempt, f"{site_url}/my/"]
    upload(page, "a" * 100 + ".txt", LIAR)
    page.get_by_role("link", name="Choose files and submit").click()
    addresses.append(page.url)
    page.get_by_role("button", name="Go on to the check").click()
    addresses.append(page.url)
    results = [(address, problem) for address in addresses for problem in looked_at(page, address)]
    page.goto(f"{attempt}check/")
    page.get_by_role("button", name="Submit 1 file").click()
    later = [page.url]
    page.get_by_role("link", name="Watch the run").click()
    expect(page.locator("#verdict-word")).to_have_text("Refuted", timeout=VERDICT_MS)
    run = page.url
    submission = page.get_by_role("link", name="The Submission").get_attribute("href")
    artifact = page.locator("#inputs a.digest-link").first.get_attribute("href")
    later += [run, f"{run}stages/assignment_check/log", f"{site_url}{submission}", f"{site_url}{artifact}"]
    later += [f"{attempt}close/", f"{site_url}/account/notices/", attempt]

    results += [(address, problem) for address in later for problem in looked_at(page, address)]

    assert results == []


def looked_at(page: Page, address: str) -> list[object]:
    """What is wrong with one page, in both themes."""
    page.goto(address)
    found: list[object] = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found += [(scheme, *rule) for rule in found_by_axe(page)]
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return found if over <= 0 else [*found, f"{over} px over the edge"]
