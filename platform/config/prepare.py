"""Brings a database to where this code expects it: migrations as the owner, then the demonstration.

Run by the supervisor as one process (`python -m config.prepare`), because loading Django twice costs a second. What
the demonstration prints on standard output is shown to the person under the platform's address.
"""

import gc
import sys

import django


def main() -> None:
    """Migrate, then seed the demonstration if this installation has one."""
    django.setup()
    from django.core.management import call_command, get_commands
    from django.db import connections
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connections["owner"])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        sys.stderr.write("tfp: migrating the database …\n")
        migrate()
    connections["owner"].close()
    if "seed_demo" in get_commands():
        call_command("seed_demo")


def migrate() -> None:
    """Migrate as the owner, in two thirds of the usual time.

    Django renders all models anew for each of some hundred operations; looking through them for garbage each time is
    a third of the work.
    """
    from django.core.management import call_command

    gc.disable()
    try:
        call_command("migrate", database="owner", verbosity=0, interactive=False)
    finally:
        gc.enable()


if __name__ == "__main__":
    main()
