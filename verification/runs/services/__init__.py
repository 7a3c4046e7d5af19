"""Every write of runs. One service moves one state, under the run's row lock; the database refuses the rest."""

from verification.runs.services.claims import LEASE, Claim, ClaimLost, claim_run, renew_lease
from verification.runs.services.creation import create_run, submit_work
from verification.runs.services.outcomes import (
    FinishedRun,
    IllegalMove,
    append_stage_result,
    end_locked_run,
    final_score,
    finish_run,
    on_run_finished,
    revoke_run,
    stage_reason,
)
from verification.runs.services.progress import begin_stage, park_run, record_fault, wake_runs

__all__ = [
    "LEASE",
    "Claim",
    "ClaimLost",
    "FinishedRun",
    "IllegalMove",
    "append_stage_result",
    "begin_stage",
    "claim_run",
    "create_run",
    "end_locked_run",
    "final_score",
    "finish_run",
    "on_run_finished",
    "park_run",
    "record_fault",
    "renew_lease",
    "revoke_run",
    "stage_reason",
    "submit_work",
    "wake_runs",
]
