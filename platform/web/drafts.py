"""The Submission that is being put together: kept in the session between choosing, checking and sending, sent once."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest

_KEY = "submission draft of {}"
_SENT_KEY = "submissions sent"
# As many tokens are remembered as somebody may still have open in tabs.
MAX_SENT = 20


@dataclass(frozen=True)
class Draft:
    """Files in their order, the summary, and the token that lets it be sent once."""

    artifact_ids: tuple[str, ...]
    summary_md: str
    token: str


def keep_draft(request: HttpRequest, attempt_id: str, *, artifact_ids: Sequence[str], summary_md: str) -> Draft:
    """Remember what was chosen, in place of what was chosen before."""
    draft = Draft(tuple(artifact_ids), summary_md, secrets.token_urlsafe(18))
    request.session[_KEY.format(attempt_id)] = asdict(draft) | {"artifact_ids": list(artifact_ids)}
    return draft


def draft_of(request: HttpRequest, attempt_id: str) -> Draft | None:
    """What was chosen for the Attempt's next Submission; None where nothing was, or it was sent."""
    kept = request.session.get(_KEY.format(attempt_id))
    return None if kept is None else Draft(tuple(kept["artifact_ids"]), kept["summary_md"], kept["token"])


class DraftGone(Exception):
    """The token belongs to no draft: it was replaced, or the session is a new one."""


@transaction.atomic
def send_once(request: HttpRequest, attempt_id: str, token: str, send: Callable[[Draft], str]) -> str:
    """What `send` made of the draft, or had made when the same token came before.

    The session's row is locked meanwhile, so that of two posts at once the second one finds the first one's answer.

    Raises:
        DraftGone: nothing is known of the token.
    """
    key = str(request.session.session_key)
    Session.objects.select_for_update().filter(pk=key).first()
    session = SessionStore(key)
    sent: dict[str, str] = session.get(_SENT_KEY, {})
    if token in sent:
        return sent[token]
    kept = session.get(_KEY.format(attempt_id))
    if kept is None or not secrets.compare_digest(str(kept["token"]), token):
        raise DraftGone
    made = send(Draft(tuple(kept["artifact_ids"]), kept["summary_md"], token))
    del session[_KEY.format(attempt_id)]
    session[_SENT_KEY] = dict([*sent.items(), (token, made)][-MAX_SENT:])
    session.save()
    # The middleware writes the request's session once more; it must be this one.
    request.session = session
    return made
