"""Help: the words, the reason codes, and the pieces the pages are made of."""

from django.urls import path

from web.views import components
from web.views import help as help_views

urlpatterns = [
    path("help/", help_views.index, name="help"),
    path("help/words/", help_views.words, name="help_words"),
    path("help/reasons/", help_views.reasons, name="help_reasons"),
    path("help/reasons/<slug:code>/", help_views.reason, name="help_reason"),
    path("help/components/", components.component_page, name="help_components"),
]
