"""What app.js adds: copying, uploads, live updates that recover, logs that stay open. The answers are faked."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

pytestmark = pytest.mark.e2e

FRAME = """<!doctype html><html lang="en"><head><title>{title}</title>
<meta name="htmx-config" content='{{"includeIndicatorStyles": false, "allowEval": false}}'>
<script src="/static/vendor/htmx-2.min.js" defer></script><script src="/static/js/app.js" defer></script></head>
<body><main id="main" tabindex="-1">{main}</main><p id="say" role="status"></p></body></html>"""
STAGE = """<li id="stage-1" class="stage"{oob}><h3>1. Check</h3>{words}
<details id="stage-1-log"><summary id="stage-1-log-s">Log</summary><pre id="stage-1-log-text">a line</pre></details>
{button}</li>"""
POLL = '<div id="poll" hx-get="/live" hx-trigger="every 50ms, refresh" hx-swap="outerHTML"></div>'
UPLOAD = """<form method="post" action="/upload" enctype="multipart/form-data" data-upload>
<input name="note" value="kept"><div data-dropzone><label for="f">File</label><input type="file" id="f" name="f">
<p data-drop-hint hidden>Or drop the file here.</p></div>
<div data-upload-state hidden><progress max="100"></progress><span data-upload-words></span>
<button type="button" data-upload-cancel>Cancel</button></div><div data-upload-problem></div>
<button type="submit">Upload</button></form>"""

Serve = Callable[[str, str], Page]


@pytest.fixture
def serve(page_server: str, browser: Browser) -> Iterator[Serve]:
    """Opens a page whose main part is given, with our own scripts."""
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()

    def open_page(main: str, title: str = "A page") -> Page:
        html = FRAME.format(title=title, main=main)
        page.route("**/faked/", lambda route: route.fulfill(content_type="text/html", body=html))
        page.goto(page_server + "/faked/", wait_until="load")
        return page

    yield open_page  # type: ignore[misc]
    context.close()


def test_a_copy_button_wakes_copies_and_says_so(serve: Serve) -> None:
    page = serve('<button type="button" data-copy="sha256:ab" hidden>Copy</button>', "Copy")

    page.click("[data-copy]")

    expect(page.locator("#say")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "sha256:ab"


def test_three_failed_polls_stop_with_a_link(serve: Serve) -> None:
    page = serve(POLL, "Run")
    page.route("**/live", lambda route: route.fulfill(status=503, body="no"))

    line = page.locator("#poll.live-line")

    expect(line).to_have_text("Live updates stopped. Reload.")
    expect(page.locator("#say")).to_have_text("Live updates stopped.")


def test_an_answer_without_content_changes_nothing_and_polling_goes_on(serve: Serve) -> None:
    page = serve(POLL, "Run")
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=204)

    page.route("**/live", answer)
    page.wait_for_function(
        "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/live')).length > 4"
    )

    assert page.locator("#poll").get_attribute("hx-get") == "/live"
    assert len(asked) >= 4


def test_an_opened_log_and_the_focus_survive_a_swap(serve: Serve) -> None:
    before = STAGE.format(oob="", words="running", button="")
    after = STAGE.format(oob=' hx-swap-oob="true"', words="done", button="")
    page = serve(
        f'<ol>{before}</ol><div id="poll" hx-get="/live" hx-trigger="refresh" hx-swap="outerHTML"></div>', "Run"
    )
    page.route(
        "**/live",
        lambda route: route.fulfill(
            content_type="text/html", body=f'<div id="poll" data-say="Check: Verified."></div>{after}'
        ),
    )
    page.click("#stage-1-log-s")
    page.focus("#stage-1-log-s")

    page.evaluate("htmx.trigger('#poll', 'refresh')")

    expect(page.locator("#stage-1")).to_contain_text("done")
    assert page.evaluate("document.getElementById('stage-1-log').open") is True
    assert page.evaluate("document.activeElement.id") == "stage-1-log-s"
    expect(page.locator("#say")).to_have_text("Check: Verified.")


def test_the_focus_moves_to_the_part_whose_control_went_away(serve: Serve) -> None:
    before = STAGE.format(oob="", words="running", button="<button>Cancel</button>")
    after = STAGE.format(oob=' hx-swap-oob="true"', words="done", button="")
    page = serve(
        f'<ol>{before}</ol><div id="poll" hx-get="/live" hx-trigger="refresh" hx-swap="outerHTML"></div>', "Run"
    )
    page.route("**/live", lambda route: route.fulfill(content_type="text/html", body=f'<div id="poll"></div>{after}'))
    page.focus("#stage-1 button")

    page.evaluate("htmx.trigger('#poll', 'refresh')")

    expect(page.locator("#stage-1")).to_contain_text("done")
    expect(page.locator("#stage-1")).to_be_focused()


def test_an_upload_shows_the_page_that_answers_it(serve: Serve) -> None:
    page = serve(UPLOAD, "Upload")
    answer = FRAME.format(title="Stored", main="<h1>Stored</h1>")
    page.route("**/upload", lambda route: route.fulfill(content_type="text/html", body=answer))
    page.set_input_files("#f", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"x" * 1000})

    page.click("[type=submit]")

    expect(page.locator("h1")).to_have_text("Stored")
    expect(page).to_have_title("Stored")
    expect(page).to_have_url(re.compile("/upload$"))


def test_a_refused_upload_says_why_and_keeps_the_form(serve: Serve) -> None:
    page = serve(UPLOAD, "Upload")
    refusal = FRAME.format(
        title="Too large", main='<h1>Too large</h1><div class="problem"><p>700 MB is over the 512 MB limit.</p></div>'
    )
    page.route("**/upload", lambda route: route.fulfill(status=413, content_type="text/html", body=refusal))
    page.set_input_files("#f", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"})

    page.click("[type=submit]")

    expect(page.locator("[data-upload-problem]")).to_have_text("Too large700 MB is over the 512 MB limit.")
    expect(page.locator("[name=note]")).to_have_value("kept")


def test_a_cancelled_upload_stores_nothing_and_can_be_sent_again(serve: Serve) -> None:
    page = serve(UPLOAD, "Upload")
    held: list[Route] = []
    page.route("**/upload", lambda route: held.append(route))
    page.set_input_files("#f", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"})
    page.click("[type=submit]")

    page.click("[data-upload-cancel]")

    expect(page.locator("#say")).to_have_text("Upload cancelled. Nothing was stored.")
    expect(page.locator("[data-upload-state]")).to_be_hidden()
    assert page.locator("[type=submit]").get_attribute("aria-disabled") is None


def test_a_dropped_file_fills_the_visible_field(serve: Serve) -> None:
    page = serve(UPLOAD, "Upload")

    page.evaluate("""() => {
        const carried = new DataTransfer();
        carried.items.add(new File(["x"], "dropped.txt"));
        const drop = new DragEvent("drop", {dataTransfer: carried, bubbles: true});
        document.querySelector("[data-dropzone]").dispatchEvent(drop);
    }""")

    assert page.evaluate("document.getElementById('f').files[0].name") == "dropped.txt"
    expect(page.locator("#say")).to_have_text("dropped.txt chosen.")
