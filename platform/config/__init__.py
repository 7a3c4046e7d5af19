"""How the platform is put together: settings, URLs, Celery, and the supervisor of its services."""

# Imported here so that every process that loads Django sends its messages through this application.
from config.celery import app as celery_app

__all__ = ["celery_app"]
