"""The Django application `blobs`."""

from django.apps import AppConfig


class BlobsConfig(AppConfig):
    """Registers the application."""

    name = "blobs"
    default_auto_field = "django.db.models.BigAutoField"
