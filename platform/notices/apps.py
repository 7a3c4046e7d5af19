"""The Django application `notices`."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """Registers the application."""

    name = "notices"
    default_auto_field = "django.db.models.BigAutoField"
