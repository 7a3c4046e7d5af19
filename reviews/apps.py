"""The Django application `reviews`."""

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    """Registers the application."""

    name = "reviews"
    default_auto_field = "django.db.models.BigAutoField"
