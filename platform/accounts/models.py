"""User accounts; what someone may do is decided in `roles`."""

from django.contrib.auth.models import AbstractUser
from django.db import models

from accounts.fields import IdField


class User(AbstractUser):
    """An account. The author and operator roles are Django permissions that operators grant."""

    id = IdField("usr")
    display_name = models.CharField(max_length=120, blank=True)
    timezone = models.CharField(max_length=64, blank=True, help_text="IANA name, such as Europe/Berlin; empty: UTC")

    class Meta:
        permissions = [("author", "May create Problems and Verifiers"), ("operator", "May act as an operator")]

    def __str__(self) -> str:
        return self.display_name or self.username
