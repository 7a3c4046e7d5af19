"""Who may do what: the predicates of SPEC 2, one name each, used by every face."""

from typing import TypeGuard

from django.contrib.auth.models import AnonymousUser

from accounts.models import User

Viewer = User | AnonymousUser


def is_participant(viewer: Viewer) -> TypeGuard[User]:
    """True for a signed-in, active account."""
    return isinstance(viewer, User) and viewer.is_active


def is_author(viewer: Viewer) -> bool:
    """True for one who may create Problems and Verifiers."""
    return is_participant(viewer) and viewer.has_perm("accounts.author")


def is_operator(viewer: Viewer) -> bool:
    """True for staff with the operator permission."""
    return is_participant(viewer) and viewer.is_staff and viewer.has_perm("accounts.operator")
