"""Accounts with the roles of SPEC 2."""

import itertools
from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

from accounts.models import User

PASSWORD = "correct horse battery"
_numbers = itertools.count(1)


def make_user(username: str | None = None, **fields: Any) -> User:
    """An account; its password is PASSWORD."""
    name = username or f"person{next(_numbers)}"
    return User.objects.create_user(username=name, email=f"{name}@example.org", password=PASSWORD, **fields)


def make_author(username: str | None = None, **fields: Any) -> User:
    """An account that may create Problems and Verifiers."""
    return _with_permission(make_user(username, **fields), "author")


def make_operator(username: str | None = None, **fields: Any) -> User:
    """Staff with the operator permission."""
    return _with_permission(make_user(username, is_staff=True, **fields), "operator")


def make_manager(problem: Any, username: str | None = None) -> User:
    """An account that is named as a manager of the Problem."""
    user = make_user(username)
    problem.managers.add(user)
    return user


def _with_permission(user: User, codename: str) -> User:
    kind = ContentType.objects.get_for_model(User)
    user.user_permissions.add(Permission.objects.get(content_type=kind, codename=codename))
    return User.objects.get(pk=user.pk)
