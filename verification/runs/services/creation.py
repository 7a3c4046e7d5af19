"""Creating runs: inputs are frozen in the same transaction in which the run comes to be."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from accounts.models import User
from submissions.models import Submission
from submissions.services import create_submission
from verification.contracts.models import VerifierContract
from verification.runs import dispatch
from verification.runs.models import (
    RunArtifact,
    RunExecution,
    RunMode,
    RunReference,
    RunTrigger,
    VerificationRun,
)
from verification.runs.services.events import add_event


@transaction.atomic
def submit_work(
    *, participant: User, attempt_id: str, artifact_ids: Sequence[str], summary_md: str, at: datetime
) -> Submission:
    """A new Submission and, where its revision pins a Contract, the run that examines it.

    Raises:
        WorkRefused: see `submissions.services.create_submission`.
    """
    submission = create_submission(
        participant=participant, attempt_id=attempt_id, artifact_ids=artifact_ids, summary_md=summary_md, at=at
    )
    if submission.attempt.revision.verifier_contract_id is not None:
        create_run(submission=submission, trigger=RunTrigger.SUBMISSION, requested_by=participant, at=at)
    return submission


@transaction.atomic
def create_run(
    *,
    submission: Submission,
    trigger: RunTrigger,
    requested_by: User,
    at: datetime,
    rerun_reason: str = "",
    mode: RunMode = RunMode.STANDARD,
) -> VerificationRun:
    """A queued run with the Submission's files and the revision's bindings as they are now, for good."""
    revision = submission.attempt.revision
    contract = revision.verifier_contract
    if contract is None:
        raise ValueError("expected a revision that pins a Contract; a revision without one is recorded, not checked")
    number = (VerificationRun.objects.filter(submission=submission).aggregate(last=Max("number"))["last"] or 0) + 1
    run = VerificationRun.objects.create(
        submission=submission,
        number=number,
        revision=revision,
        contract=contract,
        contract_normative_hash=contract.normative_hash,
        trigger=trigger.value,
        mode=mode.value,
        requested_by=requested_by,
        rerun_reason=rerun_reason,
        created_at=at,
    )
    RunExecution.objects.create(run=run, dispatched_at=at)
    _freeze_inputs(run, submission, contract)
    add_event(run_id=run.pk, kind="queued", at=at)
    dispatch.execute_run(run.pk)
    return run


def _freeze_inputs(run: VerificationRun, submission: Submission, contract: VerifierContract) -> None:
    roles = list(contract.roles.all())
    RunArtifact.objects.bulk_create(
        [
            RunArtifact(
                run=run,
                position=place.position,
                role=roles[place.position].key if place.position < len(roles) else "",
                artifact=place.artifact,
                filename=place.artifact.filename,
                content_hash=place.artifact.blob_id,
                size_bytes=place.artifact.size_bytes,
                media_type=place.artifact.media_type,
            )
            for place in submission.places.select_related("artifact")
        ]
    )
    RunReference.objects.bulk_create(
        [
            RunReference(
                run=run,
                key=binding.slot.key,
                kind=binding.kind,
                content_hash=binding.content_hash,
                size_bytes=binding.size_bytes,
                media_type=binding.media_type,
                filename=binding.filename,
                url=binding.url,
                is_sealed=binding.slot.sealed,
                commitment=binding.commitment,
            )
            for binding in run.revision.bindings.select_related("slot")
        ]
    )
