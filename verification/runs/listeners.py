"""What this app itself does when a run finishes: the submitter is told."""

from accounts.models import User
from notices.models import NoticeKind
from notices.services import tell
from verification.runs.services import FinishedRun


def tell_submitter(finished: FinishedRun) -> None:
    """Leave a notice; its words are composed when it is read, through the projection."""
    submitter = User.objects.only("pk").get(submissions=finished.submission_id)
    tell(user=submitter, kind=NoticeKind.RUN_FINISHED, subject_id=finished.run_id, at=finished.at)
