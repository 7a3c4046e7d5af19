"""The account's own page."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.models import User
from web.forms.account import AccountForm


@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Name and zone, and the ways to password and address."""
    user = User.objects.get(pk=request.user.pk)
    form = AccountForm(request.POST or None, instance=user)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("account")
    return render(request, "account/page.html", {"form": form}, status=422 if form.is_bound else 200)
