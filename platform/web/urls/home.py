"""The front page."""

from django.urls import path

from web.views import home

urlpatterns = [path("", home.front_page, name="home")]
