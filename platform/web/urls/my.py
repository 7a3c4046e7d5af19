"""One's own work and notices."""

from django.urls import path

from web.views import my

urlpatterns = [
    path("my/", my.my_work, name="my_work"),
    path("account/notices/", my.notices, name="notices"),
]
