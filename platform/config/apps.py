"""The Django application `config`: it holds the commands and the grants, and no models."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConfigConfig(AppConfig):
    """Makes our Celery application everybody's, and renews the grants after every migration."""

    name = "config"

    def ready(self) -> None:
        """Register with Celery and Django."""
        import config.celery  # noqa: F401 (its import sets the default application)
        from config.grants import apply_grants

        post_migrate.connect(apply_grants, sender=self, dispatch_uid="config.grants")
