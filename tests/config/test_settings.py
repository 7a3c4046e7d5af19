"""A deployment starts only with every secret and address given, and says which one is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GIVEN = {
    "DATABASE_URL": "postgres://tfp_app@/tfp",
    "DJANGO_SECRET_KEY": "drawn for this test",
    "TFP_ALLOWED_HOSTS": "tfp.example.org",
    "TFP_BROKER_URL": "redis://127.0.0.1/0",
}


def start(given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Load the settings of a deployment in a process of its own, without this process's environment."""
    argv = [sys.executable, "-c", "import config.settings.production as found; print(found.DEBUG)"]
    environment = given | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_a_missing_secret_or_address_stops_a_deployment_and_is_named(name: str):
    started = start({key: value for key, value in GIVEN.items() if key != name})

    assert started.returncode == 1
    assert started.stderr.splitlines()[-1].endswith(f"ImproperlyConfigured: Set the {name} environment variable")


def test_a_deployment_with_all_of_them_starts_without_debugging():
    started = start(GIVEN)

    assert (started.returncode, started.stdout) == (0, "False\n")
