"""What the application's database role may do with each table: records take INSERT and SELECT, only named columns move.

Applied by the owner after every migration, so that no new table can be forgotten (`tests/config/test_grants.py`
compares this list with the models). The triggers on the models say what grants cannot: forward only, once only.
"""

from typing import Any

from django.apps import AppConfig, apps
from django.db import connections

APP_ROLE = "tfp_app"

# Every table of these applications is a record unless it is named below.
RECORD_APPS = ("blobs", "notices", "contracts", "reviews", "problems", "submissions", "runs")

# Columns that may move, by table. `lock` columns carry the UPDATE right that row locks need.
MOVABLE: dict[str, tuple[str, ...]] = {}

# Tables that are nobody's record: sessions, accounts, many-to-many lists of people, drafts.
FREE: frozenset[str] = frozenset()


def apply_grants(sender: AppConfig, using: str, **_: Any) -> None:
    """Grant each table's rights to the application's role (post_migrate receiver)."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
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
    return statements
