"""The Django application `web`."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Registers the application."""

    name = "web"
    default_auto_field = "django.db.models.BigAutoField"
