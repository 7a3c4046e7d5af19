"""Problems, their revisions, and the inputs those bind."""

from django.urls import path

from web.views import problems

urlpatterns = [
    path("problems/", problems.problem_list, name="problems"),
    path("problems/<slug:slug>/", problems.problem_page, name="problem"),
    path("problems/<slug:slug>/revisions/<int:number>/", problems.revision_page, name="revision"),
    path("problems/<slug:slug>/revisions/<int:number>/reference/<slug:key>/", problems.reference, name="reference"),
]
