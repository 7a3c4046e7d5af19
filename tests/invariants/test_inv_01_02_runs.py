"""Invariants 1 and 2 by raw SQL: status goes forward, the outcome is written once, a finished run stays."""

import itertools

import psycopg
import pytest

from accounts.clock import database_now
from tests.factories.people import make_operator
from tests.factories.sql import NOT_GRANTED, REFUSED, TAKEN, insertion_refusal, owner_refusal, refusal, row_of, write
from tests.factories.work import finished_run, queued_run, recorded_run
from verification.runs.models import RunStatus, VerificationRun
from verification.runs.models.run import RUN_MOVING
from verification.runs.services import IllegalMove, revoke_run
from verification.runs.services.outcomes import MOVES, check_move

pytestmark = pytest.mark.django_db

TO = {
    RunStatus.QUEUED: "status = 'queued', result = '', reason_code = '', evidence_md = '', finished_at = NULL",
    RunStatus.RUNNING: (
        "status = 'running', started_at = now(), result = '', reason_code = '', evidence_md = '', finished_at = NULL"
    ),
    RunStatus.FINISHED: (
        "status = 'finished', result = 'inconclusive', reason_code = 'requirement_unmet', evidence_md = 'x', "
        "finished_at = now()"
    ),
}
UPDATE_RUN = "UPDATE runs_verificationrun SET {} WHERE id = '{}'"


def run_in(status: RunStatus) -> VerificationRun:
    run = queued_run()
    if status != RunStatus.QUEUED:
        write(UPDATE_RUN.format(TO[status], run.pk))
    return run


@pytest.mark.parametrize(
    ("old", "new"), [pair for pair in itertools.product(RunStatus, RunStatus) if len({*pair}) == 2]
)
def test_inv_01_the_database_allows_exactly_the_moves_of_the_table(old, new):
    run = run_in(old)
    statement = UPDATE_RUN.format(TO[new], run.pk)

    if new in MOVES[old]:
        check_move(old, new)
        assert write(statement) == 1
    else:
        with pytest.raises(IllegalMove):
            check_move(old, new)
        assert refusal(statement) == REFUSED


def test_inv_01_a_run_begins_queued():
    run = row_of("runs_verificationrun", queued_run().pk)

    begun = run | {"id": "vrn_" + "0" * 26, "number": 2, "status": "running", "started_at": database_now()}

    assert insertion_refusal("runs_verificationrun", begun) == REFUSED


def test_inv_01_an_end_without_a_part_of_its_outcome_is_refused():
    run = queued_run()
    parts = TO[RunStatus.FINISHED].split(", ")

    for missing in ("result = ''", "evidence_md = ''", "finished_at = NULL"):
        rest = [part for part in parts if not part.startswith(missing.partition(" =")[0])]
        assert refusal(UPDATE_RUN.format(", ".join([*rest, missing]), run.pk)) == REFUSED


def test_inv_01_no_part_of_the_outcome_is_written_before_the_end():
    run = run_in(RunStatus.RUNNING)

    for early in ("result = 'refuted'", "score = 1", "evidence_md = 'x'", "finished_at = now()"):
        assert refusal(UPDATE_RUN.format(early, run.pk)) == REFUSED


CHANGES = [
    "status = 'running'", "result = 'verified', reason_code = ''", "score = 7", "evidence_md = 'rewritten'",
    "finished_at = now()", "started_at = now()", "reason_code = 'limit_time'", "reason_detail = 'x'",
]  # fmt: skip


def test_inv_02_a_finished_run_keeps_every_column_that_ever_moved():
    run = recorded_run("refuted")

    for change in CHANGES:
        assert refusal(UPDATE_RUN.format(change, run.pk)) == REFUSED


def test_inv_02_the_role_may_not_touch_the_other_columns_of_a_run():
    run = row_of("runs_verificationrun", queued_run().pk)

    for column in set(run) - set(RUN_MOVING):
        assert refusal(UPDATE_RUN.format(f"{column} = NULL", run["id"])) == NOT_GRANTED


RUN_TABLES = [
    "runs_verificationrun", "runs_runartifact", "runs_runreference", "runs_runexecution", "runs_runevent",
    "runs_revocation", "runs_stageresult", "runs_stageoutput", "runs_protectedoutput", "runs_evidencefile",
    "runs_logredaction",
]  # fmt: skip


@pytest.mark.parametrize("table", RUN_TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {}",
        "TRUNCATE {} CASCADE",
        "ALTER TABLE {} DISABLE TRIGGER ALL",
        "ALTER TABLE {} DISABLE TRIGGER USER",
        "DROP TABLE {} CASCADE",
    ],
)
def test_inv_02_the_role_deletes_nothing_and_switches_no_trigger_off(table, statement):
    assert refusal(statement.format(table)) == NOT_GRANTED


IGNORE_EVERYTHING = (
    "CREATE OR REPLACE FUNCTION public._pgtrigger_should_ignore(trigger_name NAME) RETURNS BOOLEAN "
    "AS 'BEGIN RETURN TRUE; END;' LANGUAGE plpgsql"
)


@pytest.mark.parametrize(
    "statement",
    [
        "SET session_replication_role = replica",
        "SET ROLE tfp_owner",
        "SET SESSION AUTHORIZATION tfp_owner",
        "CREATE TEMPORARY TABLE runs_verificationrun (id text, status text)",
        "CREATE TABLE public.mine (id text)",
        "CREATE SCHEMA mine",
        IGNORE_EVERYTHING,
        "COPY (SELECT 1) TO PROGRAM 'true'",
    ],
)
def test_inv_02_no_statement_makes_the_role_more_than_it_is(statement):
    assert refusal(statement) == NOT_GRANTED


def test_inv_02_the_setting_that_pgtrigger_reads_switches_nothing_off():
    run = recorded_run("refuted")
    write("SET LOCAL pgtrigger.ignore = '{all,outcome,runs_verificationrun:outcome}'")

    assert refusal(UPDATE_RUN.format("evidence_md = 'rewritten'", run.pk)) == REFUSED


def test_inv_02_one_revocation_and_no_second():
    run = recorded_run("verified")
    operator = make_operator()

    revoke_run(run_id=run.pk, revoked_by=operator, reason_md="The formula was the wrong one.", at=database_now())

    again = row_of("runs_revocation", run.pk, column="run_id")
    del again["id"]
    assert insertion_refusal("runs_revocation", again) == TAKEN
    assert refusal("UPDATE runs_revocation SET reason_md = 'x'") == NOT_GRANTED
    with pytest.raises(IllegalMove):
        revoke_run(run_id=run.pk, revoked_by=operator, reason_md="Again.", at=database_now())


def test_inv_02_a_revocation_leaves_result_and_evidence_as_they_were():
    before = row_of("runs_verificationrun", recorded_run("verified").pk)

    revoke_run(run_id=before["id"], revoked_by=make_operator(), reason_md="Wrong formula.", at=database_now())

    assert row_of("runs_verificationrun", before["id"]) == before


def test_inv_02_a_run_that_is_not_finished_is_not_revoked():
    run = queued_run()
    revocation = {
        "run_id": run.pk, "revoked_at": database_now(), "revoked_by_id": make_operator().pk, "reason_md": "x",
    }  # fmt: skip

    assert insertion_refusal("runs_revocation", revocation) == REFUSED


@pytest.mark.parametrize(("table", "column"), [("runs_runartifact", "position"), ("runs_runreference", "key")])
def test_inv_02_the_inputs_are_frozen_at_creation(table, column):
    run = queued_run()
    another = row_of(table, run.pk, column="run_id")
    del another["id"]
    another[column] = 9 if column == "position" else "another"

    assert insertion_refusal(table, another) == REFUSED


def test_inv_02_a_finished_run_takes_no_further_evidence():
    run = finished_run("verified")
    result = run.stage_results.get()
    file = row_of("runs_evidencefile", result.pk, column="stage_result_id")
    del file["id"]

    assert insertion_refusal("runs_evidencefile", file | {"path": "another.json"}) == REFUSED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("setting", ["SELECT 1", "SET pgtrigger.ignore = '{all}'"])
def test_inv_02_the_triggers_refuse_the_owner_too(database_urls, setting):
    run = finished_run("verified")
    owner = database_urls["owner"]

    for change in (*CHANGES, "submission_id = 'x'", "created_at = now()"):
        assert owner_refusal(owner, setting, UPDATE_RUN.format(change, run.pk)) == REFUSED
    for table in ("runs_stageresult", "runs_stageoutput", "runs_evidencefile", "runs_runartifact", "runs_runevent"):
        assert owner_refusal(owner, setting, f"UPDATE {table} SET {first_column(owner, table)} = NULL") == REFUSED
        assert owner_refusal(owner, setting, f"DELETE FROM {table}") == REFUSED
    assert owner_refusal(owner, setting, "DELETE FROM runs_verificationrun") == REFUSED


def first_column(owner_url: str, table: str) -> str:
    with psycopg.connect(owner_url) as owner:
        described = owner.execute(f"SELECT * FROM {table}").description
    assert described is not None
    return str(described[1].name)
