"""The Django application `accounts`."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registers the application."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
