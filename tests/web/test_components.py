"""The pieces of the pages: what they say, that colour is never alone, and that the files of others are intact."""

import hashlib
import re
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import RequestDataTooBig
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from verification.engine.reasons import LABELS, ReasonCode, Result
from web.component_samples import DIGEST, sample_context
from web.digests import compare
from web.figures import DayCounts, day_blocks, is_near, strip_parts
from web.icons import DRAWINGS
from web.moments import moment_words
from web.navigation import navigation_items
from web.quantities import ago_words, counted, duration_words, exact_size_words, size_words
from web.reason_help import NEXT_STEPS
from web.states import STATES, state_of
from web.views import errors

ROOT = Path(__file__).parents[2]
MOMENT = datetime(2026, 11, 28, 14, 2, 31, tzinfo=UTC)


def drawn(template: str, **context: object) -> str:
    return Template("{% load tfp figures %}" + template).render(Context(context))


def test_the_files_of_others_are_the_ones_written_down() -> None:
    table = (ROOT / "static" / "vendor" / "README.md").read_text()
    rows = re.findall(r"\| `([^`]+)` \|.*`([0-9a-f]{64})` \|", table)

    found = {name: hashlib.sha256((ROOT / "static" / "vendor" / name).read_bytes()).hexdigest() for name, _ in rows}

    assert len(rows) == 4
    assert found == dict(rows)


def test_a_result_bears_the_engines_word_and_an_icon_of_its_own() -> None:
    looks = [state_of(result.value) for result in Result]

    assert [look.label for look in looks] == [LABELS[result] for result in Result]
    assert len({DRAWINGS[look.icon] for look in looks}) == len(Result)


def test_every_state_has_a_drawing() -> None:
    missing = [name for name, state in STATES.items() if state.icon not in DRAWINGS]

    assert missing == []


def test_a_chip_is_shape_word_and_colour() -> None:
    html = drawn('{% chip "error" %}')

    assert (
        re.sub(r"<svg.*?</svg>", "<svg>", html)
        == '<span class="chip" data-result="error"><svg>Verification error</span>'
    )


def test_an_unknown_state_is_shown_as_a_plain_word() -> None:
    assert state_of("half_done").label == "Half done"


def test_a_short_hash_shows_twelve_digits_and_holds_all() -> None:
    html = drawn("{% hash digest short=True %}", digest=DIGEST)

    seen = re.sub(r'<span class="digest-rest">.*?</span>', "", html)
    assert re.sub(r"<[^>]+>", "", seen) == "ca978112ca1b…"
    assert re.sub(r"<[^>]+>", "", html).replace("…", "") == DIGEST


def test_a_hash_of_nothing_says_so() -> None:
    assert drawn('{% hash "" %}') == '<span class="muted">none</span>'


def test_a_copy_button_sleeps_until_a_script_wakes_it() -> None:
    html = drawn("{% hash digest copy=True %}", digest=DIGEST)

    assert html.count(f'data-copy="{DIGEST}" hidden>') == 1


def test_what_is_copied_is_escaped() -> None:
    html = drawn("{% copy_button text %}", text='"><script>')

    assert html.count("<script>") == 0


def test_a_moment_carries_utc_for_programs_and_the_readers_zone_for_people() -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        html = drawn("{% moment at %}", at=MOMENT)

    assert html == '<time datetime="2026-11-28T14:02:31Z">28 Nov 2026, 15:02:31 CET</time>'


@pytest.mark.parametrize(
    ("zone", "form", "words"),
    [
        ("UTC", "full", "28 Nov 2026, 14:02:31 UTC"),
        ("UTC", "minutes", "28 Nov 2026, 14:02 UTC"),
        ("UTC", "day", "28 Nov 2026"),
        ("Asia/Kolkata", "clock", "19:32:31 IST"),
        ("Asia/Kathmandu", "clock", "19:47:31 UTC+5:45"),
        ("America/Sao_Paulo", "clock", "11:02:31 UTC\N{MINUS SIGN}3"),
    ],
)
def test_moments_name_their_zone(zone: str, form: str, words: str) -> None:
    assert moment_words(MOMENT, ZoneInfo(zone), form) == words


def test_a_day_stays_a_day_in_every_zone() -> None:
    with timezone.override(ZoneInfo("Pacific/Auckland")):
        html = drawn("{% moment day %}", day=date(2026, 9, 3))

    assert html == '<time datetime="2026-09-03">3 Sep 2026</time>'


def test_a_moment_that_never_was_says_so() -> None:
    assert drawn("{% moment at %} {{ n|size }}", at=None, n=None) == "not recorded not recorded"


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [
        *((0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 kB"), (18 * 1024, "18 kB")),
        *((1_258_291, "1.2 MB"), (512 * 1024**2, "512 MB"), (3 * 1024**5, "3072 TB")),
    ],
)
def test_sizes(size_bytes: int, words: str) -> None:
    assert size_words(size_bytes) == words


def test_exact_sizes() -> None:
    assert exact_size_words(1_048_576) == "1,048,576 bytes"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0, "0 s"), (0.04, "40 ms"), (0.0001, "1 ms"), (0.8, "0.8 s"), (41, "41 s"), (59.96, "1 min")),
        *((125, "2 min 5 s"), (3600, "1 h"), (5400, "1 h 30 min"), (183_600, "2 days 3 h"), (172_800, "2 days")),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_duration_that_cannot_be_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite duration"):
        duration_words(seconds)


@given(seconds=st.floats(min_value=0, max_value=1e9))
def test_a_duration_has_at_most_two_units_and_the_smaller_never_reaches_the_larger(seconds: float) -> None:
    parts = duration_words(seconds).split(" ")

    assert len(parts) in (2, 4)
    assert len(parts) == 2 or float(parts[2]) < {"s": 60, "min": 60, "h": 24}[parts[3]]


def test_counts_agree_with_their_noun() -> None:
    assert [counted(n, "entry,entries") for n in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]


def test_how_long_ago_is_told_in_one_unit() -> None:
    assert [ago_words(s) for s in (1, 40, 200, 7200, 400_000, -90)] == [
        *("just now", "40 s ago", "3 min ago", "2 h ago", "4 days ago", "in 1 min")
    ]


@pytest.mark.parametrize(
    ("given_text", "is_same", "words"),
    [
        (DIGEST, True, "Same."),
        (f"  {DIGEST}\n", True, "Same."),
        (DIGEST.removeprefix("sha256:"), True, "Same; ours is written with sha256: in front."),
        (DIGEST.upper(), True, "Same; ours is written in small letters."),
        (DIGEST[:-1] + "0", False, "Different."),
        (DIGEST[:-1], False, "Not a whole digest: expected 64 digits, found 63."),
        ("md5:" + "a" * 32, False, "Not comparable: expected the prefix sha256:, found md5:."),
        ("g" * 64, False, "Not a digest: 'g' is none of 0-9 and a-f."),
    ],
)
def test_comparing_digests(given_text: str, is_same: bool, words: str) -> None:
    answer = compare(DIGEST, given_text)

    assert answer is not None
    assert (answer.is_same, answer.words) == (is_same, words)


def test_nothing_given_is_nothing_compared() -> None:
    assert compare(DIGEST, "  ") is None


@given(seconds=st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=9))
def test_the_parts_of_a_strip_lie_end_to_end_and_fill_it(seconds: list[float]) -> None:
    parts = strip_parts([("a", second, "") for second in seconds])

    ends = [float(part.start[:-1]) + float(part.length[:-1]) for part in parts]
    assert abs(ends[-1] - 100) < 0.05
    assert all(abs(float(after.start[:-1]) - end) < 0.05 for after, end in zip(parts[1:], ends, strict=False))


@given(counts=st.lists(st.tuples(*[st.integers(0, 500)] * 4), max_size=30))
def test_no_block_leaves_the_plot(counts: list[tuple[int, int, int, int]]) -> None:
    blocks = day_blocks([DayCounts("1 Jan", *row) for row in counts])

    number = {name: [float(getattr(block, name)[:-1]) for block in blocks] for name in ("x", "y", "width", "height")}
    assert len(blocks) == sum(1 for row in counts for count in row if count)
    assert all(x + width <= 100.02 for x, width in zip(number["x"], number["width"], strict=True))
    assert all(y + height <= 100.02 for y, height in zip(number["y"], number["height"], strict=True))


def test_nine_tenths_of_a_limit_is_near_it_and_said_in_words() -> None:
    html = drawn('{% usage "Memory, peak" 499122176 536870912 "bytes" %}')

    assert (is_near(89, 100), is_near(90, 100)) == (False, True)
    assert html.count("476 of 512 MB, near the limit") == 1


def test_an_unexpected_cell_is_framed_and_worded() -> None:
    rows = [{"title": "f", "expected": "refuted", "cells": ["verified", "refuted", ""]}]

    html = drawn('{% matrix columns rows "Matrix" %}', columns=["a", "b", "c"], rows=rows)

    assert html.count('class="unexpected"') == 1
    assert html.count("not as expected") == 2
    assert html.count("1 of 2 cells is") == 1


def test_a_field_is_tied_to_its_label_help_and_error() -> None:
    class Form(forms.Form):
        title = forms.CharField(label="Title", help_text="Short.")

    html = drawn("{% field form.title %}", form=Form({}))

    assert html.count('for="id_title"') == 1
    assert html.count('aria-describedby="id_title_helptext id_title_error"') == 1
    assert (html.count('id="id_title_helptext"'), html.count('id="id_title_error"')) == (1, 1)
    assert html.count('aria-invalid="true"') == 1


def test_the_summary_links_every_error_to_its_field() -> None:
    class Form(forms.Form):
        title = forms.CharField()
        kind = forms.CharField()

    html = render_to_string("components/error_summary.html", {"form": Form({})})

    assert re.findall(r'href="#(\w+)"', html) == ["id_title", "id_kind"]


def test_the_page_of_components_draws_everything_without_inline_code() -> None:
    html = Client().get("/help/components/").content.decode()

    assert re.findall(r"\sstyle=|\son\w+=|<script>|<style", html) == []
    assert html.count("<h1") == 1
    assert html.count("&lt;b&gt;clause 17&lt;/b&gt;") == 1
    assert sample_context("")["answer"] is None


def test_ids_on_the_page_of_components_are_unique() -> None:
    html = Client().get("/help/components/").content.decode()

    ids = re.findall(r'\sid="([^"]+)"', html)
    assert sorted(ids) == sorted(set(ids))


def test_the_page_of_components_is_for_staff(settings: object) -> None:
    settings.TFP_SHOW_COMPONENTS = False  # type: ignore[attr-defined]

    assert Client().get("/help/components/").status_code == 404


@pytest.mark.parametrize("code", list(ReasonCode))
def test_each_reason_says_what_it_means_and_what_to_do(code: ReasonCode) -> None:
    answer = Client().get(f"/help/reasons/{code.value}/")

    assert answer.status_code == 200
    assert len(NEXT_STEPS[code]) > 20


def test_a_reason_that_is_none_is_not_found() -> None:
    assert Client().get("/help/reasons/bad_luck/").status_code == 404


def test_programs_get_problem_details_and_people_a_page() -> None:
    as_json = Client().get("/no/such/", headers={"Accept": "application/json"})
    as_page = Client().get("/no/such/", headers={"Accept": "text/html"})

    assert as_json.headers["Content-Type"] == "application/problem+json"
    assert (as_json.json()["status"], as_json.json()["code"]) == (404, "not_found")
    assert as_page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert as_page.content.decode().count("No such page, or not visible to you") == 2


def test_a_failure_of_ours_has_a_reference_on_the_page_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    answer = errors.server_error(RequestFactory().get("/x/"))

    reference = re.findall(r"E-[0-9A-F]{4}", answer.content.decode())
    assert answer.status_code == 500
    assert [record.reference for record in caplog.records] == reference  # type: ignore[attr-defined]


def test_a_request_that_is_too_large_is_told_so() -> None:
    request = RequestFactory().post("/x/", headers={"Accept": "application/json"})

    assert errors.bad_request(request, RequestDataTooBig()).status_code == 413


def test_a_forged_form_is_refused_with_a_way_out() -> None:
    answer = Client(enforce_csrf_checks=True).post("/account/login/", {})

    assert answer.status_code == 403
    assert answer.content.decode().count("Reload the page the form was on") == 1


def test_a_visitor_is_shown_no_place_they_may_not_use() -> None:
    labels = [item.label for item in navigation_items(AnonymousUser(), "/")]

    assert {"My work", "Reviews", "Manage", "Staff", "Account"} & set(labels) == set()
    assert labels[-1] == "Sign in"


def test_the_place_of_the_page_is_marked() -> None:
    current = {item.label: item.current for item in navigation_items(AnonymousUser(), "/account/signup/")}

    assert current["Sign in"] == "true"
