"""A parser that fails changes nothing, whatever lies on the Blackboard, and none writes what it did not declare."""

import asyncio
import json
import threading
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError, LimitExceededError
from tickmind.strategy import LLMManager
from tickmind.strategy.replies.drafts import MAX_OBJECTS, Draft, copied
from tickmind.strategy.replies.parsers import Declared, parse_into
from tickmind.tick import World

PLAIN = Declared()
Pair = namedtuple("Pair", "left right")


class Thing:
    def __init__(self, value=1):
        self.value = value
        self.parts = ["a"]


class Slotted:
    __slots__ = ("__own", "value")

    def __init__(self):
        self.value = ["a"]
        self.__own = ["b"]

    def own(self):
        return self.__own


@dataclass(eq=False)
class ById:
    parts: list[str]


class Names(list[str]):
    owner = "nobody"


def board():
    return Blackboard(
        {
            "seen": defaultdict(list, {"wolf": [1]}),
            "count": Counter(a=1),
            "order": OrderedDict(a=[1]),
            "thing": Thing(),
            "slotted": Slotted(),
            "by_id": ById(["a"]),
            "names": Names(["a"]),
            "pair": Pair([1], 2),
            "user": UserDict(a=[1]),
            "grid": np.zeros(3),
            "bytes": bytearray(b"abc"),
            "nested": {"list": [Thing()]},
        }
    )


CHANGES = {
    "seen": lambda data: data["seen"]["wolf"].append(2),
    "new in seen": lambda data: data["seen"]["deer"],
    "count": lambda data: data["count"].update(b=1),
    "order": lambda data: data["order"]["a"].append(2),
    "thing": lambda data: setattr(data["thing"], "value", 2),
    "thing's parts": lambda data: data["thing"].parts.append("b"),
    "slotted": lambda data: data["slotted"].value.append("b"),
    "slotted's own": lambda data: data["slotted"].own().append("c"),
    "by_id": lambda data: data["by_id"].parts.append("b"),
    "names": lambda data: data["names"].append("b"),
    "pair": lambda data: data["pair"].left.append(2),
    "user": lambda data: data["user"]["a"].append(2),
    "grid": lambda data: data["grid"].__setitem__(0, 5),
    "bytes": lambda data: data["bytes"].extend(b"d"),
    "nested": lambda data: data["nested"]["list"][0].parts.append("b"),
}


def image(data):
    return {key: _image(value) for key, value in data.items()}


def _image(value):
    if isinstance(value, Slotted):
        return [*value.value, *value.own()]
    if isinstance(value, Thing | ById | UserDict):
        return {name: _image(item) for name, item in vars(value).items()}
    if isinstance(value, dict):
        return {key: _image(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_image(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_failing_parser_changes_nothing_through_any_object(change):
    b = board()
    before = image(b.data)

    def half(_text, draft):
        change(draft.data)
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        parse_into("{}", b, half, PLAIN)
    assert image(b.data) == before


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_keys_can_not_be_bypassed_through_any_object(change):
    b = board()
    before, values = image(b.data), dict(b.data)
    assert parse_into("{}", b, lambda _text, draft: change(draft.data), Declared(frozenset({"goal"}))) == {}
    assert image(b.data) == before
    assert all(b.data[key] is value for key, value in values.items())


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_parser_changes_in_an_object_is_taken_over_and_all_else_stays_the_very_same(name):
    b = board()
    before, values = image(b.data), dict(b.data)
    changed = parse_into("{}", b, lambda _text, draft: CHANGES[name](draft.data), PLAIN)
    key = next(key for key in values if key in name)
    assert changed.keys() == {key}
    assert image(b.data)[key] != before[key]
    assert all(b.data[other] is value for other, value in values.items() if other != key)


def test_objects_that_did_not_change_stay_themselves_inside_of_what_did():
    thing, other = Thing(), Thing()
    thing.friend, other.friend = other, thing  # type: ignore[attr-defined]  # two that know each other
    b = Blackboard({"plan": {"target": thing, "goal": "rest", "path": (other, [thing])}})

    def parser(_text, draft):
        draft.data["plan"] = {**draft.data["plan"], "goal": "hunt"}

    parse_into("{}", b, parser, PLAIN)
    plan = b.data["plan"]
    assert plan["goal"] == "hunt"
    assert plan["target"] is plan["path"][1][0] is thing
    assert plan["path"][0] is other


def test_what_can_not_be_copied_and_parts_of_tickmind_are_shared():
    lock, world = threading.Lock(), World()
    thing = Thing()
    thing.value = [lock, world]
    made = copied({"thing": thing, "queue": deque([thing], 3)})
    assert made["thing"] is not thing
    assert made["thing"].value == [lock, world]
    assert made["queue"][0] is made["thing"]
    assert made["queue"].maxlen == 3


def test_a_board_with_more_objects_than_the_limit_is_refused():
    b = Blackboard({"all": [Thing() for _ in range(int(MAX_OBJECTS.maximum) + 1)]})
    with pytest.raises(LimitExceededError, match="number of objects"):
        Draft(b)


def test_keys_that_are_one_text_are_refused():
    with pytest.raises(ConfigError, match=r"keys=\['mood'\]"):
        LLMManager().define_role("wolf", "x", keys="mood")


# A snapshot in the middle of a reply


SCHEMA = {"type": "object", "properties": {"goal": {"type": "string"}, "plan": {"type": "string"}}}


class Streaming:
    """Tells of a field and then waits for good."""

    def __init__(self):
        self.heard = threading.Event()

    async def answer(self, question):
        question.on_field("goal", "hunt")
        self.heard.set()
        await asyncio.Event().wait()


@pytest.fixture
def streaming(stage):
    client = Streaming()
    s = stage(client, stream_fields=True)
    s.manager.define_role("wolf", "You are a wolf.", schema=SCHEMA)
    s.eid = s.spawn(query_interval=1000, last_query_tick=-999)
    s.data(s.eid).update(goal="rest", hp=3)
    s.tick()
    assert client.heard.wait(60)
    s.tick()
    assert s.data(s.eid)["goal"] == "hunt"
    return s


@pytest.mark.parametrize("same_process", [True, False])
def test_a_snapshot_taken_during_a_streamed_reply_restores_what_was_there_before(streaming, stage, same_process):
    saved = json.loads(json.dumps(streaming.engine.snapshot()))
    other = streaming
    if not same_process:
        other = stage()
        other.world.register_component(type(streaming.agent(streaming.eid)))
        other.world.register_component(Blackboard)
    other.engine.restore(saved)
    other.tick()
    assert other.data(streaming.eid) == {"goal": "rest", "hp": 3}
    assert other.agent(streaming.eid).streamed == {}


def test_a_streamed_key_that_was_not_there_is_gone_after_a_restore(streaming):
    del streaming.data(streaming.eid)["goal"]
    streaming.agent(streaming.eid).streamed["goal"] = [[], ["hunt"]]
    streaming.data(streaming.eid)["goal"] = "hunt"
    streaming.engine.restore(streaming.engine.snapshot())
    streaming.tick()
    assert streaming.data(streaming.eid) == {"hp": 3}


def test_what_was_changed_after_a_streamed_field_stays_after_a_restore(streaming):
    streaming.data(streaming.eid)["goal"] = "flee"
    streaming.engine.restore(streaming.engine.snapshot())
    streaming.tick()
    assert streaming.data(streaming.eid)["goal"] == "flee"


def test_a_damaged_note_of_streamed_fields_is_forgotten(streaming):
    saved = streaming.engine.snapshot()
    table = saved["world"]["components"]["LLMAgent"]
    table["rows"][0][table["fields"].index("streamed")] = {"goal": 5}
    streaming.engine.restore(saved)
    streaming.tick()
    assert streaming.agent(streaming.eid).streamed == {}
