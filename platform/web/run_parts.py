"""The parts of a run's page below its banner: stages with logs, facts, use against limits, inputs, record."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from blobs.services import BytesGone, open_blob
from verification.engine.checkers.registry import BUILTIN_PREFIX, BUILTINS
from verification.engine.names import safe_filename
from verification.engine.reasons import LABELS
from verification.engine.sandbox.base import Guard
from verification.runs.models import RunStatus
from verification.runs.projection import ProjectedLog, ProjectedRun, ProjectedStage
from verification.runs.selectors import ToldRun
from web.log_text import INLINE_BYTES, line_count, log_html, plain_html
from web.quantities import counted, duration_words, size_words
from web.run_words import SEALED, Surroundings, current_stage, failed_stage, finding_text, now_words, running_words
from web.templatetags.tfp import hash_tag, moment, reason

MAX_FINDINGS_SHOWN = 20
_WORDS = {result.value: label for result, label in LABELS.items()}
KIND_WORDS = {"sandbox": "Sandbox", "review": "Review", "external": "Outside system"}


def stage_rows(run: ProjectedRun, around: Surroundings) -> list[dict[str, Any]]:
    """The timeline, as `components/stages.html` draws it."""
    current = current_stage(run)
    failed = failed_stage(run)
    return [
        {
            "number": stage.number,
            "key": stage.key,
            "title": stage.title,
            "state": stage.state,
            "is_current": current is not None and stage.key == current.key and stage.state in ("running", "waiting"),
            "took": _took(stage, around),
            "meta": _meta(stage, around),
            "say": _say(run, stage, failed),
            "more": _more(stage),
            "log": stage_log(run, stage, is_open=failed is not None and failed.key == stage.key),
        }
        for stage in run.stages
    ]


# Guards that a sandbox gives and a plain process does not, as a reader is told of their absence.
ISOLATION = {Guard.NO_NETWORK: "shut off the network", Guard.HOST_HIDDEN: "hide the machine's files"}


def _took(stage: ProjectedStage, around: Surroundings) -> str:
    if stage.state == "running" and stage.started_at is not None:
        return running_words(stage.started_at, (around.limits or {}).get(stage.key), around.at)
    if stage.wall_s is None:
        return ""
    return f"{duration_words(stage.wall_s)} of {stage.limit_s} s" if stage.limit_s else duration_words(stage.wall_s)


def _meta(stage: ProjectedStage, around: Surroundings) -> str:
    parts = [KIND_WORDS[stage.kind]]
    if "no_network" in stage.enforced:
        parts[0] += ", no network"
    if stage.started_at is not None:
        parts.append(f"started {now_words(stage.started_at, 'clock')}")
    elif stage.state in ("not_started", "waiting") and stage.key in (around.limits or {}):
        parts.append(f"limit {(around.limits or {})[stage.key]} s")
    return " · ".join(parts)


def _say(run: ProjectedRun, stage: ProjectedStage, failed: ProjectedStage | None) -> str:
    if stage.is_withheld or stage.state == "withheld":
        return SEALED
    if stage.state == "not_run":
        return (
            "Not run: the run ended before it." if failed is None else f"Not run: stage {failed.number} did not pass."
        )
    if stage.state == "waiting" and run.wait is not None:
        return run.wait.text
    return finding_text(stage.findings[0]) if stage.findings else ""


def _more(stage: ProjectedStage) -> SafeString | str:
    lines: list[SafeString | str] = [finding_text(f) for f in stage.findings[1 : 1 + MAX_FINDINGS_SHOWN]]
    if (rest := len(stage.findings) - 1 - MAX_FINDINGS_SHOWN) > 0:
        lines.append(f"{counted(rest, 'further finding')} in the downloadable record.")
    if stage.implementation_id is not None:
        lines.append(_checked_by(stage))
        lines.append(_not_held(stage))
    if stage.reason_code is not None:
        lines.append(format_html("Reason: {}", reason(stage.reason_code.value)))
    return format_html_join(SafeString("<br>"), "{}", ((line,) for line in lines if line))


def _not_held(stage: ProjectedStage) -> str:
    """What the backend could not hold the checker to; a missing limit is never silent."""
    missing = [words for guard, words in ISOLATION.items() if guard not in stage.enforced]
    if not missing or not stage.enforced:
        return ""
    return f"This backend runs the platform's own checkers only, and does not {' or '.join(missing)}."


def _checked_by(stage: ProjectedStage) -> SafeString:
    return format_html(
        'Checked by the platform (backend {}) with <a href="{}">{}</a>{}.',
        stage.backend,
        reverse("implementation", args=[stage.implementation_id]),
        stage.image_ref,
        "" if stage.exit_code is None else f", exit status {stage.exit_code}",
    )


def stage_log(run: ProjectedRun, stage: ProjectedStage, *, is_open: bool) -> dict[str, Any] | None:
    """A stage's log for the timeline: its first part inline, the rest on a page of its own."""
    log = stage.log
    if log is None:
        return None
    address = reverse("stage_log", args=[run.id, stage.key])
    if log.redaction is not None:
        return {"label": f"Log of {stage.title}", "text": None, "href": address, "note": redaction_words(log)}
    content = log_content(log, limit=INLINE_BYTES)
    if content is None:
        return {"label": f"Log of {stage.title}", "text": None, "href": address, "note": "Its bytes are gone."}
    is_cut = log.kept_bytes > len(content)
    size = size_words(log.kept_bytes)
    return {
        "label": f"Log of {stage.title}, {size if is_cut else counted(line_count(content), 'line')}",
        "text": log_html(content, is_cut=is_cut),
        "is_open": is_open,
        "href": address,
        "note": " ".join(_log_notes(log, is_cut=is_cut)),
    }


def _log_notes(log: ProjectedLog, *, is_cut: bool) -> Iterator[str]:
    if is_cut:
        yield f"The first {size_words(INLINE_BYTES)}."
    if log.is_truncated:
        yield truncation_words(log)


def truncation_words(log: ProjectedLog) -> str:
    """That a log was longer than what is kept of it."""
    return f"Truncated: {size_words(log.size_bytes)} were written, the first {size_words(log.kept_bytes)} are kept."


def redaction_words(log: ProjectedLog) -> str:
    """That a log's content was removed, when and why."""
    when = "" if log.redacted_at is None else f", {now_words(log.redacted_at, 'day')}"
    return f"Removed by staff{when}: {log.redaction}. Size and digest stay."


def log_content(log: ProjectedLog, *, limit: int = -1) -> bytes | None:
    """The kept bytes, or their beginning; None where the store holds them no more."""
    if not log.content_hash:
        return b""
    try:
        with open_blob(log.content_hash) as file:
            return file.read(limit)
    except BytesGone:
        return None


def facts(run: ProjectedRun) -> list[tuple[str, Any]]:
    """The card of facts."""
    rows: list[tuple[str, Any]] = [
        ("Run", hash_tag(run.id, copy=True)),
        (
            "Contract",
            hash_tag(run.contract_normative_hash, href=reverse("contract", args=[run.contract_id]), copy=True),
        ),
    ]
    rows += [
        (f"Checker{'' if len(run.stages) == 1 else f' {s.number}'}", format_html("{}<br>{}", s.image_ref, _image(s)))
        for s in run.stages
        if s.image_digest is not None
    ]
    rows += [("Submitted by", run.submitter_name), ("Queued", moment(run.created_at))]
    if run.started_at is not None and run.started_at >= run.created_at:
        rows.append(("Waited", f"{duration_words((run.started_at - run.created_at).total_seconds())} for a runner"))
    if run.finished_at is not None:
        rows.append(("Finished", moment(run.finished_at)))
    if run.reason_code is not None:
        rows.append(("Reason", reason(run.reason_code.value)))
    if run.rerun_reason:
        rows.append(("Asked for by staff", run.rerun_reason))
    return rows


def _image(stage: ProjectedStage) -> SafeString:
    return hash_tag(
        stage.image_digest or "", href=reverse("implementation", args=[stage.implementation_id]), short=True
    )


@dataclass(frozen=True)
class Usage:
    """One amount against its limit."""

    label: str
    used: float
    limit: float
    unit: str


def usages(run: ProjectedRun) -> list[Usage]:
    """Use against limits, of the stage that came nearest to each."""
    timed = [Usage("Time", s.wall_s, s.limit_s, "s") for s in run.stages if s.wall_s is not None and s.limit_s]
    memory = [
        Usage("Memory, peak", s.peak_memory_bytes, s.memory_limit_bytes, "bytes")
        for s in run.stages
        if s.peak_memory_bytes is not None and s.memory_limit_bytes
    ]
    logs = [Usage("Log kept", s.log.kept_bytes, 256 * 1024, "bytes") for s in run.stages if s.log is not None]
    nearest = [max(group, key=lambda usage: usage.used / usage.limit) for group in (timed, memory, logs) if group]
    if len(timed) > 1:
        nearest[0] = Usage("Time, longest stage", nearest[0].used, nearest[0].limit, "s")
    return nearest


def machine_times(run: ProjectedRun) -> list[dict[str, Any]]:
    """Stages with machine time, for the strip of durations; empty unless there are at least two to compare."""
    timed = [{"title": s.title, "wall_s": s.wall_s} for s in run.stages if s.wall_s is not None]
    return timed if len(timed) > 1 else []


def input_rows(run: ProjectedRun) -> list[dict[str, Any]]:
    """What went into the run and what it left behind."""
    rows = []
    for given in run.inputs:
        is_file = given.kind == "artifact"
        row: dict[str, Any] = {
            "item": plain_html(given.filename or given.key),
            "key": given.key,
            "origin": ("You" if run.is_submitter else run.submitter_name) if is_file else "The Problem",
            "size_bytes": given.size_bytes,
            "digest": hash_tag(given.content_hash, short=True),
        }
        if is_file:
            address = reverse("artifact", args=[given.artifact_id])
            row["digest"] = hash_tag(given.content_hash, href=address, short=True)
            row |= _file_access(run, given.artifact_id or "", is_withdrawn=given.is_withdrawn)
        else:
            row |= _reference_access(run, given.key, url=given.url, is_commitment=given.is_commitment)
        rows.append(row)
    return rows + [row for stage in run.stages for row in _evidence_rows(run, stage)]


def _file_access(run: ProjectedRun, artifact_id: str, *, is_withdrawn: bool) -> dict[str, Any]:
    if is_withdrawn:
        return {"state": "withdrawn", "access": "by the submitter. Size and digest stay."}
    if not run.may_read_artifacts:
        return {"access": "For the people concerned only"}
    return {"href": reverse("artifact_download", args=[artifact_id]), "link": "Download"}


def _reference_access(run: ProjectedRun, key: str, *, url: str | None, is_commitment: bool) -> dict[str, Any]:
    if is_commitment:
        return {"state": "withheld", "access": "until release. The commitment is public now."}
    address = reverse("reference", args=[run.problem_slug, run.revision_number, key])
    if url is not None:
        return {"href": address, "link": "Link", "access": "never fetched here, and given to no checker"}
    return {"href": address, "link": "Download"}


def _evidence_rows(run: ProjectedRun, stage: ProjectedStage) -> list[dict[str, Any]]:
    address = reverse("stage_evidence", args=[run.id, stage.key])
    return [
        {
            "item": plain_html(path),
            "key": "evidence",
            "origin": f"{stage.number}. {stage.title}",
            "size_bytes": size_bytes,
            "digest": hash_tag(content_hash, short=True),
            "href": f"{address}?digest={content_hash}",
            "link": "Download",
        }
        for path, content_hash, size_bytes in stage.evidence_files
    ]


def command(run: ProjectedRun) -> str:
    """What to type to repeat the check on one's own machine."""
    return " ".join(_command_words(run))


def command_html(run: ProjectedRun) -> SafeString:
    """The same for the page: a line never breaks inside an option's name, at its hyphens."""
    words = ((SafeString(" tight") if word.startswith("--") else "", word) for word in _command_words(run))
    return format_html_join(" ", '<span class="word{}">{}</span>', words)


def _command_words(run: ProjectedRun) -> list[str]:
    """The builtin of the last stage it ran, on the downloaded files; nothing where no builtin ran."""
    names = [stage.image_ref for stage in run.stages if stage.image_ref and stage.result is not None]
    name = names[-1].removeprefix(BUILTIN_PREFIX).partition(":")[0] if names else ""
    builtin = BUILTINS.get(name)
    if builtin is None or not names[-1].startswith(BUILTIN_PREFIX):
        return []
    words = ["python3", "-m", builtin.module]
    for given in sorted(run.inputs, key=lambda given: given.kind, reverse=True):
        if given.has_role and given.url is None:
            words += [f"--{given.key}", shlex.quote(safe_filename(given.filename, fallback=given.key))]
    return words


def record_entries(run: ProjectedRun, later: Sequence[ToldRun]) -> list[dict[str, Any]]:
    """The run's story, newest first."""
    titles = {stage.key: f"Stage {stage.number}, {stage.title}" for stage in run.stages}
    entries = [_entry(run, at, kind, titles.get(stage_key, "")) for at, kind, stage_key in run.events]
    for stage in run.stages:
        if stage.log is not None and stage.log.redacted_at is not None:
            text = f"of {stage.title} removed by staff: {stage.log.redaction}."
            entries.append({"at": stage.log.redacted_at, "strong": "Log", "text": text})
    if run.withdrawn_at is not None:
        entries.append({"at": run.withdrawn_at, "strong": "Withdrawn", "text": "by the submitter."})
    entries += [_later_entry(newer) for newer in later if newer.finished_at is not None]
    # Ascending and stable first, so that of equal moments the later entry comes first.
    entries.sort(key=_moment)
    return entries[::-1]


def _moment(entry: Mapping[str, Any]) -> datetime:
    at: datetime = entry["at"]
    return at


def _later_entry(newer: ToldRun) -> dict[str, Any]:
    told = "ended" if newer.result is None else f"ended: {LABELS[newer.result]}"
    address = reverse("run", args=[newer.id])
    return {"at": newer.finished_at, "text": format_html('<a href="{}">Run {}</a> {}.', address, newer.number, told)}


def _entry(run: ProjectedRun, at: datetime, kind: str, stage: str) -> dict[str, Any]:
    if kind == "queued":
        asked = "by staff" if run.trigger == "rerun" else "by the submitter"
        return {"at": at, "text": f"Queued {asked}."}
    if kind == "stage_started":
        return {"at": at, "text": f"{stage}, started."}
    if kind == "waiting":
        return {"at": at, "text": f"{stage}, waits."}
    if kind == "fault":
        return {"at": at, "strong": "The machinery failed.", "text": "The run tries again by itself."}
    if kind == "revoked":
        return {"at": at, "strong": "Revoked", "text": f"by staff: {run.revocation_reason_md}"}
    if kind == "finished":
        return {"at": at, "strong": f"{run.label}.", "text": "The run is finished and its record closed."}
    result = kind.removeprefix("stage_")
    return {"at": at, "text": f"{stage}: {_WORDS.get(result, result)}."}


def is_live(run: ProjectedRun) -> bool:
    """True while the page has something to wait for."""
    return run.status != RunStatus.FINISHED


def poll_seconds(run: ProjectedRun, at: datetime) -> int:
    """How often the page asks: often for a minute, then less, seldom while people decide; 0 once nothing can change."""
    if not is_live(run):
        return 0
    if run.wait is not None and run.wait.kind in ("review", "external"):
        return 30
    return 2 if (at - run.created_at).total_seconds() < 60 else 5
