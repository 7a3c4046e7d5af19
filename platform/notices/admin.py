"""The staff's view of notices."""

from django.contrib import admin

from accounts.admin import RecordAdmin
from notices.models import Notice


@admin.register(Notice)
class NoticeAdmin(RecordAdmin):
    """Who is told of what."""

    list_display = ("id", "user", "kind", "subject_id", "created_at", "read_at")
    list_select_related = ("user",)
    list_filter = ("kind",)
