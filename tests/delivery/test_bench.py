"""What the bench leans on: its solver, and rows that the database could have got from real runs."""

import itertools
import re

import pytest
from django.db import IntegrityError, connection
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from config.bench import measure
from config.bench.filling import PEOPLE, fill
from config.bench.solving import satisfying_assignment
from config.demo import PACKAGES
from tests.factories.work import finished_run
from verification.engine.ids import parse_id
from verification.runs.models import RunStatus, VerificationRun
from verification.runs.selectors import run_for

literals = st.integers(1, 5).flatmap(lambda variable: st.sampled_from([variable, -variable]))
formulas = st.lists(st.lists(literals, min_size=1, max_size=3), min_size=1, max_size=12)


def holds(clauses: list[list[int]], chosen: set[int]) -> bool:
    return all(any(literal in chosen for literal in clause) for clause in clauses)


@given(clauses=formulas)
def test_the_solver_finds_an_assignment_exactly_where_there_is_one(clauses):
    worlds = [{v if side else -v for v, side in enumerate(sides, 1)} for sides in itertools.product([0, 1], repeat=5)]
    lines = "\n".join(" ".join(map(str, [*clause, 0])) for clause in clauses)

    try:
        answer = satisfying_assignment(f"c of a test\np cnf 5 {len(clauses)}\n{lines}\n").decode()
    except ValueError:
        answer = ""

    found = {int(word) for word in re.findall(r"-?[1-9]", answer)}
    assert (bool(answer) and holds(clauses, found)) == any(holds(clauses, world) for world in worlds)


def test_it_solves_the_formula_that_the_bench_submits():
    formula = (PACKAGES / measure.SMALL / "reference" / "instance").read_text()

    answer = satisfying_assignment(formula).decode()

    clauses = [[int(word) for word in line.split()[:-1]] for line in formula.splitlines() if line[0] not in "cp"]
    assert holds(clauses, {int(word) for word in answer.split()[3:-1]})


@pytest.mark.django_db(transaction=True)
def test_stored_runs_read_like_the_one_that_they_were_copied_from(database_urls):
    model = finished_run()

    fill(database_urls["owner"], model.pk, first=1, last=150)

    filled = VerificationRun.objects.exclude(pk=model.pk)
    assert filled.filter(status=RunStatus.FINISHED, result="verified").count() == 150
    assert User.objects.filter(username__startswith="filler").count() == PEOPLE
    copy = filled.order_by("pk")[0]
    operator = User.objects.create_superuser("looks")
    told, original = run_for(operator, copy.pk), run_for(operator, model.pk)
    assert parse_id(copy.pk)[0] == "vrn"
    assert told is not None
    assert [(stage.key, stage.result) for stage in told.stages] == [(s.key, s.result) for s in original.stages]


@pytest.mark.django_db(transaction=True)
def test_after_filling_the_triggers_stand_again(database_urls):
    model = finished_run()
    fill(database_urls["owner"], model.pk, first=1, last=1)

    with pytest.raises(IntegrityError, match="claim numbers only grow"), connection.cursor() as cursor:
        cursor.execute("UPDATE runs_runexecution SET claim_number = claim_number - 1")
