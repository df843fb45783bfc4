from dataclasses import dataclass, field

import pytest

from tickmind.base import ConfigError, LimitExceededError
from tickmind.tick import BlueprintRegistry, Engine, SignalBus, World, make_signal_system


@dataclass
class Body:
    hp: int
    tags: list[str] = field(default_factory=list)


def test_signals_arrive_at_the_flush_in_the_order_of_publishing():
    bus, heard = SignalBus(), []
    bus.subscribe("hit", lambda name, data: heard.append((name, data)))
    bus.publish("hit", by=1)
    bus.publish("miss", by=2)
    bus.publish("hit", by=3)
    assert heard == []
    bus.flush()
    assert heard == [("hit", {"by": 1}), ("hit", {"by": 3})]


def test_a_signal_published_in_a_flush_waits_for_the_next():
    bus, heard = SignalBus(), []
    bus.subscribe("a", lambda *_: bus.publish("b"))
    bus.subscribe("b", lambda *_: heard.append("b"))
    bus.publish("a")
    bus.flush()
    assert heard == []
    bus.flush()
    assert heard == ["b"]


def test_a_failing_handler_keeps_nobody_else_from_hearing():
    bus, heard = SignalBus(), []

    def broken(_name, _data):
        raise ValueError("deaf")

    bus.subscribe("a", broken)
    bus.subscribe("a", lambda *_: heard.append(1))
    bus.publish("a")
    bus.publish("a")
    with pytest.raises(ExceptionGroup, match="signal handlers raised") as caught:
        bus.flush()
    assert len(caught.value.exceptions) == 2
    assert heard == [1, 1]
    assert bus.statistics().queued == 0


def test_the_queue_has_a_limit_that_is_named():
    bus = SignalBus(max_queued=2)
    bus.publish("a")
    bus.publish("a")
    with pytest.raises(LimitExceededError, match="signals waiting"):
        bus.publish("a")
    bus.clear()
    bus.publish("a")
    assert bus.statistics().published == 3


def test_unsubscribing_ends_it_and_the_signal_system_flushes():
    bus, heard = SignalBus(), []

    def handler(name, _data):
        heard.append(name)

    bus.subscribe("a", handler)
    engine = Engine()
    engine.add_system(make_signal_system(bus))
    bus.publish("a")
    engine.step()
    bus.unsubscribe("a", handler)
    bus.unsubscribe("never", handler)
    bus.publish("a")
    engine.step()
    assert heard == ["a"]


def recipes():
    registry = BlueprintRegistry()
    registry.define("wolf", {"Body": {"hp": 10, "tags": ["wild"]}}, meta={"cost": 3})
    world = World()
    world.register_component(Body)
    return registry, world


def test_entities_of_one_blueprint_share_nothing():
    registry, world = recipes()
    first, second = registry.spawn(world, "wolf"), registry.spawn(world, "wolf", {"Body": {"hp": 99}})
    world.get(first, Body).tags.append("tame")
    assert world.get(second, Body) == Body(99, ["wild"])
    assert registry.meta("wolf") == {"cost": 3}


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("bear", None, "no blueprint 'bear' is defined; known: wolf"),
        ("wolf", {"Wings": {}}, "'Wings', which is not registered"),
        ("wolf", {"Body": {"mana": 1}}, "Body does not take these fields"),
    ],
)
def test_a_wrong_blueprint_says_what_is_wrong_and_spawns_nothing(name, overrides, message):
    registry, world = recipes()
    with pytest.raises(ConfigError, match=message):
        registry.spawn(world, name, overrides)
    assert world.entities() == frozenset()


def test_a_removed_blueprint_is_gone():
    registry, _ = recipes()
    registry.recipes()["wolf"]["Body"]["hp"] = 0
    assert registry.recipes()["wolf"]["Body"]["hp"] == 10
    registry.remove("wolf")
    assert not registry.has("wolf")
