"""A stream that several read: all get the same, however slow they are and whenever they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.reply_sharing.broadcast import Broadcast


class Ear:
    def __init__(self):
        self.heard = b""
        self.ended = self.lost = False

    def take(self, data):
        assert not self.ended
        self.heard += data

    def finish(self):
        self.ended = True

    def cut_off(self):
        self.lost = self.ended = True


@pytest.fixture
def source():
    def make(most_bytes=1000):
        calls: list[str] = []
        made = Broadcast(most_bytes, lambda: calls.append("stop"), lambda: calls.append("go"))
        return made, calls

    return make


STEPS = st.lists(st.tuples(st.sampled_from(["add", "hold", "go", "join"]), st.integers(0, 3)), max_size=40)


@given(STEPS)
def test_every_reader_gets_all_of_it_in_order(steps):
    source = Broadcast(10_000, lambda: None, lambda: None)
    ears = [Ear() for _ in range(4)]
    joined = set()
    said = b""
    for number, (step, who) in enumerate(steps):
        if step == "add":
            said += b"%d;" % number
            source.add(b"%d;" % number)
        elif step == "join" and who not in joined:
            joined.add(who)
            source.join(ears[who])
        elif who in joined:
            source.hold(ears[who]) if step == "hold" else source.go_on(ears[who])
    source.end()
    for who in joined:
        source.go_on(ears[who])
        assert (ears[who].heard, ears[who].ended, ears[who].lost) == (said, True, False)
    assert source.body == said


def test_the_source_stops_while_all_are_held_and_only_then(source):
    made, calls = source()
    one, two = Ear(), Ear()
    made.join(one)
    made.join(two)
    made.hold(one)
    assert calls == []
    made.hold(two)
    made.go_on(one)
    assert calls == ["stop", "go"]
    made.leave(one)
    assert calls == ["stop", "go", "stop"], "the only one that is left is held"
    made.leave(two)
    assert calls == ["stop", "go", "stop", "go"]


def test_who_is_too_far_behind_is_cut_off_and_the_others_go_on(source):
    made, _ = source(most_bytes=10)
    slow, quick = Ear(), Ear()
    made.join(slow)
    made.join(quick)
    made.hold(slow)
    for _ in range(5):
        made.add(b"12345")
    assert (slow.lost, slow.heard) == (True, b"")
    made.end()
    assert (quick.heard, quick.ended) == (b"12345" * 5, True)
    assert not made.is_open
    assert made.body is None
