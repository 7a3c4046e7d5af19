"""What the application's database role may do with each table: records take INSERT and SELECT, only named columns move.

Applied by the owner after every migration, so that no new table can be forgotten (`tests/config/test_grants.py`
compares this list with the models). The triggers on the models say what grants cannot: forward only, once only.
"""

from typing import Any

from django.apps import apps
from django.db import connections

from verification.contracts.models.conformance import CONFORMANCE_MOVING
from verification.runs.models.run import EXECUTION_MOVING, RUN_MOVING

APP_ROLE = "tfp_app"

# Every table of these applications is a record unless it is named below.
RECORD_APPS = ("blobs", "notices", "contracts", "reviews", "problems", "submissions", "runs")

# Columns that may move, by table. `lock` columns carry the UPDATE right that row locks need.
MOVABLE: dict[str, tuple[str, ...]] = {
    "blobs_blob": ("purged_at",),
    "blobs_blobhold": ("ended_at",),
    "notices_notice": ("read_at",),
    "contracts_verifier": ("description_md",),
    "contracts_verifiercontract": ("published_at", "yanked_at", "yanked_by_id", "yank_reason"),
    "contracts_conformancefixture": ("retired_at", "retired_by_id", "retire_reason"),
    "contracts_verifierimplementation": ("yanked_at", "yanked_by_id", "yank_reason"),
    "contracts_conformancerecord": CONFORMANCE_MOVING,
    "reviews_reviewprotocol": ("yanked_at", "yanked_by_id", "yank_reason"),
    "problems_problem": (
        "title", "summary", "archived_at", "results_visibility", "artifacts_visibility", "opens_at", "closes_at",
        "quota_per_day",
    ),
    "submissions_attempt": ("closed_at",),
    "submissions_artifact": ("withdrawn_at",),
    "submissions_submission": ("withdrawn_at",),
    "submissions_quotaentry": ("refunded_at",),
    "runs_verificationrun": RUN_MOVING,
    "runs_runexecution": EXECUTION_MOVING,
}  # fmt: skip

# Tables that are nobody's record: sessions, accounts, many-to-many lists of people, drafts.
FREE: frozenset[str] = frozenset(
    {
        "contracts_verifier_authors",
        "problems_problem_managers",
        "runs_sweeptally",
        # Drafts: their triggers freeze every row of a published revision.
        "problems_problemrevision",
        "problems_slotbinding",
    }
)

# pgtrigger lets a session switch triggers off through a setting; here nobody may (see DECISIONS.md).
NEVER_IGNORE_TRIGGERS = """
    CREATE OR REPLACE FUNCTION public._pgtrigger_should_ignore(trigger_name NAME)
    RETURNS BOOLEAN AS 'BEGIN RETURN FALSE; END;' LANGUAGE plpgsql
"""


NO_TEMPORARY_TABLES = f"""
    DO $$ BEGIN
        EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC, {APP_ROLE}', current_database());
    END $$
"""


def apply_grants(*, using: str, **_: Any) -> None:
    """Grant each table's rights to the application's role (post_migrate receiver)."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(NEVER_IGNORE_TRIGGERS)
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [APP_ROLE])
        if cursor.fetchone() is None:
            return
        for statement in grant_statements():
            cursor.execute(statement)


def grant_statements() -> list[str]:
    """The SQL that brings the role's rights to what this module says, whatever they were."""
    statements = [f"GRANT USAGE ON SCHEMA public TO {APP_ROLE}"]
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        statements.append(f'REVOKE ALL ON "{table}" FROM {APP_ROLE}')
        if model._meta.app_label not in RECORD_APPS or table in FREE:
            statements.append(f'GRANT SELECT, INSERT, UPDATE, DELETE ON "{table}" TO {APP_ROLE}')
            continue
        statements.append(f'GRANT SELECT, INSERT ON "{table}" TO {APP_ROLE}')
        if columns := MOVABLE.get(table):
            listed = ", ".join(f'"{column}"' for column in columns)
            statements.append(f'GRANT UPDATE ({listed}) ON "{table}" TO {APP_ROLE}')
    statements.append(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {APP_ROLE}")
    statements.append(f"GRANT SELECT ON django_migrations TO {APP_ROLE}")
    # Triggers read tables by name, and a session's temporary tables come first in the search for a name.
    statements.append(NO_TEMPORARY_TABLES)
    return statements
