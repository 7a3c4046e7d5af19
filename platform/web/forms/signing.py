"""django-allauth's forms in our words: a label says what a field is, so no placeholder repeats it."""

from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.forms import ReauthenticateForm as AllauthReauthenticateForm

_LABELS = {
    "login": "User name or e-mail address",
    "username": "User name",
    "email": "E-mail address",
    "oldpassword": "Password until now",
    "password": "Password",
    "password1": "Password",
    "password2": "The same password again",
    "remember": "Stay signed in on this computer",
}


class _PlainWords:
    """Puts our labels on the fields and takes the placeholders away."""

    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = _LABELS.get(name, field.label)
            field.widget.attrs.pop("placeholder", None)


class LoginForm(_PlainWords, allauth_forms.LoginForm):
    """Signing in; the way to a forgotten password stands below the form, not between its fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = ""


class SignupForm(_PlainWords, allauth_forms.SignupForm):
    """A new account."""


class AddEmailForm(_PlainWords, allauth_forms.AddEmailForm):
    """One more address."""


class ChangePasswordForm(_PlainWords, allauth_forms.ChangePasswordForm):
    """Another password."""


class ResetPasswordForm(_PlainWords, allauth_forms.ResetPasswordForm):
    """A link to set a forgotten password anew."""


class ResetPasswordKeyForm(_PlainWords, allauth_forms.ResetPasswordKeyForm):
    """The new password, behind the link."""


class ReauthenticateForm(_PlainWords, AllauthReauthenticateForm):
    """The password once more, before something sensitive."""
