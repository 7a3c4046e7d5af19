"""The staff's view of records: operators read every one and nobody edits any; superusers give rights to accounts."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import CharField
from django.http import HttpRequest, HttpResponse

from accounts.models import User
from accounts.roles import is_operator

# Django's admin takes its type argument only in the stubs.
if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
    _UserAdmin = UserAdmin[User]
else:
    _ModelAdmin = admin.ModelAdmin
    _UserAdmin = UserAdmin


admin.site.site_header = admin.site.site_title = "TfP staff"
admin.site.index_title = "Records: to read, not to edit"


class RecordAdmin(_ModelAdmin):
    """Records to look at, superusers included: no add, no change, no delete.

    `withheld` names columns that are never drawn; `told` names methods that tell what of them may be told.
    """

    withheld: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    list_per_page = 50
    # A second count of the whole table on every search would buy nothing.
    show_full_result_count = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """True for operators: they are the ones who may read what is private."""
        return is_operator(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """True for operators."""
        return is_operator(request.user)

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Never: services write records."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a record never changes its story."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: records are kept."""
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Every column that is not withheld, then what is told of the others."""
        options = self.model._meta
        columns = [field.name for field in (*options.concrete_fields, *options.many_to_many)]
        return [name for name in columns if name not in self.withheld] + list(self.told)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All of them."""
        return self.get_fields(request, obj)

    def get_ordering(self, request: HttpRequest) -> Any:
        """Newest first: ids sort by time."""
        return self.ordering or ("-pk",)

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """The id, whole; and what the model adds."""
        key = self.model._meta.pk
        # `exact` on a number is compared as text, so that a word in the search box is no error.
        first = "pk__exact" if isinstance(key, CharField) else f"{key.name}__exact"
        if isinstance(key, models.OneToOneField):
            first = f"{key.name}__{key.target_field.name}__exact"
        return [first, *self.search_fields]


@admin.register(User)
class AccountAdmin(_UserAdmin):
    """Accounts: superusers change who is staff and who has which right, and nothing else."""

    list_display = ("username", "display_name", "is_active", "is_staff", "is_superuser", "date_joined")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("pk__exact", "username", "display_name")
    ordering = ("username",)
    list_per_page = 50
    readonly_fields = ("id", "username", "display_name", "timezone", "is_active", "last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("id", "username", "display_name", "timezone", "is_active", "last_login", "date_joined")}),
        ("Rights", {"fields": ("is_staff", "is_superuser", "groups", "user_permissions")}),
    )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """True for operators and superusers."""
        return is_operator(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """True for operators and superusers."""
        return is_operator(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: people sign up themselves."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """True for superusers."""
        return is_operator(request.user) and bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: records name their people."""
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Refuse: people set their own passwords."""
        raise PermissionDenied
