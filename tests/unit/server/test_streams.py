"""What waits for readers is little, and readers that stall are cut off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.streams import LOOK_S, StreamKind, Streams
from tickmind.server.limits import MAX, ServerLimits


def test_what_was_put_comes_in_order_and_before_the_newest():
    outbox: Outbox[str] = Outbox(10)
    outbox.replace(["old"])
    outbox.put("first")
    outbox.put("second")
    outbox.replace(["newest 1", "newest 2"])
    outbox.end("last")
    assert [outbox.take() for _ in range(4)] == ["first", "second", "last", None]
    assert outbox.replaced == 1


def test_the_newest_replaces_what_nobody_took():
    outbox: Outbox[int] = Outbox(10)
    for tick in range(5):
        outbox.replace([tick])
    assert (outbox.take(), outbox.take(), outbox.replaced) == (4, None, 4)


def test_a_full_outbox_takes_nothing_more():
    outbox: Outbox[int] = Outbox(2)
    assert [outbox.put(number) for number in range(3)] == [True, True, False]


def test_nothing_follows_the_end():
    outbox: Outbox[str] = Outbox(2)
    outbox.end("bye")
    outbox.end("again")
    assert not outbox.put("more")
    outbox.replace(["more"])
    assert (outbox.take(), outbox.take()) == ("bye", None)


@given(st.lists(st.sampled_from(["put", "replace", "take"]), max_size=60))
def test_an_outbox_never_holds_more_than_its_capacity_and_the_newest(steps):
    outbox: Outbox[str] = Outbox(3)
    for step in steps:
        if step == "take":
            outbox.take()
        elif step == "put":
            outbox.put("item")
        else:
            outbox.replace(["a", "b"])
        assert len(outbox) <= 5


def streams_with(**limits):
    return Streams(ServerLimits(**limits))


def look(streams, times):
    for _ in range(times):
        streams.cut_stalled()


def test_a_reader_that_does_not_take_a_message_in_time_is_cut_off():
    streams = streams_with()
    patience = round(MAX.stall_s.maximum / LOOK_S)
    cut = []
    stalled, quick, idle = (streams.open(StreamKind.VIEWER, "here", Outbox(8)) for _ in range(3))
    stalled.on_cut = lambda: cut.append(stalled)
    stalled.begin_write(100)
    for _ in range(patience):
        quick.begin_write(100)
        streams.cut_stalled()
        quick.end_write()
    assert cut == []
    look(streams, 2)
    assert cut == [stalled]
    assert stalled.cut_off
    assert stalled.outbox.ended
    assert not quick.cut_off
    assert not idle.cut_off
    assert (streams.cut, streams.unread_bytes, len(streams)) == (1, 100, 3)
    streams.close(stalled)
    assert (streams.unread_bytes, len(streams)) == (0, 2)


@pytest.mark.parametrize("stall_s", [0.01, MAX.stall_s.maximum])
def test_a_server_that_stood_still_cuts_nobody_off_before_it_sees_who_has_read(stall_s):
    streams = streams_with(stall_s=MAX.stall_s.at(stall_s))
    reader = streams.open(StreamKind.CONTROL, "here", Outbox(8))
    for _ in range(100):
        reader.begin_write(100)
        streams.cut_stalled()  # on waking, before anything else
        assert not reader.cut_off
        reader.end_write()


def test_streams_are_limited_in_all_by_host_and_by_kind():
    streams = streams_with(streams=MAX.streams.at(3), peer_streams=MAX.peer_streams.at(2), viewers=MAX.viewers.at(1))
    first = streams.open(StreamKind.VIEWER, "a", Outbox(1))
    assert "viewers" in streams.why_not(StreamKind.VIEWER, "b")
    streams.open(StreamKind.TICKS, "a", Outbox(1))
    assert "one host" in streams.why_not(StreamKind.TICKS, "a")
    assert streams.why_not(StreamKind.TICKS, "b") == ""
    streams.open(StreamKind.TICKS, "b", Outbox(1))
    assert "open streams" in streams.why_not(StreamKind.TICKS, "c")
    streams.close(first)
    streams.close(first)
    assert streams.why_not(StreamKind.VIEWER, "a") == ""
    assert streams.refused == 3


def test_no_more_is_shown_while_too_much_lies_unread_but_agents_go_on():
    streams = streams_with(unread_bytes=MAX.unread_bytes.at(1000))
    hog = streams.open(StreamKind.VIEWER, "a", Outbox(1))
    hog.begin_write(1001)
    look(streams, 100)
    large = {StreamKind.VIEWER, StreamKind.WORLD}
    assert {kind for kind in StreamKind if "unread" in streams.why_not(kind, "b")} == large
    assert {kind for kind in StreamKind if not streams.why_not(kind, "b")} == set(StreamKind) - large
    streams.close(hog)
    assert {streams.why_not(kind, "b") for kind in StreamKind} == {""}
