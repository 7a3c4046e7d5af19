"""The Django application `verification.runs`."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Registers the application."""

    name = "verification.runs"
    label = "runs"
    default_auto_field = "django.db.models.BigAutoField"
