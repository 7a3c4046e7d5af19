"""The Django application `verification.runs`."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Registers the application."""

    name = "verification.runs"
    label = "runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Enter the executors of this app's stages, and what it does itself when a run finishes."""
        from verification.runs.listeners import tell_submitter
        from verification.runs.services import on_run_finished
        from verification.runs.stages.base import register_executor
        from verification.runs.stages.external import ExternalExecutor
        from verification.runs.stages.sandbox import SandboxExecutor

        register_executor("sandbox", SandboxExecutor())
        register_executor("external", ExternalExecutor())
        on_run_finished(tell_submitter)
