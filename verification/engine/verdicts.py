"""What a Submission's runs add up to: eligibility, current verdict, later checks, history (SPEC 8)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from verification.engine.reasons import Result

FINISHED = "finished"


@dataclass(frozen=True)
class RunFacts:
    """The facts of one run that a derived state depends on."""

    id: str
    contract_id: str
    created_at: datetime
    finished_at: datetime | None
    status: str
    result: Result | None
    is_revoked: bool = False
    own_work: bool = False


@dataclass(frozen=True)
class DerivedState:
    """Everything pages say about a Submission's verification; stored nowhere.

    `later` holds the finished, standing runs without a verdict that are newer than the current verdict, newest
    first; where there is no current verdict it holds all of them. `history` holds the runs under other Contracts,
    newest first. `own_work` is true once any run under any Contract was marked so.
    """

    is_eligible: bool
    latest_run: RunFacts | None
    current_verdict: RunFacts | None
    later: tuple[RunFacts, ...]
    history: tuple[RunFacts, ...]
    own_work: bool


def derive(runs: Iterable[RunFacts], *, pinned_contract_id: str | None, is_withdrawn: bool) -> DerivedState:
    """The derived state of one Submission, whatever order its runs come in.

    Args:
        runs: every run of the Submission, under any Contract.
        pinned_contract_id: of the revision the Attempt works on; None where it pins no Contract.
        is_withdrawn: the Submission, or one of its Artifacts, was withdrawn. Its runs then stay readable and leave
            the current verdict.
    """
    newest_first = sorted(runs, key=_by_creation, reverse=True)
    pinned = [run for run in newest_first if run.contract_id == pinned_contract_id]
    standing = [run for run in pinned if run.status == FINISHED and not run.is_revoked]
    verdicts = [run for run in standing if run.result in (Result.VERIFIED, Result.REFUTED)]
    current = verdicts[0] if verdicts and not is_withdrawn else None
    return DerivedState(
        is_eligible=not is_withdrawn,
        latest_run=pinned[0] if pinned else None,
        current_verdict=current,
        later=tuple(
            run
            for run in standing
            if run.result in (Result.INCONCLUSIVE, Result.ERROR)
            and (current is None or _by_creation(run) > _by_creation(current))
        ),
        history=tuple(run for run in newest_first if run.contract_id != pinned_contract_id),
        own_work=any(run.own_work for run in newest_first),
    )


def _by_creation(run: RunFacts) -> tuple[datetime, str]:
    """Sort key; ids settle equal moments, so that the answer never depends on the order of arrival."""
    return run.created_at, run.id
