"""The sweep of drafts: a question that was lost is asked again, and only that."""

from datetime import timedelta

import pytest

from accounts.clock import database_now
from problems.sweeps import sweep_validations
from problems.tasks import sweep_task
from tests.factories.contracts import sat_contract
from tests.factories.messages import sent_messages
from tests.factories.problems import bind_instance, make_draft, make_problem
from verification.contracts.models import ReferenceAcceptance
from verification.contracts.tasks import execute_validation_task

pytestmark = pytest.mark.django_db


def test_a_question_that_was_lost_is_asked_again_until_it_is_answered(django_capture_on_commit_callbacks):
    draft = make_draft(make_problem(), sat_contract())
    bind_instance(draft, is_asked=False)
    soon, late = database_now() + timedelta(seconds=31), database_now() + timedelta(minutes=11)

    early, much_later = sweep_validations(at=database_now()), sweep_validations(at=late)
    with sent_messages(django_capture_on_commit_callbacks) as messages:
        asked = sweep_validations(at=soon)
    execute_validation_task(**messages[0].kwargs)

    assert (early, asked, much_later, sweep_validations(at=soon)) == (0, 1, 0, 0)
    assert ReferenceAcceptance.objects.get().is_accepted
    sweep_task()
