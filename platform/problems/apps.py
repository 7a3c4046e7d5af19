"""The Django application `problems`."""

from django.apps import AppConfig


class ProblemsConfig(AppConfig):
    """Registers the application."""

    name = "problems"
    default_auto_field = "django.db.models.BigAutoField"
