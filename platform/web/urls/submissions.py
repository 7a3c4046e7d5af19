"""Submissions: choosing, checking and sending one, its page, and the files."""

from django.urls import path

from web.views import artifacts, submissions

urlpatterns = [
    path("attempts/<str:attempt_id>/submit/", submissions.choose_page, name="attempt_submit"),
    path("attempts/<str:attempt_id>/check/", submissions.check_page, name="attempt_check"),
    path("attempts/<str:attempt_id>/receipt/", submissions.receipt_page, name="attempt_receipt"),
    path("submissions/<str:submission_id>/", submissions.submission_page, name="submission"),
    path("artifacts/<str:artifact_id>/", artifacts.artifact_page, name="artifact"),
    path("artifacts/<str:artifact_id>/download", artifacts.download, name="artifact_download"),
]
