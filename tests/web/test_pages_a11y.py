"""axe, small screens, wide text, keyboard and print, in a real browser, in both themes."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.e2e
AXE = (Path(__file__).parents[1] / "e2e" / "vendor" / "axe-4.14.1.min.js").read_text()
PATHS = [
    *("/", "/help/", "/help/words/", "/help/reasons/", "/help/reasons/limit_time/", "/help/components/"),
    *("/no/such/page/", "/account/login/", "/account/signup/", "/account/password/reset/"),
]
WIDE_TEXT = """* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important; }
p { margin-bottom: 2em !important; }"""
SMALL_TARGETS = """() => [...document.querySelectorAll("a, button, summary, input, select")]
  .filter((part) => part.getClientRects().length && !part.matches(".skip"))
  .filter((part) => !part.closest("p, main li, dd, dt, td, th, h3, .helptext, label, .error-summary"))
  .filter((part) => part.getBoundingClientRect().height < 24)
  .map((part) => part.outerHTML.slice(0, 120))"""


def opened(browser: Browser, address: str, **how: Any) -> Page:
    page = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | how)).new_page()
    page.goto(address)
    page.wait_for_load_state("load")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_nothing(page_server: str, browser: Browser, path: str, scheme: str) -> None:
    page = opened(browser, page_server + path, color_scheme=scheme, bypass_csp=True)

    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    told = [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found["violations"]]
    page.context.close()
    assert told == []


@pytest.mark.parametrize("path", PATHS)
def test_nothing_runs_over_the_edge_at_320_px_even_with_wide_text(
    page_server: str, browser: Browser, path: str
) -> None:
    page = opened(browser, page_server + path, viewport={"width": 320, "height": 700}, bypass_csp=True)
    over = "document.documentElement.scrollWidth - innerWidth"

    plain = page.evaluate(over)
    page.add_style_tag(content=WIDE_TEXT)
    wide = page.evaluate(over)

    page.context.close()
    assert (plain, wide) == (0, 0)


@pytest.mark.parametrize("path", PATHS)
def test_the_policy_of_the_page_stops_nothing_of_ours(page_server: str, browser: Browser, path: str) -> None:
    page = browser.new_context().new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if "Security Policy" in message.text else None)
    page.on("pageerror", lambda error: refused.append(str(error)))

    page.goto(page_server + path)
    page.wait_for_load_state("load")

    page.context.close()
    assert refused == []


def test_targets_outside_running_text_are_24_px_high(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/help/components/", viewport={"width": 360, "height": 800})

    small = page.evaluate(SMALL_TARGETS)

    page.context.close()
    assert small == []


def test_the_first_tab_reaches_the_skip_link_which_leads_to_the_content(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/help/words/")

    page.keyboard.press("Tab")
    words = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#main' && document.activeElement.id === 'main'")

    page.context.close()
    assert words == "Skip to the content"


def test_the_focus_ring_is_ours(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/account/login/")

    page.focus("#id_login")
    ring = page.evaluate(
        "(({outlineWidth, outlineStyle}) => [outlineWidth, outlineStyle])(getComputedStyle(document.activeElement))"
    )

    page.context.close()
    assert ring == ["3px", "solid"]


def test_the_error_summary_has_the_focus_without_scripts(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/help/components/", java_script_enabled=False)

    focused = page.locator("#error-summary:focus").count()

    page.context.close()
    assert focused == 1


def test_the_root_is_the_readers_own_size_on_wide_screens(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/", viewport={"width": 1920, "height": 1000})

    size = page.evaluate("getComputedStyle(document.documentElement).fontSize")

    page.context.close()
    assert size == "16px"


def test_nothing_turns_for_those_who_want_no_motion(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/help/components/", reduced_motion="reduce")

    moving = page.evaluate("document.getAnimations().filter((motion) => motion.playState === 'running').length")

    page.context.close()
    assert moving == 0


def test_print_shows_whole_digests_and_no_navigation(page_server: str, browser: Browser) -> None:
    page = opened(browser, page_server + "/help/components/")

    page.emulate_media(media="print")
    rests = "[...document.querySelectorAll('.digest-short .digest-rest')]"
    width = page.evaluate(f"{rests}.some((rest) => rest.getBoundingClientRect().width > 100)")
    navigation = page.locator(".site-nav").is_visible()

    page.context.close()
    assert (width, navigation) == (True, False)
