"""`/healthz`: whether this process can serve."""

from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test import Client


@pytest.mark.django_db
def test_a_process_with_its_database_is_well(client: Client):
    answer = client.get("/healthz")

    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_a_process_without_its_database_says_so_and_no_more(client: Client):
    with patch.object(connection, "cursor", side_effect=OperationalError("host 10.0.0.1 refused user tfp_app")):
        answer = client.get("/healthz")

    assert (answer.status_code, answer.content) == (503, b"database unreachable\n")


@pytest.mark.django_db
def test_only_reading_is_answered(client: Client):
    answer = client.post("/healthz")

    assert answer.status_code == 405
