"""How the platform is put together: settings, URLs, Celery, and the supervisor of its services."""
