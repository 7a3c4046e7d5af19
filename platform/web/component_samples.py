"""What the page of components shows: made-up records of every state, none of them in the database."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.paginator import Paginator

from web.digests import compare
from web.figures import DayCounts
from web.templatetags.tfp import hash_tag, moment, reason

DIGEST = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
_QUEUED = datetime(2026, 11, 28, 14, 2, 31, tzinfo=UTC)
_FINISHED = datetime(2026, 11, 30, 17, 20, 2, tzinfo=UTC)
_SEALED = "Its commitment is public, so you can check then that nothing changed."
_LOG = "reading instance: 20 variables, 91 clauses\nreading 20 literals\n<b>clause 17</b> is not satisfied\n"


class SampleForm(forms.Form):
    """Fields of every kind."""

    title = forms.CharField(label="Title", help_text="At most 120 characters.", max_length=120)
    kind = forms.ChoiceField(label="Kind", choices=[("a", "Sandbox"), ("b", "Review"), ("c", "External")])
    summary = forms.CharField(label="Summary", widget=forms.Textarea(attrs={"rows": 4}), required=False)
    role = forms.ChoiceField(
        label="Visibility", widget=forms.RadioSelect, choices=[("public", "Public"), ("private", "Private")]
    )
    agreed = forms.BooleanField(
        label="I have read what is public", required=False, help_text="Results are, files are not."
    )


class SampleUploadForm(forms.Form):
    """One file."""

    assignment = forms.FileField(label="assignment: the truth values")


class SampleFilterForm(forms.Form):
    """A search and a choice."""

    q = forms.CharField(label="Search", required=False, widget=forms.TextInput(attrs={"type": "search"}))
    state = forms.ChoiceField(
        label="State", required=False, choices=[("", "Any"), ("open", "Open"), ("closed", "Closed")]
    )


def sample_context(given: str) -> dict[str, Any]:
    """All variables of the page of components."""
    return {
        "crumbs": [("Help", "/help/"), ("Components", "")],
        "verdicts": _verdicts(),
        "stages": _stages(),
        "running_stages": _running_stages(),
        "states": _STATE_NAMES,
        "digest": DIGEST,
        "given": given,
        "answer": compare(DIGEST, given),
        "queued_at": _QUEUED,
        "facts": _facts(),
        "events": _events(),
        "tasks": _TASKS,
        "durations": [
            {"title": "Format", "wall_s": 0.8},
            {"title": "Assignment check", "wall_s": 9.4},
            {"title": "Sealed inputs", "wall_s": 31.0},
        ],
        "days": _days(),
        "matrix_columns": ["tfp-builtin/sat-assignment:1", "tfp-builtin/sat-assignment:2", "script, 7 Nov"],
        "matrix_rows": _MATRIX,
        "sample_form": SampleForm(initial={"role": "public"}),
        "failing_form": SampleForm({"summary": "x", "kind": "z"}, auto_id="failing_%s"),
        "upload_form": SampleUploadForm(),
        "filter_form": SampleFilterForm({"q": "sat"}, auto_id="filter_%s"),
        "page_obj": Paginator(range(95), 20).page(2),
        "problem": _PROBLEM,
        "text": _MARKDOWN,
        "sizes": [0, 1, 900, 18 * 1024, 1_258_291, 512 * 1024 * 1024],
        "seconds": [0.04, 0.8, 41, 125, 5400, 183_600],
    }


_STATE_NAMES = (
    *("verified", "refuted", "inconclusive", "error", "running", "queued", "waiting", "not_started", "not_run"),
    *("revoked", "withdrawn", "withheld", "redacted", "not_checked", "pending", "passed", "failed", "open", "closed"),
    *("draft", "published", "superseded", "archived", "retired", "yanked", "in_progress", "ready", "blocked"),
)


def _verdicts() -> list[dict[str, Any]]:
    return [
        {
            "state": "verified",
            "sentence": "All three stages passed: two by the platform, one by two reviewers.",
            "lines": ["What this does not establish: that the assignment is the only one."],
        },
        {"state": "refuted", "sentence": "Assignment check: clause 17 of 91 is not satisfied.", "lines": []},
        {
            "state": "inconclusive",
            "sentence": "Nothing is shown either way: the file could not be read as an assignment (line 3).",
            "lines": ["Mend the file and submit again; it costs one of today's tries."],
        },
        {
            "state": "error",
            "sentence": "The machinery failed, ours or the checker's; no finding about your work.",
            "lines": ["Staff see it; a re-examination is a new run."],
        },
        {"state": "running", "sentence": "Stage 2 of 3, Assignment check. 8 s of 600 s.", "lines": []},
        {
            "state": "queued",
            "sentence": "Waiting for a free runner since 14:02:31 UTC.",
            "lines": ["3 runs ahead; lately 40 s to 2 min."],
        },
        {"state": "waiting", "sentence": "Waiting for 1 of 2 reviewers. Decision by 14 Aug, 17:00 UTC.", "lines": []},
        {
            "state": "revoked",
            "sentence": "Was Verified 30 Nov to 1 Dec. No longer counts.",
            "lines": ["Reason: “Fixture 07 was built with the wrong length.” The record stays."],
        },
        {
            "state": "withdrawn",
            "sentence": "Withdrawn by the submitter, 2 Dec.",
            "lines": ["The bytes are gone; the record of what was checked stays."],
        },
        {"state": "withheld", "sentence": "Sealed until the labels are released.", "lines": [_SEALED]},
    ]


def _stages() -> list[dict[str, Any]]:
    return [
        {
            "number": 1,
            "title": "Format",
            "state": "verified",
            "took": "0.8 s of 60 s",
            "meta": "Sandbox, no network · started 14:03:12",
            "say": "The file holds 20 literals.",
            "log": {"label": "Log of Format, 5 lines", "text": "read 20 literals\n" * 5, "href": "#", "note": ""},
        },
        {
            "number": 2,
            "title": "Assignment check",
            "state": "refuted",
            "took": "9.4 s of 600 s",
            "meta": "Sandbox, no network · started 14:03:13",
            "say": "Clause 17 of 91 is not satisfied.",
            "more": reason("checker_refuted"),
            "log": {"label": "Log of Assignment check, 3 lines", "text": _LOG, "is_open": True, "href": "#"},
        },
        {"number": 3, "title": "Review", "state": "not_run", "meta": "Two reviewers", "say": "Stage 2 did not pass."},
    ]


def _running_stages() -> list[dict[str, Any]]:
    return [
        {"number": 11, "title": "Format", "state": "verified", "took": "0.8 s", "meta": "Sandbox · started 14:03:12"},
        {
            "number": 12,
            "title": "A stage whose author gave it a rather long title, to see how it wraps",
            "state": "running",
            "is_current": True,
            "took": "8 s of 600 s",
            "meta": "Sandbox, no network · started 14:03:13",
            "log": {"label": "Log, kept until the labels are released", "text": None, "note": "Withheld."},
        },
        {"number": 13, "title": "Laboratory", "state": "not_started", "meta": "External · within 90 days"},
    ]


def _facts() -> list[tuple[str, Any]]:
    return [
        ("Run", hash_tag("vrn_01jdpq7z0hf6x8m2k4n6r8t0wy")),
        ("Contract", hash_tag(DIGEST, href="#", copy=True)),
        ("Checker", hash_tag(DIGEST, href="#", short=True)),
        ("Queued", moment(_QUEUED)),
        ("Finished", moment(_FINISHED, "minutes")),
        ("Allowance", "1 of 5 for 28 Nov (UTC day)"),
    ]


def _events() -> list[dict[str, Any]]:
    return [
        {"at": _FINISHED, "strong": "Verified.", "text": "All three stages passed."},
        {"at": _QUEUED, "text": "Queued by the submitter."},
    ]


def _days() -> list[DayCounts]:
    counts = [(3, 2, 0, 0), (5, 4, 1, 0), (2, 6, 0, 0), (0, 0, 0, 3), (7, 3, 1, 0), (9, 5, 0, 0), (4, 4, 2, 0)]
    return [DayCounts(f"{17 + offset} Nov", *row) for offset, row in enumerate(counts)]


_TASKS = [
    {"title": "Statement", "href": "#", "state": "ready"},
    {"title": "Contract", "href": "#", "state": "in_progress"},
    {"title": "Bindings", "href": "#", "state": "not_started"},
    {"title": "Publish", "href": "", "state": "blocked", "text": "Slot instance is not bound."},
]
_MATRIX = [
    {"title": "satisfying", "expected": "verified", "cells": ["verified", "verified", "verified"]},
    {"title": "one_clause_off", "expected": "refuted", "cells": ["refuted", "refuted", "verified"]},
    {"title": "not_text", "expected": "inconclusive", "cells": ["inconclusive", "error", ""]},
]
_PROBLEM = {
    "title": "Too large",
    "detail": "700 MB is over the 512 MB limit. Nothing was stored.",
    "remedy": "Send a smaller file.",
    "code": "too_large",
    "status": 413,
    "reference": "E-51C0",
    "errors": [{"pointer": "/artifacts/0", "message": "expected at most 536,870,912 bytes, found 734,003,200"}],
}
_MARKDOWN = """# A heading of the first level

Some *text* with `code`, a [link](https://example.org/) and a picture ![of a rod](https://example.org/rod.png).

| clause | satisfied |
|---|---|
| 17 | no |

1. first
2. second

> A remark.

    an indented block of code that is long enough to need wrapping on a small screen, as logs and such often are
"""
