"""The external stage. No adapter is bound to any system here yet, so reaching one ends the run, naming the system."""

from verification.contracts.models import ContractStage
from verification.runs.models import VerificationRun
from verification.runs.stages.base import StageAnswer, StageContext, StageUnavailable


class ExternalExecutor:
    """Asks an outside system or institution."""

    def validate_at_publication(self, stage: ContractStage) -> list[str]:
        """Nothing beyond the plan rules: a partner may be bound later."""
        del stage
        return []

    def is_ready(self, stage: ContractStage) -> bool:
        """Never waited for here."""
        del stage
        return True

    def cancel(self, run: VerificationRun, stage: ContractStage) -> None:
        """Nothing is open while no partner is bound."""

    def waiting_text(self, stage: ContractStage) -> str:
        """What a page says while a run waits here."""
        return f"Waiting for {stage.external_system}."

    def start(self, context: StageContext) -> StageAnswer:
        """Say which system is missing."""
        return StageUnavailable(f"No partner is bound to the external system {context.stage.external_system}.")
