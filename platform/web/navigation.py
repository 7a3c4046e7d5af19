"""The main navigation: one order for all, showing only what the viewer may use and what exists."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.urls import is_valid_path

from accounts.roles import Viewer, is_author, is_participant


@dataclass(frozen=True)
class Place:
    """One place of the navigation: `roots` are the addresses that lie in it besides its own."""

    label: str
    path: str
    may_use: Callable[[Viewer], bool]
    roots: tuple[str, ...] = ()
    is_at_end: bool = False


@dataclass(frozen=True)
class NavigationItem:
    """One link as the template draws it; `current` is a value of aria-current, or empty."""

    label: str
    path: str
    current: str
    is_at_end: bool = False
    count: int = 0


def _everybody(_: Viewer) -> bool:
    return True


def _visitor(viewer: Viewer) -> bool:
    return not is_participant(viewer)


def _reviewer(viewer: Viewer) -> bool:
    return is_participant(viewer) and viewer.has_perm("accounts.reviewer")


def _staff(viewer: Viewer) -> bool:
    return is_participant(viewer) and viewer.is_staff


_PLACES = (
    Place("Problems", "/problems/", _everybody, ("/contracts/", "/implementations/", "/verifiers/", "/protocols/")),
    Place("My work", "/my/", is_participant, ("/attempts/", "/submissions/", "/artifacts/", "/verifications/")),
    Place("Reviews", "/reviews/", _reviewer, ("/attestations/",)),
    Place("Manage", "/desk/", is_author),
    Place("Staff", "/admin/", _staff),
    Place("Account", "/account/", is_participant, is_at_end=True),
    Place("Sign in", "/account/login/", _visitor, ("/account/",), is_at_end=True),
)


@cache
def _exists(path: str) -> bool:
    return bool(is_valid_path(path))


def navigation_items(viewer: Viewer, path: str) -> list[NavigationItem]:
    """The links for one viewer on one page."""
    return [
        NavigationItem(place.label, place.path, _current(place, path), place.is_at_end)
        for place in _PLACES
        if _exists(place.path) and place.may_use(viewer)
    ]


def _current(place: Place, path: str) -> str:
    if path == place.path:
        return "page"
    return "true" if path.startswith((place.path, *place.roots)) else ""
