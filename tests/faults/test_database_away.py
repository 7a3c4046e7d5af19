"""The database cuts its connections while a checker is at work."""

from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError, connection

from tests.factories.backends import scripted_backend
from tests.factories.work import queued_run
from tests.faults.conftest import finished, patient_process, patient_run, recorded_results, story
from verification.runs.execution import execute_run

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]


def cut_all_other_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE usename = current_user AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def test_a_run_survives_the_loss_of_its_connection_in_mid_stage(start_runner, place):
    start_runner()
    run = patient_run(place)
    patient_process(place)

    cut = cut_all_other_connections()
    Path(f"{place}.go").touch()

    run = finished(run, within_s=30)
    assert cut >= 1
    assert (run.result, run.execution.faults, recorded_results(run)) == ("verified", 0, ["verified"])
    assert story(run) == ["queued", "stage_started", "stage_verified", "finished"]


def test_a_fault_is_noted_also_where_the_connection_is_what_failed(database_urls):
    def lose_the_connection(_invocation):
        with psycopg.connect(database_urls["default"], autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
        connection.cursor().execute("SELECT 1")

    run = queued_run()

    with scripted_backend(lose_the_connection), pytest.raises(OperationalError):
        execute_run(run_id=run.pk, holder="first")
    execute_run(run_id=run.pk, holder="second")

    run = finished(run, within_s=1)
    assert (run.result, run.execution.faults, recorded_results(run)) == ("verified", 1, ["verified"])
    assert story(run) == ["queued", "stage_started", "fault", "stage_started", "stage_verified", "finished"]
