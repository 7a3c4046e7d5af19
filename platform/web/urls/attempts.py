"""Attempts: opening one on a revision, its page with uploads, closing it."""

from django.urls import path

from web.views import attempts

urlpatterns = [
    path("problems/<slug:slug>/revisions/<int:number>/attempt/", attempts.open_attempt_page, name="open_attempt"),
    path("attempts/<str:attempt_id>/", attempts.attempt_page, name="attempt"),
    path("attempts/<str:attempt_id>/close/", attempts.close_page, name="attempt_close"),
]
