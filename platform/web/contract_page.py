"""What the pages of Contracts and Implementations show: fixtures, conformance and its logs, composed from records."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from blobs.services import BytesGone, open_blob
from problems.selectors import revisions_under
from verification.contracts.models import (
    ConformanceFixture,
    ConformanceRecord,
    ConformanceRun,
    VerifierContract,
    VerifierImplementation,
)
from verification.contracts.selectors import (
    Conformance,
    ListedImplementation,
    PlannedStage,
    conformance_records,
    fixtures_of,
    latest_conformance,
    plan_stages,
)
from web.acceptance import SUMMARY_WORDS, acceptance_lead, file_sentence, left_open, stage_words
from web.log_text import log_html

REVISIONS_SHOWN = 50
LOG_SHOWN_BYTES = 8 * 1024
LOGS_SHOWN = 40
BUILTIN_PREFIX, RUNTIME_PREFIX = "tfp-builtin/", "tfp-runtime/"


def contract_context(contract: VerifierContract) -> dict[str, Any]:
    """Everything the page of a Contract shows."""
    stages = plan_stages(contract.pk)
    fixtures = fixtures_of(contract.pk)
    implementations = latest_conformance(contract.pk)
    slots = list(contract.slots.all())
    roles = [
        {"key": role.key, "media_types": role.media_types, "max_bytes": role.max_bytes} for role in contract.roles.all()
    ]
    return {
        "contract": contract,
        "lead": acceptance_lead(stages, contract),
        "stages": [stage_words(planned) for planned in stages],
        "left_open": left_open(stages),
        "slots": slots,
        "has_sealed_slots": any(slot.sealed for slot in slots),
        "files": [(role["key"], file_sentence(role)) for role in roles],
        "summary": SUMMARY_WORDS[contract.summary],
        "fixtures": [_fixture_row(fixture) for fixture in fixtures],
        "matrices": matrices(stages, fixtures, implementations),
        "implementations": [_implementation_row(listed, stages) for listed in implementations],
        "revisions": list(revisions_under(contract.pk, limit=REVISIONS_SHOWN)),
    }


def _fixture_row(fixture: ConformanceFixture) -> dict[str, Any]:
    files = []
    for file in fixture.files.all():
        member, place = ("reference", file.slot) if file.slot is not None else ("artifacts", file.role)
        key = "" if place is None else place.key
        files.append(
            {
                "key": key,
                "member": member,
                "size_bytes": file.blob.size_bytes,
                "href": reverse("fixture_file", args=[fixture.contract_id, fixture.key, member, key]),
            }
        )
    return {"fixture": fixture, "files": files}


def matrices(
    stages: Sequence[PlannedStage],
    fixtures: Sequence[ConformanceFixture],
    implementations: Sequence[ListedImplementation],
) -> list[dict[str, Any]]:
    """For each sandbox stage its live fixtures against its Implementations, as the matrix component takes them."""
    found = []
    for planned in stages:
        live = [f for f in fixtures if f.stage_id == planned.stage.pk and f.retired_at is None]
        columns = [i for i in implementations if i.implementation.stage_id == planned.stage.pk]
        if not live or not columns:
            continue
        cells = [_cells(listed.latest) for listed in columns]
        found.append(
            {
                "title": planned.stage.title,
                "columns": [f"{i.implementation.number} · {i.implementation.image_ref}" for i in columns],
                "rows": [
                    {"title": f.key, "expected": f.expected_result, "cells": [cell.get(f.pk, "") for cell in cells]}
                    for f in live
                ],
            }
        )
    return found


def _cells(latest: Conformance | None) -> dict[int, str]:
    """What one Implementation made of each fixture: a result, or a word of its own where results do not tell it."""
    cells: dict[int, str] = {}
    for run in latest.runs if latest else ():
        told = run.actual_result
        if not run.matches and told == run.fixture.expected_result:
            other_score = run.actual_score != run.fixture.expected_score and run.fixture.expected_score is not None
            told = "other_score" if other_score else "differs_in_disguise"
        if cells.get(run.fixture_id) in (None, run.fixture.expected_result):
            cells[run.fixture_id] = told
    return cells


def _implementation_row(listed: ListedImplementation, stages: Sequence[PlannedStage]) -> dict[str, Any]:
    implementation = listed.implementation
    executing = {planned.current["id"] for planned in stages if planned.current}
    record = listed.latest.record if listed.latest else None
    return {
        "implementation": implementation,
        "record": record,
        "state": conformance_state(record),
        "is_current": implementation.pk in executing,
    }


def conformance_state(record: ConformanceRecord | None) -> tuple[str, str]:
    """The state and its word; machinery that failed is no finding about the Implementation."""
    if record is None:
        return "not_started", "Not tried yet"
    return record.status, record.get_status_display()


def implementation_kind(implementation: VerifierImplementation) -> str:
    """What sort of executable it is, in words."""
    if implementation.image_ref.startswith(BUILTIN_PREFIX):
        return "A checker that ships with the platform. Its digest is computed over its source."
    if implementation.image_ref.startswith(RUNTIME_PREFIX):
        return "A script, run on one of the platform's own runtimes."
    return "A container image, named by digest."


def implementation_context(implementation: VerifierImplementation) -> dict[str, Any]:
    """Everything the page of an Implementation shows."""
    records = conformance_records(implementation.pk)
    return {
        "implementation": implementation,
        "contract": implementation.contract,
        "kind": implementation_kind(implementation),
        "source_href": _web_address(implementation.source_uri),
        "state": conformance_state(records[0].record if records else None),
        "records": [
            _record_part(conformance, implementation, is_newest=place == 0) for place, conformance in enumerate(records)
        ],
    }


def _web_address(uri: str) -> str:
    return uri if uri.startswith(("https://", "http://")) else ""


def _record_part(
    conformance: Conformance, implementation: VerifierImplementation, *, is_newest: bool
) -> dict[str, Any]:
    record, runs = conformance.record, conformance.runs
    plain = [run for run in runs if not run.is_disguised]
    part: dict[str, Any] = {
        "record": record,
        "state": conformance_state(record),
        "is_newest": is_newest,
        "failures": [_failure(run) for run in runs if not run.matches],
        "fixtures": [],
    }
    if is_newest:
        part["fixtures"] = [
            {
                "run": run,
                "fixture": run.fixture,
                "log": _log(run, implementation) if place < LOGS_SHOWN else None,
            }
            for place, run in enumerate(plain)
        ]
    return part


def _failure(run: ConformanceRun) -> Mapping[str, Any]:
    same = run.actual_result == run.fixture.expected_result
    score_differs = run.fixture.expected_score is not None and run.actual_score != run.fixture.expected_score
    return {
        "run": run,
        "fixture": run.fixture,
        "says_disguise": same and not score_differs,
    }


def _log(run: ConformanceRun, implementation: VerifierImplementation) -> Mapping[str, Any] | None:
    """The beginning of a fixture run's log, made safe to show; None where the checker wrote nothing."""
    if run.log is None:
        return None
    href = reverse("conformance_log", args=[implementation.pk, run.pk])
    size_bytes = run.log.size_bytes
    try:
        with open_blob(run.log.content_hash) as file:
            content = file.read(LOG_SHOWN_BYTES)
    except BytesGone:
        return {"text": None, "href": "", "size_bytes": size_bytes, "is_cut": False}
    is_cut = size_bytes > len(content)
    return {"text": log_html(content, is_cut=is_cut), "href": href, "size_bytes": size_bytes, "is_cut": is_cut}
