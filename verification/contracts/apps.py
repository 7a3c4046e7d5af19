"""The Django application `verification.contracts`."""

from django.apps import AppConfig


class ContractsConfig(AppConfig):
    """Registers the application."""

    name = "verification.contracts"
    label = "contracts"
    default_auto_field = "django.db.models.BigAutoField"
