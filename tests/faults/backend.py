"""The process backend of workers under test: it knows the shipped checkers, a patient one and the hostile ones.

Workers find it by name (`TFP_SANDBOX_BACKENDS`), as they find every backend.
"""

from pathlib import Path

from tests.verification.engine.sandbox.hostile.executions import HERE
from verification.engine.checkers.registry import BUILTINS, Builtin, CheckerFiles
from verification.engine.sandbox.process import ProcessBackend

PATIENT = Builtin("patient", 1, "patient", ("patient.py",), root=Path(__file__).parent)


def _script(files: CheckerFiles) -> list[str]:
    return ["--script", str(files.artifacts["assignment"]), "--output", str(files.output)]


HOSTILE = Builtin("hostile", 1, "behaviours", ("behaviours.py",), argv=_script, root=HERE)


class FaultsBackend(ProcessBackend):
    """Executes what the platform ships, `PATIENT` and `HOSTILE`."""

    def __init__(self) -> None:
        super().__init__([*BUILTINS.values(), PATIENT, HOSTILE])


# What workers under test are told; a worker has no use for Django's checks, which load every page.
WORKER = {"TFP_SANDBOX_BACKENDS": "tests.faults.backend.FaultsBackend", "CELERY_SKIP_CHECKS": "1"}
