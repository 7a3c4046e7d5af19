"""The form of one's own account: the name others see, and the zone of all times."""

from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from django import forms

from accounts.models import User

# Django's form takes its type argument only in the stubs.
if TYPE_CHECKING:
    _UserForm = forms.ModelForm[User]
else:
    _UserForm = forms.ModelForm


@cache
def _zones() -> list[tuple[str, str]]:
    # `posix/…` and the like are copies of other names; only names of places are offered.
    copies = ("Etc/", "posix", "right", "SystemV/", "US/")
    places = sorted(name for name in available_timezones() if "/" in name and not name.startswith(copies))
    return [("", "UTC"), *((name, name.replace("_", " ")) for name in places)]


class AccountForm(_UserForm):
    """Name and zone of one account."""

    timezone = forms.ChoiceField(
        label="Time zone",
        required=False,
        choices=_zones,
        help_text="All times on your pages are shown in it, with its name.",
    )

    class Meta:
        model = User
        fields = ("display_name", "timezone")
        labels = {"display_name": "Display name"}
        help_texts = {"display_name": "Shown beside your work in place of your user name."}
