"""Recovery of drafts: bound bytes whose question to the reference validator was lost."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from blobs.models import BlobHold
from problems.models import SlotBinding
from problems.services import BINDING_HOLD
from verification.contracts import dispatch
from verification.contracts.services.validation import acceptance_of

RESEND_AFTER = timedelta(seconds=30)
# A validator that has failed for this long is asked again when the bytes are bound again.
RESEND_WITHIN = timedelta(minutes=10)
BATCH = 100


def sweep_validations(*, at: datetime) -> int:
    """Ask again about bytes of drafts that were bound a little ago and have no answer; the number of questions."""
    lately = BlobHold.objects.filter(
        blob=OuterRef("blob"),
        holder_kind=BINDING_HOLD,
        ended_at=None,
        created_at__gt=at - RESEND_WITHIN,
        created_at__lte=at - RESEND_AFTER,
    )
    has_validator = ~Q(slot__validator_builtin="") | Q(slot__validator_program__isnull=False)
    bindings = (
        SlotBinding.objects.filter(has_validator, Exists(lately), kind="stored", revision__published_at=None)
        .select_related("slot__validator_program")
        .order_by("pk")[:BATCH]
    )
    unanswered = [binding for binding in bindings if acceptance_of(binding.slot, binding.content_hash) is None]
    for binding in unanswered:
        dispatch.validate_reference(binding.slot_id, binding.content_hash, binding.size_bytes)
    return len(unanswered)
