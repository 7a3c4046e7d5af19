"""The account's own page; signing in and out, passwords and addresses are django-allauth's."""

from allauth.account import views as allauth_views
from django.urls import path, re_path

from web.views import account

urlpatterns = [
    path("account/", account.account, name="account"),
    # allauth's own pattern takes letters and digits only, and our ids hold an underscore: without this line every
    # link that resets a password would answer 404. Same name, so that its links find it.
    re_path(
        r"^account/password/reset/key/(?P<uidb36>usr_[0-9a-z]{26})-(?P<key>[^/]+)/$",
        allauth_views.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
]
