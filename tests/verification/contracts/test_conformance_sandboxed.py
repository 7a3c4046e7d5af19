"""Conformance in the isolating backend, as it is chosen where a deployment says nothing else."""

import pytest
from django.test import override_settings

from config.settings import base
from tests.factories.contracts import open_record, passed_implementation, sat_contract
from tests.verification.engine.sandbox.hostile.embedded_jobs import runtime
from verification.contracts.execution import backends
from verification.contracts.models import ConformanceStatus

pytestmark = pytest.mark.django_db

EMBEDDED = "verification.engine.sandbox.embedded.backend.EmbeddedBackend"
PROCESS = "verification.engine.sandbox.process.ProcessBackend"


@pytest.fixture
def sandbox():
    runtime()
    with override_settings(TFP_SANDBOX_BACKENDS=[EMBEDDED, PROCESS]):
        backends.cache_clear()
        yield
        backends()[0].close()
    backends.cache_clear()


@pytest.mark.skipif("TFP_SANDBOX_BACKENDS" in base.env.ENVIRON, reason="this machine's environment chooses for itself")
def test_the_isolating_backend_comes_first_and_the_fallback_last():
    assert base.TFP_SANDBOX_BACKENDS == [EMBEDDED, PROCESS]


def test_the_sat_checker_conforms_in_the_sandbox(sandbox):
    implementation = passed_implementation(sat_contract(), is_executed=True)

    record = open_record(implementation)
    assert record.status == ConformanceStatus.PASSED
    assert {run.backend for run in record.runs.all()} == {"embedded"}
    assert {run.matches for run in record.runs.all()} == {True}
