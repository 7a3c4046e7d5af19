"""The small pieces of every page: icons, chips, hashes, moments, quantities, Markdown, fields."""

from datetime import date, datetime
from typing import Any

from django import template
from django.forms import BoundField
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from verification.engine.reasons import EXPLANATION, ReasonCode
from web.icons import DRAWINGS
from web.markdown import render_markdown
from web.moments import day_words, iso_words, moment_words
from web.quantities import ago_words, counted, duration_words, exact_size_words, size_words
from web.states import state_of

register = template.Library()
SHORT_DIGITS = 12
NOT_RECORDED = "not recorded"


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon by its name or by the name of a state; always beside a word, so hidden from screen readers."""
    drawn = name if name in DRAWINGS else state_of(name).icon
    return format_html(
        '<svg class="icon icon-{}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{}</svg>',
        drawn,
        mark_safe(DRAWINGS[drawn]),  # noqa: S308  (a constant of web.icons)
    )


@register.simple_tag
def chip(state: str, label: str = "") -> SafeString:
    """A state in a pill: shape, word and colour."""
    look = state_of(state)
    return format_html(
        '<span class="chip" data-result="{}">{}{}</span>', look.tone, icon(look.icon), label or look.label
    )


@register.simple_tag
def result(state: str, label: str = "") -> SafeString:
    """A state as icon and word without the pill, for tables."""
    look = state_of(state)
    return format_html(
        '<span class="result" data-result="{}">{}{}</span>', look.tone, icon(look.icon), label or look.label
    )


@register.filter
def state_label(state: str) -> str:
    """The word of a state."""
    return state_of(state).label


@register.filter
def tone(state: str) -> str:
    """The `data-result` that colours a state."""
    return state_of(state).tone


@register.simple_tag(name="hash")
def hash_tag(value: str, href: str = "", *, short: bool = False, copy: bool = False) -> SafeString:
    """A digest, whole in the page; `short` shows its first twelve digits, `copy` adds a button."""
    if not value:
        return format_html('<span class="muted">{}</span>', "none")
    body = _short_digest(value) if short else format_html('<code class="digest">{}</code>', value)
    if href:
        body = format_html('<a class="digest-link" href="{}">{}</a>', href, body)
    if copy:
        body = format_html("{}{}", body, copy_button(value))
    return format_html('<span class="hash">{}</span>', body)


def _short_digest(value: str) -> SafeString:
    algorithm, _, digits = value.rpartition(":")
    return format_html(
        '<code class="digest digest-short">{}{}<span class="digest-rest">{}</span>{}</code>',
        format_html('<span class="digest-rest">{}:</span>', algorithm) if algorithm else "",
        digits[:SHORT_DIGITS],
        digits[SHORT_DIGITS:],
        mark_safe('<span class="digest-more" aria-hidden="true">…</span>') if digits[SHORT_DIGITS:] else "",
    )


@register.simple_tag
def copy_button(text: str, what: str = "digest") -> SafeString:
    """A button that copies a text; hidden until the script wakes it, for without script it does nothing."""
    return format_html(
        '<button type="button" class="small-button" data-copy="{}" hidden>Copy<span class="visually-hidden"> {}</span>'
        "</button>",
        text,
        what,
    )


@register.simple_tag
def moment(value: datetime | date | None, form: str = "full", *, ago: bool = False) -> SafeString | str:
    """A moment in the reader's zone with the zone's name; `ago=True` adds how long ago beside it."""
    if value is None:
        return NOT_RECORDED
    if not isinstance(value, datetime):
        return format_html('<time datetime="{}">{}</time>', value.isoformat(), day_words(value))
    shown = format_html(
        '<time datetime="{}">{}</time>', iso_words(value), moment_words(value, timezone.get_current_timezone(), form)
    )
    if not ago:
        return shown
    return format_html('{} <span class="muted">({})</span>', shown, ago_words((timezone.now() - value).total_seconds()))


@register.filter
def size(size_bytes: int | None) -> str:
    """A size in bytes as `1.2 MB`."""
    return NOT_RECORDED if size_bytes is None else size_words(size_bytes)


@register.filter
def exact_size(size_bytes: int | None) -> str:
    """A size in bytes as `1,048,576 bytes`."""
    return NOT_RECORDED if size_bytes is None else exact_size_words(size_bytes)


@register.filter
def duration(seconds: float | None) -> str:
    """A duration in seconds as `2 min 5 s`."""
    return NOT_RECORDED if seconds is None else duration_words(float(seconds))


@register.filter(name="counted")
def counted_filter(count: int, nouns: str) -> str:
    """A count with its noun: `{{ n|counted:"run,runs" }}`."""
    return counted(count, nouns)


@register.filter
def markdown(text: str | None) -> SafeString:
    """Somebody's Markdown as safe HTML, in a box that keeps it in its place."""
    return format_html('<div class="rich">{}</div>', render_markdown(text or ""))


@register.simple_tag
def reason(code: str | None) -> SafeString | str:
    """A reason code, linked to the page that explains it."""
    if not code:
        return ""
    try:
        address = reverse("help_reason", args=[code])
    except NoReverseMatch:
        return code
    return format_html('<a href="{}"><code>{}</code></a>', address, code)


@register.filter
def reason_sentence(code: str | None) -> str:
    """What a reason code says, in a sentence; empty for none."""
    return EXPLANATION[ReasonCode(code)] if code else ""


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, *, suffix: str = "", is_wide: bool = False) -> dict[str, Any]:
    """A form field: label, help, error beside it, control, all tied together for screen readers."""
    return {"field": bound, "suffix": suffix, "is_wide": is_wide, "says_optional": _says_optional(bound)}


def _says_optional(bound: BoundField) -> bool:
    is_tick_or_choice = getattr(bound.field.widget, "input_type", "") in ("checkbox", "radio")
    return not bound.field.required and not is_tick_or_choice


@register.filter
def named_field(form: Any, name: str) -> BoundField | None:
    """The bound field of a form by name, or None where the name stands for the whole form."""
    return form[name] if name in form.fields else None
