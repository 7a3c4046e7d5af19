"""How the machinery stands."""

from django.urls import path

from web.views import status

urlpatterns = [path("status/", status.status_page, name="status")]
