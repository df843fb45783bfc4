"""Starts, restarts, backoff, fallback and liveness, on a clock that is only a number."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.runner import AgentSpec, LifeState, ProcessLifecycle, RestartPolicy, StateChangeError
from tickmind.runner.lifecycle import LEAST_MISSING_S

SPEC = AgentSpec("villager", ("true",), Path("/"), restart=RestartPolicy(3, (250, 500, 1000)))


def crash_loop(spec, *, run_s=0.0, most=100):
    """Start and crash until it is given up; the times of the starts."""
    life, now_s = ProcessLifecycle(spec), 100.0
    starts: list[float] = []
    while life.state not in (LifeState.FAILED, LifeState.FALLBACK) and len(starts) < most:
        now_s = max(now_s, life.due_s() or now_s)
        assert life.may_start(now_s)
        life.started(now_s)
        starts.append(now_s)
        life.seen(now_s)
        now_s += run_s
        life.ended(now_s, "it exited with 1")
    return life, starts


@pytest.mark.parametrize("restarts", [0, 1, 3, 10])
def test_a_crash_loop_ends_after_exactly_the_configured_restarts(restarts):
    life, starts = crash_loop(replace(SPEC, restart=RestartPolicy(restarts, (250,))))
    assert life.state is LifeState.FAILED
    assert (life.restarts, len(starts)) == (restarts, restarts + 1)
    assert life.trouble == "it exited with 1"


def test_with_a_fallback_a_crash_loop_ends_in_it():
    life, _ = crash_loop(replace(SPEC, fallback="walker"))
    assert life.state is LifeState.FALLBACK
    assert life.restarts == 3


def test_backoff_is_exact_and_its_last_step_stays():
    _, starts = crash_loop(replace(SPEC, restart=RestartPolicy(5, (250, 500, 1000))))
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert gaps == [0.25, 0.5, 1.0, 1.0, 1.0]


def test_it_is_not_started_a_moment_before_its_backoff_is_over():
    life = ProcessLifecycle(SPEC)
    life.started(0.0)
    life.ended(1.0, "")
    assert life.state is LifeState.BACKING_OFF
    assert not life.may_start(1.2499)
    assert life.may_start(1.25)
    assert life.due_s() == 1.25


def test_a_good_run_begins_the_backoff_anew():
    life = ProcessLifecycle(replace(SPEC, restart=RestartPolicy(10, (250, 500, 1000))))
    for run_s, wait_s in ((0.1, 0.25), (0.1, 0.5), (1.0, 0.25), (0.1, 0.5)):
        life.started(0.0)
        life.seen(0.0)
        life.ended(run_s, "")
        assert life.due_s() == pytest.approx(run_s + wait_s)


def test_restarts_older_than_ten_minutes_do_not_count():
    life, starts = crash_loop(replace(SPEC, restart=RestartPolicy(3, (1000,))), run_s=300.0, most=50)
    assert life.state is LifeState.BACKING_OFF
    assert len(starts) == 50


def test_the_fourth_restart_within_ten_minutes_is_too_many_and_one_later_is_not():
    for last_s, state in ((599.9, LifeState.FAILED), (600.0, LifeState.BACKING_OFF)):
        life = ProcessLifecycle(replace(SPEC, restart=RestartPolicy(1, (0,))))
        life.started(0.0)
        life.ended(0.0, "")
        life.started(0.0)
        assert life.ended(last_s, "") is state


def test_a_start_without_a_sign_of_life_is_over_when_its_time_is():
    life = ProcessLifecycle(replace(SPEC, start_timeout_ms=5000))
    life.started(10.0)
    assert life.due_s() == 15.0
    assert life.verdict(14.99) == ""
    assert "no sign of life within 5,000 ms" in life.verdict(15.0)


def test_silence_is_death():
    life = ProcessLifecycle(replace(SPEC, heartbeat_timeout_ms=2000))
    life.started(0.0)
    life.seen(1.0)
    assert life.state is LifeState.RUNNING
    assert life.verdict(2.99) == ""
    assert "no heartbeat and no intent for 2.0 s" in life.verdict(3.0)
    life.seen(3.0)
    assert life.verdict(4.9) == ""


def test_intents_are_signs_of_life_of_an_agent_without_a_pipe():
    life = ProcessLifecycle(replace(SPEC, start_timeout_ms=5000, heartbeat_timeout_ms=2000))
    life.started(10.0)
    life.acted(11.0, 12.0)
    assert life.state is LifeState.RUNNING
    for now_s in range(13, 100):
        assert life.verdict(now_s) == ""
        life.acted(now_s - 1.0, float(now_s))
    assert "no heartbeat and no intent for 2.0 s" in life.verdict(101.0)


def test_an_intent_in_a_tick_that_opened_before_the_start_is_of_another_process():
    life = ProcessLifecycle(replace(SPEC, start_timeout_ms=5000))
    life.started(10.0)
    life.acted(9.9, 10.5)
    assert life.state is LifeState.STARTING
    assert life.due_s() == 15.0


def test_slow_ticks_make_slow_heartbeats():
    life = ProcessLifecycle(replace(SPEC, heartbeat_timeout_ms=2000))
    life.started(0.0)
    life.seen(0.0)
    assert life.verdict(29.9, tick_s=10.0) == ""
    assert life.verdict(30.0, tick_s=10.0) != ""


def test_nobody_is_blamed_for_the_silence_of_the_world():
    life = ProcessLifecycle(replace(SPEC, heartbeat_timeout_ms=2000))
    life.started(0.0)
    life.seen(0.0)
    life.excuse(100.0)
    assert life.verdict(101.9) == ""


def test_missed_intents_are_death_however_much_it_beats():
    life = ProcessLifecycle(replace(SPEC, missed_intents=4))
    life.started(0.0)
    life.seen(0.0)
    life.missed(3, 0.0)
    assert life.verdict(9.0) == ""
    life.missed(4, 9.0)
    assert life.verdict(9.0) == "it missed 4 intents in a row"


def test_quick_ticks_that_are_missed_in_a_moment_are_no_death():
    life = ProcessLifecycle(replace(SPEC, missed_intents=4))
    life.started(0.0)
    life.seen(0.0)
    life.missed(100, 1.0)
    assert life.verdict(1.0 + LEAST_MISSING_S - 0.1) == ""
    life.missed(0, 5.0)
    life.missed(1, 6.0)
    assert life.verdict(7.0) == ""


def test_what_is_zero_is_not_watched():
    life = ProcessLifecycle(replace(SPEC, missed_intents=0, heartbeat_timeout_ms=0))
    life.started(0.0)
    life.seen(0.0)
    life.missed(1000, 0.0)
    assert life.verdict(1e9) == ""
    assert life.due_s() is None


def test_a_stopped_one_is_not_started_again():
    life = ProcessLifecycle(SPEC)
    life.started(0.0)
    assert life.stop()
    assert life.stop()
    assert life.ended(1.0, "") is LifeState.STOPPED
    assert not life.may_start(1e9)
    assert not life.stop()


@pytest.mark.parametrize("wrong", [lambda life: life.started(0.0), lambda life: life.ended(0.0, "")])
def test_what_can_not_follow_is_refused(wrong):
    life = ProcessLifecycle(SPEC)
    life.stop()
    with pytest.raises(StateChangeError, match="stopped can't become"):
        wrong(life)


@given(
    st.lists(st.tuples(st.sampled_from(["wait", "seen", "end"]), st.floats(0.0, 400.0)), max_size=60),
    st.integers(0, 4),
    st.booleans(),
)
def test_whatever_happens_it_keeps_its_promises(steps, restarts, fallback):
    spec = replace(SPEC, restart=RestartPolicy(restarts, (250, 4000)), fallback="other" if fallback else "")
    life, now_s, times = ProcessLifecycle(spec), 0.0, []
    for what, seconds in steps:
        now_s += seconds
        if life.may_start(now_s):
            if life.state is LifeState.BACKING_OFF:
                times.append(now_s)
            life.started(now_s)
        elif what == "seen" and life.state in (LifeState.STARTING, LifeState.RUNNING):
            life.seen(now_s)
        elif what == "end" and life.state in (LifeState.STARTING, LifeState.RUNNING):
            life.ended(now_s, "")
    assert life.restarts == len(times)
    for place, time_s in enumerate(times):
        assert sum(time_s <= other < time_s + 600.0 for other in times[place:]) <= restarts
    assert life.state is not (LifeState.FAILED if fallback else LifeState.FALLBACK)
