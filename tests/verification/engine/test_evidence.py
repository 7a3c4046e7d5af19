"""Evidence trees, and the account of a run."""

import re
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification.engine.evidence import (
    ExternalMechanism,
    NotForTheRecord,
    RecordedInput,
    RecordedStage,
    ReviewMechanism,
    RunRecord,
    SandboxMechanism,
    compose_evidence_md,
    tree_digest,
)
from verification.engine.reasons import ReasonCode, ReasonMismatch, Result
from verification.engine.sandbox.base import EvidenceFile

AT = datetime(2026, 9, 3, 10, 0, tzinfo=UTC)
BODY = "01jf" + "0" * 22


def a_hash(letter: str) -> str:
    return f"sha256:{letter * 64}"


SANDBOX = SandboxMechanism(f"vim_{BODY}", a_hash("1"), a_hash("2"), "process", 0, 0.125, 9_000_000, a_hash("3"))
REVIEW = ReviewMechanism(f"rpr_{BODY}", f"rvp_{BODY}", a_hash("4"), a_hash("5"), a_hash("6"))
EXTERNAL = ExternalMechanism("contract", a_hash("7"), AT)


def a_stage(mechanism: object = SANDBOX, kind: str = "sandbox", **changes: object) -> RecordedStage:
    stage = RecordedStage("assignment_check", kind, Result.VERIFIED, None, AT, AT + timedelta(seconds=1), 0, mechanism)
    return replace(stage, **changes)


RECORD = RunRecord(
    run_id=f"vrn_{BODY}",
    submission_id=f"sub_{BODY}",
    problem_revision_id=f"prv_{BODY}",
    contract_id=f"vct_{BODY}",
    contract_hash=a_hash("c"),
    result=Result.VERIFIED,
    reason_code=None,
    created_at=AT,
    finished_at=AT + timedelta(seconds=2),
    stages_planned=1,
    inputs=(
        RecordedInput("artifact", "assignment", a_hash("a"), 12, artifact_id=f"art_{BODY}"),
        RecordedInput("reference", "instance", a_hash("b"), 99),
    ),
    stages=(a_stage(),),
)

FILES = st.lists(
    st.builds(EvidenceFile, st.text("ab/", max_size=3), st.just(b""), st.sampled_from("xyz"), st.integers(0, 3)),
    max_size=5,
    unique_by=lambda file: file.path,
)


@given(files=FILES, data=st.data())
def test_a_tree_digest_does_not_depend_on_order(files, data):
    assert tree_digest(data.draw(st.permutations(files))) == tree_digest(files)


@given(one=FILES, other=FILES)
def test_two_trees_have_one_digest_only_if_they_are_equal(one, other):
    def told(files):
        return {(file.path, file.content_hash, file.size_bytes) for file in files}

    assert (tree_digest(one) == tree_digest(other)) == (told(one) == told(other))


def test_a_path_that_comes_twice_has_no_digest():
    file = EvidenceFile("a", b"", a_hash("0"), 0)

    with pytest.raises(ValueError, match="found one twice"):
        tree_digest([file, file])


def test_a_verified_run_is_told_in_full():
    assert (
        compose_evidence_md(RECORD)
        == f"""\
# Run vrn_{BODY}

**Verified**

- Submission: `sub_{BODY}`
- Revision: `prv_{BODY}`
- Contract: `vct_{BODY}`, normative hash `{a_hash("c")}`
- Created: 2026-09-03T10:00:00.000Z
- Finished: 2026-09-03T10:00:02.000Z
- Stages: 1 executed of 1 planned

## Inputs

- artifact `assignment` (`art_{BODY}`): `{a_hash("a")}`, 12 bytes
- reference `instance`: `{a_hash("b")}`, 99 bytes

## Stage 1: `assignment_check` (sandbox)

**Verified**

- From 2026-09-03T10:00:00.000Z to 2026-09-03T10:00:01.000Z
- Findings: 0
- Examined by the platform, executing the Implementation `vim_{BODY}`
- Implementation: content hash `{a_hash("1")}`
- Image: `{a_hash("2")}`, backend process
- Exit status 0 after 0.125 s
- Peak memory: 9000000 bytes
- Evidence: `{a_hash("3")}`
"""
    )


def test_a_run_without_stages_tells_its_own_reason():
    record = replace(RECORD, result=Result.INCONCLUSIVE, reason_code=ReasonCode.REQUIREMENT_UNMET, stages=(), inputs=())

    lines = compose_evidence_md(record).splitlines()

    assert lines[2] == "**Inconclusive: `requirement_unmet`, attributed to candidate**"
    assert lines[-3:] == ["## Inputs", "", "None."]


def test_a_sealed_input_is_told_by_its_commitment_and_without_its_size():
    sealed = RecordedInput("reference", "labels", a_hash("d"), 4711, is_commitment=True)

    lines = compose_evidence_md(replace(RECORD, inputs=(sealed,), stages=())).splitlines()

    assert lines[-1] == f"- reference `labels`: commitment `{a_hash('d')}`"


def test_a_linked_input_is_told_as_a_statement():
    linked = RecordedInput("reference", "corpus", a_hash("e"), 5, is_linked=True)

    lines = compose_evidence_md(replace(RECORD, inputs=(linked,), stages=())).splitlines()

    assert lines[-1] == f"- reference `corpus`: `{a_hash('e')}`, 5 bytes; as its author states, not fetched"


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (a_stage(REVIEW, "review"), f"- Examined by reviewers in `rpr_{BODY}`"),
        (a_stage(EXTERNAL, "external"), "- Examined by an outside system; the contract's rule decided"),
        (a_stage(replace(EXTERNAL, rule_owner="partner"), "external"), None),
    ],
)
def test_every_kind_of_stage_says_who_examined(stage, told):
    lines = compose_evidence_md(replace(RECORD, stages=(stage,))).splitlines()

    expected = told or "- Examined by an outside system; the partner's rule decided"
    assert [line for line in lines if line.startswith("- Examined")] == [expected]


def test_times_are_told_in_utc():
    record = replace(RECORD, created_at=AT.astimezone(timezone(timedelta(hours=9))))

    assert compose_evidence_md(record) == compose_evidence_md(RECORD)


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, created_at=datetime(2026, 9, 3)),  # noqa: DTZ001 - this is the fault
        replace(RECORD, stages=(a_stage(kind="other"),)),
        replace(RECORD, stages=(a_stage(findings_total=-1),)),
        replace(RECORD, inputs=(replace(RECORD.inputs[0], kind="other"),)),
        replace(RECORD, stages=(a_stage(replace(EXTERNAL, rule_owner="nobody"), "external"),)),
    ],
)
def test_a_value_of_another_form_is_refused(record):
    with pytest.raises(NotForTheRecord):
        compose_evidence_md(record)


@pytest.mark.parametrize(("result", "code"), [(Result.VERIFIED, ReasonCode.EXIT_NONZERO), (Result.REFUTED, None)])
def test_inv_25_a_result_with_a_reason_that_is_not_its_own_is_refused(result, code):
    with pytest.raises(ReasonMismatch):
        compose_evidence_md(replace(RECORD, result=result, reason_code=code))


TEXT_MEMBERS = [
    (owner, field.name)
    for owner, value in (
        ("record", RECORD),
        ("input", RECORD.inputs[0]),
        ("stage", RECORD.stages[0]),
        ("sandbox", SANDBOX),
        ("review", REVIEW),
        ("external", EXTERNAL),
    )
    for field in fields(value)
    if isinstance(getattr(value, field.name), str) and not isinstance(getattr(value, field.name), Result)
]


def with_text(owner: str, name: str, text: str) -> RunRecord:
    change = {name: text}
    if owner == "record":
        return replace(RECORD, **change)
    if owner == "input":
        return replace(RECORD, inputs=(replace(RECORD.inputs[0], **change),))
    if owner == "stage":
        return replace(RECORD, stages=(a_stage(**change),))
    kinds = {"sandbox": SANDBOX, "review": REVIEW, "external": EXTERNAL}
    return replace(RECORD, stages=(a_stage(replace(kinds[owner], **change), owner),))


@given(
    member=st.sampled_from(TEXT_MEMBERS),
    text=st.text(max_size=40) | st.sampled_from([f"vrn_{BODY}\n", f"{a_hash('0')}\n", "key\n", "proc ess", "Key"]),
)
def test_no_words_of_a_checker_or_a_participant_can_enter(member, text):
    """Codes, keys, ids and digests pass by their form; anything with a capital, a blank or a sign does not."""
    is_code = re.fullmatch(r"[a-z0-9_:-]*", text)

    try:
        told = compose_evidence_md(with_text(*member, text))
    except NotForTheRecord:
        return

    assert is_code, told


def test_every_member_that_holds_text_is_tried():
    assert len(TEXT_MEMBERS) == 5 + 4 + 2 + 5 + 5 + 2
