"""Which run a live world is in: a page that shows another one has to begin anew, a page of the same must not."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest

from tickmind.viewer import NoSuchWindowError
from tickmind.viewer.frames import FrameKind, Tag, unpack
from tickmind.viewer.sources.live import LiveSource
from tickmind.wire import Backoff, MessageError, UnreachableError

pytestmark = pytest.mark.asyncio


@dataclass
class Worlds:
    """A world at one address that is gone and there again: takes the place of a client."""

    life: Any = None
    run_id: str = ""
    coming: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)  # events, and None at the end
    asked: asyncio.Event = field(default_factory=asyncio.Event)  # set once the stream of ticks is asked for
    opening: asyncio.Event = field(default_factory=asyncio.Event)  # the stream opens when this is set
    listens: bool = False

    async def world(self):
        if self.life is None:
            raise UnreachableError("nobody is there")
        return self.life.info

    async def snapshot(self, _world):
        return replace(self.life.snapshot(), run_id=self.run_id)

    def __post_init__(self):
        self.opening.set()

    async def viewer_events(self, _world, retry, on_open):
        assert retry is None
        coming = self.coming
        self.asked.set()
        await self.opening.wait()
        self.listens = True
        on_open()
        while (event := await coming.get()) is not None:
            yield event

    def begin(self, life, run_id):
        self.life, self.run_id = life, run_id

    def step(self, ticks):
        for _ in range(ticks):
            event = self.life.step()[1]
            if self.listens:
                self.coming.put_nowait(event)

    def end(self):
        self.coming.put_nowait(None)
        self.life, self.coming, self.listens = None, asyncio.Queue(), False


@pytest.fixture
def until():
    """Wait until something is so."""

    async def wait(is_so):
        async with asyncio.timeout(60):
            while not is_so():  # noqa: ASYNC110  # what is waited for has no event
                await asyncio.sleep(0.002)

    return wait


def live(worlds):
    return LiveSource(worlds, retry=Backoff(first_s=0.002, longest_s=0.002))


def named_by_hello(source):
    (frame,) = unpack(source.hello())
    return orjson.loads(frame.sections[Tag.INFO])["run_id"]


async def run_of(worlds, source, until, life, run_id, ticks):
    """Let a world run and end; tells the span by then."""
    worlds.begin(life, run_id)
    await until(lambda: source.span().connected)
    worlds.step(ticks)
    await until(lambda: source.span().last_tick_id == life.snapshot().tick_id)
    span = source.span()
    assert named_by_hello(source) == span.run_id
    worlds.end()
    await until(lambda: not source.span().connected)
    return span


async def test_before_a_world_has_answered_no_run_is_named():
    async with live(Worlds()) as source:
        assert source.span().run_id == ""
        with pytest.raises(NoSuchWindowError):
            source.hello()


async def test_another_run_is_named_even_if_it_has_more_ticks_by_then(lively, until):
    worlds = Worlds()
    async with live(worlds) as source:
        first = await run_of(worlds, source, until, lively(), "monday", 5)
        other = lively()
        for _ in range(20):
            other.step()
        second = await run_of(worlds, source, until, other, "tuesday", 5)
        assert (first.run_id, first.first_tick_id, first.last_tick_id) == ("monday", 1, 5)
        assert (second.run_id, second.first_tick_id, second.last_tick_id) == ("tuesday", 21, 25)
        with pytest.raises(NoSuchWindowError):
            await source.window(1, 5)


async def test_a_run_that_goes_on_keeps_its_name_and_all_that_was_seen(lively, until):
    worlds, life = Worlds(), lively()
    async with live(worlds) as source:
        before = await run_of(worlds, source, until, life, "monday", 5)
        after = await run_of(worlds, source, until, life, "monday", 5)
        assert (before.run_id, after.run_id) == ("monday", "monday")
        assert (after.first_tick_id, after.last_tick_id) == (1, 10)
        frames = unpack(await source.window(1, 10))
        assert [one.tick_id for one in frames if one.kind is FrameKind.TICK] == list(range(1, 11))


async def test_a_tick_before_a_busy_world_opens_the_stream_is_in_the_snapshot(lively, until):
    worlds, life = Worlds(), lively()
    worlds.opening.clear()
    async with live(worlds) as source:
        worlds.begin(life, "monday")
        await worlds.asked.wait()
        for _ in range(10):
            await asyncio.sleep(0)  # time enough to take the snapshot too early
        worlds.step(3)
        worlds.opening.set()
        await until(lambda: source.span().connected)
        assert source.span().last_tick_id == 3


@pytest.mark.parametrize("run_id", ["", "always the same"])
async def test_a_world_that_begins_anew_is_another_run_whatever_it_says(lively, until, run_id):
    worlds = Worlds()
    async with live(worlds) as source:
        spans = [await run_of(worlds, source, until, lively(), run_id, ticks) for ticks in (9, 5, 2)]
        assert len({span.run_id for span in spans}) == 3
        assert all(span.run_id for span in spans)
        assert [span.last_tick_id for span in spans] == [9, 5, 2]


async def test_a_world_that_can_not_be_shown_is_told_from_one_that_is_not_there(lively, until):
    class Odd(Worlds):
        async def world(self):
            raise MessageError("floors", "set")

    async with live(Odd()) as source:
        await until(lambda: source.refused == "floors must be set; it may be of another version")
    worlds = Worlds()
    async with live(worlds) as source:
        source.refused = "floors must be set"
        worlds.begin(lively(), "monday")
        await until(lambda: source.span().connected)
        assert source.refused == ""


async def test_each_run_is_drawn_with_the_picture_of_its_own_map(lively, until):
    worlds: Any = Worlds()
    pictures = {"monday": {"columns": 1}}
    retry = Backoff(first_s=0.002, longest_s=0.002)
    async with LiveSource(worlds, retry=retry, tile_art_of=pictures.get) as source:
        shown = []
        for run_id in ("monday", "tuesday"):
            await run_of(worlds, source, until, lively(), run_id, 1)
            (frame,) = unpack(source.hello())
            shown.append(orjson.loads(frame.sections[Tag.INFO]).get("tiles"))
    assert shown == [{"columns": 1}, None]


async def test_ticks_that_passed_between_snapshot_and_events_are_made_up_by_another_snapshot(lively, until):
    worlds, life = Worlds(), lively()
    async with live(worlds) as source:
        worlds.begin(life, "monday")
        await until(lambda: source.span().connected)
        life.step()
        life.step()
        worlds.step(2)
        await until(lambda: source.span().last_tick_id == 4)
