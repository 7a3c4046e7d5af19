"""The suite's own connection is the application's role."""

import pytest
from django.db import connection

from accounts.models import User


@pytest.mark.django_db
def test_the_suite_connects_as_the_application_role():
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user, current_user")

        assert cursor.fetchone() == ("tfp_app", "tfp_app")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_round", [1, 2])
def test_committed_rows_are_flushed_between_tests(_round):
    User.objects.create(username="ada")

    assert User.objects.count() == 1
