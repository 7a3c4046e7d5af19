"""The Django application `submissions`."""

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """Registers the application."""

    name = "submissions"
    default_auto_field = "django.db.models.BigAutoField"
