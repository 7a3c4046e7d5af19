"""The Django application `packages`."""

from django.apps import AppConfig


class PackagesConfig(AppConfig):
    """Registers the application."""

    name = "packages"
    default_auto_field = "django.db.models.BigAutoField"
