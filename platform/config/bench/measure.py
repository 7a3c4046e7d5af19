"""`python -m config.bench.measure`: measures the platform that the environment names; figures on the last line.

Run by `manage.py bench` against a platform of its own: it stores a hundred thousand runs there.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    is_quick = parser.parse_args().quick
    django.setup()
    sys.stdout.write(json.dumps(measure(is_quick=is_quick)) + "\n")


def measure(*, is_quick: bool) -> dict[str, Any]:
    """All figures; a quick measurement stops at 10³ stored runs and repeats less."""
    from config.bench import figures
    from config.bench.browser import Browser
    from config.bench.filling import fill
    from config.demo import PACKAGES
    from verification.runs.models import VerificationRun

    var = Path(os.environ["TFP_VAR_DIR"])
    slug = json.loads((PACKAGES / SMALL / "problem.json").read_text(encoding="utf-8"))["slug"]
    _settle()
    browser = Browser(os.environ["TFP_SITE_URL"])
    browser.sign_in("demo", json.loads((var / "run" / "demo_accounts").read_text())["demo"])
    bench = figures.begin(browser, slug, _answer())
    times = 20 if is_quick else 60
    figures.submit_to_verdict(bench, times=10)  # Nothing is compiled or connected the second time.
    model = VerificationRun.objects.filter(result="verified")[0].pk
    found: dict[str, Any] = {"cpus": os.cpu_count()}
    stored = 0
    for exponent in (3,) if is_quick else (3, 5):
        _say(f"storing 10^{exponent} runs …")
        fill(os.environ["DATABASE_OWNER_URL"], model, first=stored + 1, last=(stored := 10**exponent))
        _say("from the form to the verdict …")
        found |= _named(figures.submit_to_verdict(bench, times=times), exponent)
        found[f"runs_per_s_at_1e{exponent}"] = figures.runs_per_s(bench, runs=50 if is_quick else 200)
        took = figures.page_ms(bench, slug, times=5 if is_quick else 15)
        found[f"page_ms_at_1e{exponent}"] = took
        found[f"list_page_ms_at_1e{exponent}"] = max(took[name] for name in LISTS)
        found[f"page_queries_at_1e{exponent}"] = figures.page_queries(bench, slug)
    _say("the checker against reading and hashing …")
    packages = var / "run" / "packages"
    found["sat_over_hash"] = figures.sat_over_hash(
        packages / "sat-large" / "reference" / "instance",
        packages / "sat-large.assignment.txt",
        times=5 if is_quick else 15,
    )
    last = "1e3" if is_quick else "1e5"
    return {name: found[f"{name}_at_{last}"] for name in HEADLINES} | found


SMALL = "sat-small"
LISTS = ("home", "problems", "problem", "my_work", "notices")
HEADLINES = ("submit_to_verdict_p50_ms", "submit_to_verdict_p95_ms", "runs_per_s")


def _named(figures: dict[str, float], exponent: int) -> dict[str, float]:
    return {f"{name}_at_1e{exponent}": value for name, value in figures.items()}


def _settle() -> None:
    """Wait until the demonstration is complete: its large Problem published, every conformance decided."""
    from config import demo
    from verification.contracts.models import ConformanceRecord, ConformanceStatus

    decided = [ConformanceStatus.PASSED, ConformanceStatus.FAILED]
    _until(demo.is_large_problem_there)
    _until(lambda: not ConformanceRecord.objects.exclude(status__in=decided).exists())


def _until(is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 120
    while not is_so():
        if time.monotonic() > give_up_at:
            raise RuntimeError("the demonstration was not complete within 120 s")
        time.sleep(0.2)


def _answer() -> bytes:
    """An assignment that satisfies the small Problem's formula: colour by colour, found by trying."""
    from config.bench.solving import satisfying_assignment
    from config.demo import PACKAGES

    return satisfying_assignment((PACKAGES / SMALL / "reference" / "instance").read_text(encoding="ascii"))


def _say(line: str) -> None:
    sys.stderr.write(f"bench: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
