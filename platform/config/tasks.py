"""Celery's way in to what concerns the installation itself."""

from pathlib import Path

from celery import shared_task

from config.demo import seed_large_problem


@shared_task(name="config.seed_large_problem", time_limit=600)
def seed_large_problem_task(*, directory: str) -> None:
    """Make and publish the demonstration's large Problem, which takes longer than a first page may."""
    seed_large_problem(Path(directory))
