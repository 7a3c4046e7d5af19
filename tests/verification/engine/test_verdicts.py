"""The derived state of a Submission."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from verification.engine.reasons import Result
from verification.engine.verdicts import DerivedState, RunFacts, derive

START = datetime(2026, 9, 3, tzinfo=UTC)
PINNED = "vct_pinned"


def a_run(number: int, result: Result | None = Result.VERIFIED, **changes: object) -> RunFacts:
    created = START + timedelta(minutes=number)
    finished = created + timedelta(seconds=5) if result else None
    status = "finished" if result else "running"
    run = RunFacts(f"vrn_{number:04}", PINNED, created, finished, status, result)
    return replace(run, **changes)


@st.composite
def runs(draw: st.DrawFn) -> list[RunFacts]:
    count = draw(st.integers(0, 7))
    return [
        a_run(
            # Few different moments, so that equal ones occur.
            draw(st.integers(0, 3)),
            draw(st.none() | st.sampled_from(Result)),
            id=f"vrn_{number}",
            contract_id=draw(st.sampled_from([PINNED, PINNED, "vct_other"])),
            is_revoked=draw(st.booleans()),
            own_work=draw(st.sampled_from([False, False, True])),
        )
        for number in range(count)
    ]


def state(found: list[RunFacts], *, is_withdrawn: bool = False) -> DerivedState:
    return derive(found, pinned_contract_id=PINNED, is_withdrawn=is_withdrawn)


@given(found=runs(), is_withdrawn=st.booleans(), data=st.data())
def test_a_derived_state_does_not_depend_on_the_order_of_runs(found, is_withdrawn, data):
    shuffled = data.draw(st.permutations(found))

    assert state(shuffled, is_withdrawn=is_withdrawn) == state(found, is_withdrawn=is_withdrawn)


@given(found=runs(), result=st.sampled_from([Result.INCONCLUSIVE, Result.ERROR, None]))
def test_a_later_run_without_a_verdict_never_erases_one(found, result):
    later = a_run(99, result)

    assert state([*found, later]).current_verdict == state(found).current_verdict


@given(found=runs(), result=st.sampled_from([Result.VERIFIED, Result.REFUTED]))
def test_the_newest_verdict_is_the_current_one(found, result):
    newest = a_run(99, result)

    assert state([*found, newest]).current_verdict == newest
    assert state([*found, newest]).later == ()


@given(found=runs())
def test_a_revoked_run_leaves_the_verdict_as_if_it_had_not_been(found):
    without = [run for run in found if not run.is_revoked]

    assert state(found).current_verdict == state(without).current_verdict
    assert state(found).later == state(without).later


@given(found=runs())
def test_a_revoked_run_is_not_a_refutation(found):
    revoked = [replace(run, is_revoked=True) for run in found]

    assert state(revoked).current_verdict is None


@given(found=runs())
def test_a_run_under_another_contract_is_history_and_nothing_else(found):
    of_other = {run.id for run in found if run.contract_id != PINNED}
    derived = state(found)

    assert {run.id for run in derived.history} == of_other
    shown = [derived.latest_run, derived.current_verdict, *derived.later]
    assert not of_other & {run.id for run in shown if run is not None}


@given(found=runs())
def test_a_withdrawn_submission_is_ineligible_and_has_no_verdict(found):
    derived = state(found, is_withdrawn=True)

    assert not derived.is_eligible
    assert derived.current_verdict is None
    assert derived.history == state(found).history
    assert derived.latest_run == state(found).latest_run


@given(found=runs())
def test_every_later_run_is_newer_than_the_verdict_and_has_none(found):
    derived = state(found)

    for run in derived.later:
        assert run.result in {Result.INCONCLUSIVE, Result.ERROR}
        assert not run.is_revoked
        assert derived.current_verdict is None or run.created_at >= derived.current_verdict.created_at


@given(found=runs())
def test_own_work_is_marked_for_good(found):
    assert state(found).own_work == any(run.own_work for run in found)


def test_no_runs_derive_an_eligible_submission_without_a_verdict():
    assert state([]) == DerivedState(
        is_eligible=True, latest_run=None, current_verdict=None, later=(), history=(), own_work=False
    )


def test_a_revision_without_a_contract_has_no_verdict():
    derived = derive([a_run(1)], pinned_contract_id=None, is_withdrawn=False)

    assert derived.current_verdict is None
    assert derived.history == (a_run(1),)


def test_a_run_in_progress_is_the_latest_and_leaves_the_verdict():
    done, running = a_run(1), a_run(2, None)

    derived = state([running, done])

    assert (derived.latest_run, derived.current_verdict, derived.later) == (running, done, ())


def test_verified_with_a_later_error_shows_both():
    done, failed = a_run(1), a_run(2, Result.ERROR)

    derived = state([done, failed])

    assert (derived.current_verdict, derived.later) == (done, (failed,))


def test_an_error_before_the_verdict_is_not_shown_beneath_it():
    failed, done = a_run(1, Result.ERROR), a_run(2, Result.REFUTED)

    assert state([done, failed]).later == ()


def test_the_newest_by_creation_counts_even_if_it_finished_first():
    slow = a_run(1, Result.VERIFIED, finished_at=START + timedelta(hours=2))
    quick = a_run(2, Result.REFUTED)

    assert state([slow, quick]).current_verdict == quick


def test_of_two_runs_of_one_moment_the_id_decides():
    one, other = a_run(1, id="vrn_a"), a_run(1, Result.REFUTED, id="vrn_b")

    assert state([other, one]).current_verdict == other
