import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.ai import (
    AIError,
    AIManager,
    Consideration,
    UnknownNameError,
    UtilityAgent,
    curves,
    make_utility_system,
)
from tickmind.base import ConfigError
from tickmind.tick import Engine, World

inputs = st.floats(-10, 10)
exponents = st.floats(0.01, 100)
rising = (
    st.builds(curves.linear, st.floats(0, 1000), st.floats(-10, 10))
    | st.builds(curves.power, exponents)
    | st.builds(curves.logistic, st.floats(0, 1e6), st.floats(-10, 10))
    | st.builds(curves.step, st.floats(-1, 2))
)
falling = (
    st.builds(curves.linear, st.floats(-1000, 0), st.floats(-10, 10))
    | st.builds(curves.inverse, exponents)
    | st.builds(curves.logistic, st.floats(-1e6, 0), st.floats(-10, 10))
)

# Curves


@given(rising | falling, inputs)
def test_a_curve_stays_between_0_and_1(curve, x):
    assert 0.0 <= curve(x) <= 1.0


@given(rising, st.lists(inputs, min_size=2, max_size=6).map(sorted))
def test_a_rising_curve_never_falls(curve, xs):
    assert all(a <= b for a, b in pairwise(map(curve, xs)))


@given(falling, st.lists(inputs, min_size=2, max_size=6).map(sorted))
def test_a_falling_curve_never_rises(curve, xs):
    assert all(a >= b for a, b in pairwise(map(curve, xs)))


@given(rising | falling, st.floats(-10, 0), st.floats(1, 10))
def test_a_curve_takes_what_is_outside_for_the_nearest_end(curve, low, high):
    assert curve(low) == curve(0.0)
    assert curve(high) == curve(1.0)


def test_the_curves_go_through_their_points():
    assert curves.linear()(0.3) == 0.3
    assert curves.linear(-1, 1)(0.25) == 0.75
    assert curves.power()(0.5) == 0.25
    assert curves.inverse()(0.25) == 0.75
    assert curves.logistic()(0.5) == 0.5
    assert (curves.step(0.5)(0.49), curves.step(0.5)(0.5)) == (0.0, 1.0)


def test_a_steep_logistic_curve_does_not_overflow():
    assert 0.0 < curves.logistic(10_000)(0.0) < 1e-300
    assert curves.logistic(10_000)(1.0) == 1.0


@pytest.mark.parametrize("make", [curves.power, curves.inverse])
@pytest.mark.parametrize("exponent", [0.0, -1.0, math.nan])
def test_an_exponent_that_would_leave_the_range_is_refused_at_once(make, exponent):
    with pytest.raises(ConfigError, match="exponent of a curve must be more than 0"):
        make(exponent)


# Scores


def manager_of(**values):
    """A manager whose considerations have these values, as constants."""
    manager = AIManager()
    for name, value in values.items():
        manager.register_consideration(name, lambda _world, _eid, value=value: value)
    return manager


def score_of(considerations, *, weight=1.0, **values):
    manager = manager_of(**values)
    manager.define_utility_action("act", considerations, weight=weight)
    return manager.score_action("act", World(), 1)


def test_a_single_consideration_is_the_score():
    assert score_of(["a"], a=0.6) == 0.6


def test_many_good_reasons_do_not_lose_against_a_single_middling_one():
    many = score_of("abcde", a=0.9, b=0.9, c=0.9, d=0.9, e=0.9)
    assert many == pytest.approx((0.9 + 0.1 * 0.8 * 0.9) ** 5)
    assert many > score_of(["a"], a=0.6) > 0.9**5


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=5), st.floats(0, 5))
def test_a_score_lies_between_the_product_and_the_weight(values, weight):
    named = {f"c{place}": value for place, value in enumerate(values)}
    score = score_of(list(named), weight=weight, **named)
    product = math.prod(min(1.0, max(0.0, value)) for value in values)
    assert weight * product <= score + 1e-12
    assert score <= weight + 1e-12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.data())
def test_more_of_a_reason_never_lowers_the_score(values, data):
    place = data.draw(st.integers(0, len(values) - 1))
    better = [*values]
    better[place] = data.draw(st.floats(values[place], 1))
    names = [f"c{n}" for n in range(len(values))]
    less = score_of(names, **dict(zip(names, values, strict=True)))
    assert score_of(names, **dict(zip(names, better, strict=True))) >= less - 1e-12


def test_the_first_consideration_that_says_0_ends_the_asking():
    values = {"a": 0.5, "b": 0.0, "c": 1.0}
    asked = []
    manager = AIManager()

    def asking(name):
        def ask(_world, _eid):
            asked.append(name)
            return values[name]

        return ask

    for name in values:
        manager.register_consideration(name, asking(name))
    manager.define_utility_action("act", ["a", "b", "c"])
    assert manager.score_action("act", World(), 1) == 0.0
    assert asked == ["a", "b"]


def test_nothing_speaks_for_an_action_without_considerations():
    assert score_of([]) == 0.0


def test_weights_multiply():
    assert score_of(["a"], a=0.5, weight=3.0) == 1.5
    assert score_of(["a"], a=0.5, weight=0.0) == 0.0


def test_the_same_consideration_counts_differently_through_curves():
    manager = manager_of(hunger=0.2)
    manager.define_utility_action("eat", ["hunger"])
    manager.define_utility_action("play", [Consideration("hunger", curves.inverse())])
    world = World()
    assert manager.score_action("eat", world, 1) == 0.2
    assert manager.score_action("play", world, 1) == 0.8


def test_a_curve_of_ones_own_is_kept_within_the_range():
    assert score_of([Consideration("a", lambda x: x + 7)], a=0.5) == 1.0
    assert score_of([Consideration("a", lambda x: x - 7)], a=0.5) == 0.0


@pytest.mark.parametrize(
    "consideration", ["a", Consideration("a", curves.linear()), Consideration("b", lambda _x: math.nan)]
)
def test_not_a_number_is_an_error_that_names_the_consideration(consideration):
    name = consideration if isinstance(consideration, str) else consideration.name
    with pytest.raises(AIError, match=f"consideration '{name}' returned NaN for entity 1"):
        score_of([consideration], a=math.nan, b=0.5)


def test_infinite_values_are_the_ends_of_the_range():
    assert score_of(["a"], a=math.inf) == 1.0
    assert score_of(["a"], a=-math.inf) == 0.0


# Selectors


def chooser(**scores):
    manager = manager_of(**scores)
    for name in scores:
        manager.define_utility_action(name, [name])
    manager.define_utility_selector("mind", list(scores))
    return manager


def test_the_highest_score_is_selected():
    assert chooser(eat=0.2, flee=0.9, rest=0.5).select_action("mind", World(), 1) == ("flee", 0.9)


def test_ties_go_to_the_first():
    manager = chooser(eat=0.5, flee=0.5)
    assert manager.select_action("mind", World(), 1) == ("eat", 0.5)
    manager.define_utility_selector("mind", ["flee", "eat"])
    assert manager.select_action("mind", World(), 1) == ("flee", 0.5)


def test_nothing_is_selected_if_nothing_speaks_for_anything():
    assert chooser(eat=0.0, flee=0.0).select_action("mind", World(), 1) == ("", 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_selected_action_is_the_first_of_the_best(values):
    scores = {f"act{place}": value for place, value in enumerate(values)}
    choice, score = chooser(**scores).select_action("mind", World(), 1)
    assert score == max(values)
    assert choice == (f"act{values.index(max(values))}" if max(values) > 0 else "")


def test_definitions_can_be_replaced_while_running():
    manager = chooser(eat=0.5, flee=0.4)
    world = World()
    assert manager.select_action("mind", world, 1) == ("eat", 0.5)
    manager.register_consideration("flee", lambda _world, _eid: 0.9)
    assert manager.select_action("mind", world, 1) == ("flee", 0.9)
    manager.define_utility_action("eat", ["eat"], weight=2)
    assert manager.select_action("mind", world, 1) == ("eat", 1.0)


def test_unknown_names_are_errors_with_the_nearest():
    manager = chooser(eat=0.5)
    with pytest.raises(UnknownNameError, match="no utility selector 'mnd'; did you mean mind"):
        manager.select_action("mnd", World(), 1)
    with pytest.raises(UnknownNameError, match="no utility action 'eta'; did you mean eat"):
        manager.score_action("eta", World(), 1)
    manager.define_utility_selector("other", ["eet"])
    with pytest.raises(UnknownNameError, match=r"utility action \(in selector 'other'\) 'eet'; did you mean eat"):
        manager.check()
    manager.define_utility_selector("other", ["eat"])
    manager.define_utility_action("rest", ["tired"])
    with pytest.raises(UnknownNameError, match="no consideration 'tired'; known: eat"):
        manager.check()


def test_what_is_registered_can_be_asked_for():
    manager = AIManager()

    @manager.register_consideration("hunger")
    def hunger(_world, _eid):
        return 0.5

    assert manager.consideration("hunger") is hunger
    assert manager.consideration("thirst") is None
    manager.define_utility_selector("mind", iter(["eat", "rest"]))
    assert manager.utility_selector("mind") == ("eat", "rest")
    assert manager.utility_selector("soul") is None


# The system


def test_the_system_keeps_each_agents_choice_and_reports_it():
    hunger = {1: 0.9, 2: 0.1}
    manager = AIManager()
    manager.register_consideration("hunger", lambda _world, eid: hunger[eid])
    manager.define_utility_action("eat", ["hunger"])
    manager.define_utility_action("play", [Consideration("hunger", curves.inverse())])
    manager.define_utility_selector("animal", ["eat", "play"])
    told = []
    engine = Engine(seed=1)
    engine.add_system(
        make_utility_system(manager, on_select=lambda _world, ctx, *rest: told.append((ctx.tick_number, *rest)))
    )
    for _ in hunger:
        engine.world.spawn(UtilityAgent("animal"))
    engine.step()
    assert told == [(1, 1, "eat", 0.9), (1, 2, "play", 0.9)]
    hunger[1] = 0.0
    engine.step()
    assert told[2:] == [(2, 1, "play", 1.0), (2, 2, "play", 0.9)]
    assert engine.world.get(1, UtilityAgent) == UtilityAgent("animal", "play", 1.0)


def test_an_agent_for_whom_nothing_speaks_selects_nothing_and_is_not_reported():
    told = []
    engine = Engine(seed=1)
    engine.add_system(make_utility_system(chooser(eat=0.0), on_select=lambda *call: told.append(call)))
    eid = engine.world.spawn(UtilityAgent("mind", "eat", 0.7))
    engine.step()
    assert told == []
    assert engine.world.get(eid, UtilityAgent) == UtilityAgent("mind", "", 0.0)


def test_an_action_may_despawn_the_one_who_does_it():
    engine = Engine(seed=1)
    engine.add_system(
        make_utility_system(chooser(leave=1.0), on_select=lambda world, _ctx, eid, *_: world.despawn(eid))
    )
    for _ in range(3):
        engine.world.spawn(UtilityAgent("mind"))
    engine.step()
    assert engine.world.entities() == frozenset()


def test_a_selector_that_nobody_defined_is_reported_with_its_name():
    manager, errors = AIManager(), []
    manager.on_error(lambda *error: errors.append(error))
    engine = Engine(seed=1)
    engine.add_system(make_utility_system(manager))
    eid = engine.world.spawn(UtilityAgent("mind"))
    engine.step()
    assert errors == [(eid, "missing_definition", "there is no utility selector 'mind'; known: none", 1)]
