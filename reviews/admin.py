"""The staff's view of review protocols."""

from django.contrib import admin

from accounts.admin import RecordAdmin
from reviews.models import ReviewProtocol


@admin.register(ReviewProtocol)
class ReviewProtocolAdmin(RecordAdmin):
    """Published protocols."""

    list_display = ("id", "title", "purpose", "author", "published_at", "yanked_at")
    list_select_related = ("author",)
    search_fields = ("protocol_hash", "title")

    def view_on_site(self, obj: ReviewProtocol) -> str:
        """Its page."""
        return f"/protocols/{obj.pk}/"
