"""Markdown that others wrote, as HTML that is safe to show: headings from h3, no raw HTML, no pictures."""

from collections.abc import Sequence
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

# The page owns h1 and the section owns h2.
FIRST_LEVEL = 3
MAX_CHARACTERS = 200_000

_ALLOWED_TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "div"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_ALLOWED_ATTRIBUTES = {
    "a": {"href"},
    "ol": {"start"},
    "div": {"class", "role", "tabindex", "aria-label"},
    "code": set[str](),
}
_SCHEMES = {"http", "https", "mailto"}


class _Renderer(RendererHTML):
    """Shifts headings, wraps tables in a focusable region, and turns a picture into a link to it."""

    def heading_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return f"<{_heading(tokens[index])}>"

    def heading_close(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return f"</{_heading(tokens[index])}>\n"

    def table_open(self, *_: Any) -> str:
        return '<div class="scroll" role="region" tabindex="0" aria-label="Table"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        # Loading it would tell a stranger's server who reads this page.
        token = tokens[index]
        words = self.renderInlineAsText(token.children or [], options, env) or "picture"
        address = str(token.attrs.get("src", ""))
        return f'<a href="{nh3.clean_text(address)}">{nh3.clean_text("Picture: " + words)}</a>'


def _heading(token: Token) -> str:
    return f"h{min(6, int(token.tag[1]) + FIRST_LEVEL - 1)}"


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}, renderer_cls=_Renderer)
    return parser.enable(["table", "strikethrough"])


def render_markdown(text: str) -> SafeString:
    """HTML of a Markdown text, sanitised after rendering so that no bug of the parser reaches the page.

    Args:
        text: what somebody wrote; beyond `MAX_CHARACTERS` it is cut, and says so.
    """
    shown = text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "\n\n*The rest of this text is not shown.*"
    html = nh3.clean(
        _parser().render(shown),
        tags=_ALLOWED_TAGS,
        attributes=_ALLOWED_ATTRIBUTES,
        allowed_classes=None,
        url_schemes=_SCHEMES,
        link_rel="nofollow ugc noopener noreferrer",
    )
    return mark_safe(html)  # noqa: S308  (sanitised on the line above)
