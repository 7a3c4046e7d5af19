"""Contracts with other plans than the SAT one's: two stages, scored, sealed, linked, reviewed, measured."""

import copy
import json
from pathlib import Path
from typing import Any

from accounts.clock import database_now
from accounts.models import User
from tests.factories.contracts import make_verifier, sat_document, store_sat_fixtures
from tests.factories.people import make_author
from verification.contracts.models import VerifierContract
from verification.contracts.services import publish_contract

EXAMPLES = Path(__file__).resolve().parents[2] / "verification" / "engine" / "examples"
SCORE = {
    "name": "Clauses satisfied",
    "unit": "clauses",
    "direction": "maximize",
    "minimum": 0.0,
    "maximum": 1000.0,
    "decimals": 1,
    "release_step": None,
}


def two_stage_document() -> dict[str, Any]:
    """The SAT check, twice in a row: the second stage has one fixture of its own."""
    document = sat_document()
    second = copy.deepcopy(document["stages"][0]) | {"key": "second_check", "title": "Second check"}
    fixture = copy.deepcopy(document["conformance_fixtures"][0]) | {"key": "again", "stage_key": "second_check"}
    document["stages"].append(second)
    document["conformance_fixtures"].append(fixture)
    return document


def scored_document() -> dict[str, Any]:
    """The SAT plan as a scored one."""
    document = sat_document() | {"result_kind": "score", "score": dict(SCORE)}
    for fixture in document["conformance_fixtures"]:
        fixture["expected_score"] = 6.0 if fixture["expected_result"] == "verified" else None
    return document


def noted_document(*, is_selected: bool = True) -> dict[str, Any]:
    """The SAT plan with a second slot `notes`, which a revision may link and the stage can do without."""
    document = sat_document()
    slot = copy.deepcopy(document["reference_inputs"][0])
    document["reference_inputs"].append(slot | {"key": "notes", "required": False, "validator": None})
    if is_selected:
        document["stages"][0]["reference_input_slots"].append("notes")
        document["stages"][0]["optional_reference_slots"].append("notes")
    return document


def sealed_document(*, verdict_release: str = "immediate") -> dict[str, Any]:
    """The SAT plan on a sealed formula: its one stage is protected."""
    document = sat_document()
    document["reference_inputs"][0]["sealed"] = True
    document["sealing"]["verdict_release"] = verdict_release
    return document


def measured_document() -> dict[str, Any]:
    """The SAT check, then an outside laboratory that nobody is bound to."""
    document = sat_document()
    document["stages"].append(example_stage("external"))
    return document


def example_stage(kind: str) -> dict[str, Any]:
    """The materials example's stage of that kind."""
    example = json.loads((EXAMPLES / "verifier-contract.materials.json").read_text())
    return next(stage for stage in example["stages"] if stage["kind"] == kind)


def contract_of(document: dict[str, Any], author: User | None = None) -> VerifierContract:
    """The published Contract of that document, under the SAT Verifier."""
    author = author or make_author()
    store_sat_fixtures()
    return publish_contract(verifier=make_verifier(author), document=document, author=author, at=database_now())
