"""The Django application `config`: it holds the commands and the grants, and no models."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConfigConfig(AppConfig):
    """Registers the application and renews the grants after every migration."""

    name = "config"

    def ready(self) -> None:
        """Connect the grants."""
        from config.grants import apply_grants

        post_migrate.connect(apply_grants, sender=self, dispatch_uid="config.grants")
