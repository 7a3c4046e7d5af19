"""Runs: the page, its live part, the logs and evidence of stages, and the record as a file."""

from django.urls import path

from web.views import runs

urlpatterns = [
    path("verifications/<str:run_id>/", runs.run_page, name="run"),
    path("verifications/<str:run_id>/live", runs.run_live, name="run_live"),
    path("verifications/<str:run_id>/record.json", runs.run_record, name="run_record"),
    path("verifications/<str:run_id>/stages/<str:stage_key>/log", runs.stage_log, name="stage_log"),
    path("verifications/<str:run_id>/stages/<str:stage_key>/evidence", runs.stage_evidence, name="stage_evidence"),
]
