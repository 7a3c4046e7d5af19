"""The application's role may do with each table what `config.grants` says, and no more."""

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

from config.grants import APP_ROLE, FREE, MOVABLE, RECORD_APPS

pytestmark = pytest.mark.django_db

TABLES = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True) if model._meta.managed}

# Lists of people, a tally, and the members of a fixture set, which no right but INSERT touches.
UNGUARDED = {
    "contracts_fixtureset_fixtures",
    "contracts_verifier_authors",
    "problems_problem_managers",
    "runs_sweeptally",
}


def granted(table: str) -> dict[str, set[str]]:
    """The columns that the role may use, by privilege, and which privileges it has on the whole table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT privilege, a.attname FROM pg_attribute a CROSS JOIN unnest(ARRAY['SELECT','INSERT','UPDATE']) "
            "AS privilege WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped "
            "AND has_column_privilege(%s, a.attrelid, a.attnum, privilege)",
            [table, APP_ROLE],
        )
        found: dict[str, set[str]] = {"SELECT": set(), "INSERT": set(), "UPDATE": set()}
        for privilege, column in cursor.fetchall():
            found[privilege].add(column)
        for privilege in ("DELETE", "TRUNCATE", "TRIGGER", "REFERENCES"):
            cursor.execute("SELECT has_table_privilege(%s, %s, %s)", [APP_ROLE, table, privilege])
            if cursor.fetchone()[0]:
                found[privilege] = {"*"}
    return found


@pytest.mark.parametrize("table", sorted(TABLES))
def test_the_role_has_exactly_the_rights_that_are_written_down(table):
    columns = {field.column for field in TABLES[table]._meta.local_fields}
    wanted: dict[str, set[str]] = {"SELECT": columns, "INSERT": columns, "UPDATE": set(MOVABLE.get(table, ()))}
    if TABLES[table]._meta.app_label not in RECORD_APPS or table in FREE:
        wanted |= {"UPDATE": columns, "DELETE": {"*"}}

    assert granted(table) == wanted


def test_everything_that_is_written_down_exists():
    unknown = {
        f"{table}.{column}"
        for table, columns in MOVABLE.items()
        for column in columns
        if column not in {field.column for field in TABLES[table]._meta.local_fields}
    }

    assert unknown == set()
    assert set(TABLES) >= FREE


def test_the_role_is_no_more_than_a_client():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles "
            "WHERE rolname = %s",
            [APP_ROLE],
        )
        attributes = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM pg_auth_members WHERE member = %s::regrole", [APP_ROLE])
        memberships = cursor.fetchone()[0]
        cursor.execute("SELECT count(*) FROM pg_class WHERE relowner = %s::regrole", [APP_ROLE])
        owned = cursor.fetchone()[0]
        cursor.execute(
            "SELECT has_database_privilege(%s, current_database(), 'TEMPORARY'), "
            "has_database_privilege(%s, current_database(), 'CREATE'), has_schema_privilege(%s, 'public', 'CREATE')",
            [APP_ROLE] * 3,
        )
        creating = cursor.fetchone()

    assert (attributes, memberships, owned, creating) == ((False,) * 5, 0, 0, (False,) * 3)


def test_every_table_of_a_record_app_carries_a_trigger():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal"
        )
        guarded = {row[0] for row in cursor.fetchall()}
    records = {table for table, model in TABLES.items() if model._meta.app_label in RECORD_APPS}

    unguarded = {
        "contracts_fixtureset_fixtures",
        "contracts_verifier_authors",
        "problems_problem_managers",
        "runs_sweeptally",
    }
    assert records - guarded == unguarded


def test_the_models_and_the_migrations_agree():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
