"""Markdown of strangers: safe, in its place, and free of pictures."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.markdown import MAX_CHARACTERS, render_markdown

TAG = re.compile(r"<(/?)([a-zA-Z0-9]+)((?:\s[^<>]*)?)>")
ALLOWED = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "div"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
PIECES = st.sampled_from(
    [
        *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "![a](//x/y.png)"),
        *(
            "<a href='data:text/html,x'>",
            "# h\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "`",
            "```\n",
            "> ",
            "- ",
            "&lt;",
        ),
        *(
            "[a](https://e.org 'onmouseover=1')",
            "<style>*{}</style>",
            "<!--",
            "-->",
            "\\",
            "\n\n",
            "*",
            "_",
            "\u202e",
            "\x00",
        ),
    ]
)


@given(text=st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=12).map("".join))
def test_whatever_is_written_only_harmless_tags_come_out(text: str) -> None:
    html = render_markdown(text)

    tags = TAG.findall(html)
    assert {name.lower() for _, name, _ in tags} <= ALLOWED
    assert [attributes for _, _, attributes in tags if re.search(r"\son\w+\s*=|style\s*=", attributes)] == []
    assert re.findall(r'href="\s*(?:javascript|data|vbscript):', html, re.IGNORECASE) == []


def test_raw_html_is_shown_as_text() -> None:
    html = render_markdown("<script>alert(1)</script>")

    assert html == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"


@pytest.mark.parametrize(
    ("written", "shown"), [("#", "h3"), ("##", "h4"), ("###", "h5"), ("####", "h6"), ("######", "h6")]
)
def test_headings_start_below_those_of_the_page(written: str, shown: str) -> None:
    html = render_markdown(f"{written} Title")

    assert html == f"<{shown}>Title</{shown}>\n"


def test_a_picture_becomes_a_link_to_it() -> None:
    html = render_markdown("![a rod](https://example.org/rod.png)")

    assert html == (
        '<p><a href="https://example.org/rod.png" rel="nofollow ugc noopener noreferrer">Picture: a rod</a></p>\n'
    )


def test_links_tell_nothing_to_where_they_lead() -> None:
    html = render_markdown("[there](https://example.org/)")

    assert html == '<p><a href="https://example.org/" rel="nofollow ugc noopener noreferrer">there</a></p>\n'


def test_a_link_that_runs_code_is_none() -> None:
    html = render_markdown("[here](javascript:alert(1))")

    assert html == "<p>[here](javascript:alert(1))</p>\n"


def test_a_table_scrolls_in_a_region_of_its_own() -> None:
    html = render_markdown("| a |\n|---|\n| 1 |\n")

    assert html.startswith('<div class="scroll" role="region" tabindex="0" aria-label="Table"><table>')
    assert html.count("<td>1</td>") == 1


def test_a_text_without_end_is_cut_and_says_so() -> None:
    html = render_markdown("word " * MAX_CHARACTERS)

    assert html.endswith("<p><em>The rest of this text is not shown.</em></p>\n")
    assert len(html) < MAX_CHARACTERS + 200
