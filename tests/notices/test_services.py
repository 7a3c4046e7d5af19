"""Notices: each thing is told once, and read once."""

import pytest

from accounts.clock import database_now
from notices.models import Notice, NoticeKind
from notices.services import mark_read, tell
from tests.factories.people import make_user
from tests.factories.sql import NOT_GRANTED, REFUSED, refusal
from tests.factories.work import finished_run

pytestmark = pytest.mark.django_db


def test_the_same_thing_is_told_once():
    user = make_user()

    for _ in range(2):
        tell(user=user, kind=NoticeKind.RUN_FINISHED, subject_id="vrn_1", at=database_now())

    assert Notice.objects.count() == 1


def test_reading_counts_what_was_unread_and_only_ones_own():
    mine, other = make_user(), make_user()
    for user, subject in ((mine, "vrn_1"), (mine, "vrn_2"), (other, "vrn_1")):
        tell(user=user, kind=NoticeKind.RUN_FINISHED, subject_id=subject, at=database_now())

    assert [mark_read(user=mine, at=database_now()) for _ in range(2)] == [2, 0]
    assert Notice.objects.filter(read_at=None).get().user == other


def test_a_finished_run_is_told_to_its_submitter_and_names_no_result():
    run = finished_run("refuted")

    notice = Notice.objects.get()

    assert (notice.user, notice.kind, notice.subject_id) == (run.submission.created_by, "run_finished", run.pk)


def test_a_notice_is_never_rewritten_or_deleted():
    tell(user=make_user(), kind=NoticeKind.RUN_FINISHED, subject_id="vrn_1", at=database_now())
    Notice.objects.all().move(read_at=database_now())

    assert refusal("UPDATE notices_notice SET read_at = NULL") == REFUSED
    assert refusal("UPDATE notices_notice SET subject_id = 'vrn_2'") == NOT_GRANTED
    assert refusal("DELETE FROM notices_notice") == NOT_GRANTED
