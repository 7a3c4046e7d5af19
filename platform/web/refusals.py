"""What a refused piece of work answers: beside its field for people, as a problem detail for programs."""

from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse

from submissions.services import QuotaUsed, WorkRefused
from web.views.errors import problem_response

_TITLES = {
    "archived": "This Problem is archived",
    "not_open_yet": "This Problem is not open yet",
    "closed": "This Problem is closed",
    "attempt_closed": "This Attempt is closed",
    "quota_used": "Today's Submissions are used up",
}


def refusal_response(request: HttpRequest, refused: WorkRefused) -> HttpResponse:
    """The refusal as a page of its own, or as JSON: 429 for a used quota, else 409."""
    return problem_response(
        request,
        429 if isinstance(refused, QuotaUsed) else 409,
        title=_TITLES.get(refused.code, "This cannot be taken"),
        detail=str(refused),
        remedy="Nothing was written.",
        code=refused.code,
    )


def invalid_response(request: HttpRequest, form: BaseForm) -> HttpResponse:
    """A form's errors as a problem detail, each with the field it concerns."""
    errors = tuple(
        {"pointer": f"/{name}" if name != "__all__" else "", "message": str(message)}
        for name, messages in form.errors.items()
        for message in messages
    )
    return problem_response(request, 400, title="Something is missing", detail="Nothing was written.", errors=errors)


def add_refusal(form: BaseForm, refused: Exception, field: str | None = None) -> None:
    """Show the refusal beside its field, or above the form where it has none."""
    form.add_error(field if field in form.fields else None, str(refused))
