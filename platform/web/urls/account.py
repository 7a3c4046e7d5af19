"""The account's own page; signing in and out, passwords and addresses are django-allauth's."""

from django.urls import path

from web.views import account

urlpatterns = [path("account/", account.account, name="account")]
