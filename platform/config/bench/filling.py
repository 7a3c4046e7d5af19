"""Stored runs in bulk: rows copied from one real run, as consistent as it is, loaded by the owner of the tables."""

from dataclasses import dataclass

import psycopg
from psycopg import sql

PEOPLE = 100
SPACING_S = 20
# Our own triggers refuse rows that are born finished; foreign keys and checks stay on.
TABLES_WITH_TRIGGERS = (
    "submissions_attempt", "submissions_artifact", "submissions_submission", "submissions_submissionartifact",
    "runs_verificationrun", "runs_runexecution", "runs_runartifact", "runs_runreference", "runs_stageresult",
    "runs_stageoutput", "runs_evidencefile", "runs_runevent", "notices_notice", "blobs_blobhold",
)  # fmt: skip


def _id(prefix: str, number: str) -> str:
    """The SQL of a typed id that sorts before every real one."""
    return f"'{prefix}_00' || lpad(to_hex({number}), 24, '0')"


def _shifted(*columns: str) -> dict[str, str]:
    return {column: f"t.{column} - i * interval '{SPACING_S} seconds'" for column in columns}


@dataclass(frozen=True)
class Copies:
    """Copies of a table's rows: which rows, and what differs in copy number `i`; all other columns are equal."""

    table: str
    rows: str
    changed: dict[str, str]


RUN, SUBMISSION, PERSON = _id("vrn", "i"), _id("sub", "i"), _id("usr", f"mod(i, {PEOPLE})")
ATTEMPT, ARTIFACT = _id("att", f"mod(i, {PEOPLE})"), _id("art", f"mod(i, {PEOPLE})")
RESULT = "1000000000 + i"

PER_PERSON = (
    Copies(
        "accounts_user",
        "t.id = %(user)s",
        {"id": PERSON, "username": "'filler' || i", "email": "'filler' || i || '@example.org'"},
    ),
    Copies("submissions_attempt", "t.id = %(attempt)s", {"id": ATTEMPT, "participant_id": PERSON}),
    Copies(
        "submissions_artifact", "t.id = %(artifact)s", {"id": ARTIFACT, "attempt_id": ATTEMPT, "uploaded_by_id": PERSON}
    ),
)
PER_RUN = (
    Copies(
        "submissions_submission",
        "t.id = %(submission)s",
        {"id": SUBMISSION, "attempt_id": ATTEMPT, "number": "1000 + i", "created_by_id": PERSON}
        | _shifted("created_at"),
    ),
    Copies(
        "submissions_submissionartifact",
        "t.submission_id = %(submission)s",
        {"submission_id": SUBMISSION, "artifact_id": ARTIFACT},
    ),
    Copies(
        "runs_verificationrun",
        "t.id = %(run)s",
        {"id": RUN, "submission_id": SUBMISSION, "requested_by_id": PERSON}
        | _shifted("created_at", "started_at", "finished_at"),
    ),
    Copies("runs_runexecution", "t.run_id = %(run)s", {"run_id": RUN} | _shifted("dispatched_at")),
    Copies("runs_runartifact", "t.run_id = %(run)s", {"run_id": RUN, "artifact_id": ARTIFACT}),
    Copies("runs_runreference", "t.run_id = %(run)s", {"run_id": RUN}),
    Copies("runs_stageresult", "t.run_id = %(run)s", {"id": RESULT, "run_id": RUN}),
    Copies(
        "runs_stageoutput",
        "t.stage_result_id = %(result)s",
        {"stage_result_id": RESULT} | _shifted("started_at", "finished_at"),
    ),
    Copies("runs_evidencefile", "t.stage_result_id = %(result)s", {"stage_result_id": RESULT}),
    Copies("runs_runevent", "t.run_id = %(run)s", {"run_id": RUN} | _shifted("at")),
    Copies(
        "notices_notice",
        "t.subject_id = %(run)s",
        {"user_id": PERSON, "subject_id": RUN} | _shifted("created_at"),
    ),
    Copies(
        "blobs_blobhold",
        "t.holder_id LIKE %(run)s || '/%%'",
        {"holder_id": f"replace(t.holder_id, %(run)s, {RUN})"} | _shifted("created_at"),
    ),
)


def fill(owner_url: str, model_run: str, *, first: int, last: int) -> None:
    """Store copies number `first` to `last` of a finished run; number 1 brings the people they are spread over."""
    with psycopg.connect(owner_url) as connection:
        names = _model(connection, model_run)
        for table in TABLES_WITH_TRIGGERS:
            connection.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(sql.Identifier(table)))
        if first == 1:
            for copies in PER_PERSON:
                _copy(connection, copies, names, 0, PEOPLE - 1)
        for copies in PER_RUN:
            _copy(connection, copies, names, first, last)
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in TABLES_WITH_TRIGGERS:
            connection.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(sql.Identifier(table)))
    with psycopg.connect(owner_url, autocommit=True) as connection:
        # What autovacuum would come to do by itself.
        for table in {"accounts_user", *TABLES_WITH_TRIGGERS}:
            connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))


def _model(connection: "psycopg.Connection[tuple[object, ...]]", run: str) -> dict[str, object]:
    row = connection.execute(
        """
        SELECT r.id, r.submission_id, s.attempt_id, a.participant_id, f.artifact_id, p.id
        FROM runs_verificationrun r
        JOIN submissions_submission s ON s.id = r.submission_id
        JOIN submissions_attempt a ON a.id = s.attempt_id
        JOIN runs_runartifact f ON f.run_id = r.id
        JOIN runs_stageresult p ON p.run_id = r.id
        WHERE r.id = %s
        """,
        [run],
    ).fetchone()
    if row is None:
        raise LookupError(f"expected a finished run with one file and one stage, found none of the id {run}")
    return dict(zip(("run", "submission", "attempt", "user", "artifact", "result"), row, strict=True))


def _copy(
    connection: "psycopg.Connection[tuple[object, ...]]",
    copies: Copies,
    names: dict[str, object],
    first: int,
    last: int,
) -> None:
    columns = [
        row[0]
        for row in connection.execute(
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name = %s AND is_identity = 'NO' ORDER BY ordinal_position",
            [copies.table],
        )
    ]
    columns += [column for column in copies.changed if column not in columns]
    values = [copies.changed.get(str(column), f't."{column}"') for column in columns]
    listed = ", ".join(f'"{column}"' for column in columns)
    connection.execute(
        f"INSERT INTO {copies.table} ({listed}) SELECT {', '.join(values)} "  # noqa: S608 (constants of this module)
        f"FROM {copies.table} t, generate_series(%(first)s::bigint, %(last)s::bigint) AS i WHERE {copies.rows}",
        names | {"first": first, "last": last},
    )
