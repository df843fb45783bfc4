"""The frames of a clip: enough of them to show any of its ticks, however many there are."""

import base64
import gzip
import re

import pytest

from tickmind.protocol import Direction, Move, Say
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.server.testing import meadow
from tickmind.viewer.export.clip import clip_of
from tickmind.viewer.frames import FrameKind, unpack
from tickmind.viewer.page import PageFile
from tickmind.world import TileWorld

ACTORS = 4
WINDOW = 8  # instead of some hundred ticks, so that it takes no time
TICKS = 3 * WINDOW + 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that is longer than three windows; call it to open it."""
    store = RunStore(tmp_path_factory.mktemp("runs"))
    world = TileWorld.from_scenario(meadow(ACTORS))
    with store.create(world.info, "long", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for tick in range(TICKS):
            log.publish(world.step({0: Move(Direction(tick % 8)), 1: Say("I am here.")}))
    return lambda: store.open("long")


@pytest.fixture
def frames_of(run, monkeypatch):
    """What the page finds in a clip, without the page."""
    html = (
        b'<head><script type="module" src="./a.js"></script><link rel="stylesheet" href="./a.css"></head><body></body>'
    )
    page = {"/index.html": html, "/a.js": b"", "/a.css": b""}
    files = {path: PageFile(path, "", data) for path, data in page.items()}
    monkeypatch.setattr("tickmind.viewer.export.clip.page_files", lambda: files)
    monkeypatch.setattr("tickmind.viewer.export.clip.window_ticks", lambda _actors: WINDOW)

    def find(first=None, last=None):
        with run() as reader:
            data = clip_of(reader, first, last)
        found = re.search(rb'id="clip-frames">([^<]+)<', data)
        assert found is not None
        return list(unpack(gzip.decompress(base64.b64decode(found[1]))))

    return find


@pytest.mark.parametrize(("first", "last"), [(None, None), (3, TICKS - 2), (7, 9), (WINDOW, WINDOW + 1)])
def test_no_tick_of_a_clip_is_further_than_a_window_from_a_keyframe(frames_of, first, last):
    hello, *frames = frames_of(first, last)
    assert hello.kind is FrameKind.HELLO
    since, ticks = None, []
    for frame in frames:
        if frame.kind is FrameKind.KEYFRAME:
            since = frame.tick_id
        elif frame.kind is FrameKind.TICK:
            assert since is not None
            assert since < frame.tick_id <= since + WINDOW
            ticks.append(frame.tick_id)
    assert ticks == list(range(first or 1, (last or TICKS) + 1))


def test_a_reader_that_begins_anew_at_each_keyframe_sees_the_same_as_one_that_goes_on(frames_of, reader):
    _hello, *frames = frames_of()
    seen: dict[int, object] = {}
    for frame in frames:
        if frame.kind is FrameKind.NOTES:
            continue
        reader.take(frame)
        now = (reader.x.tolist(), reader.y.tolist(), reader.facing.tolist(), reader.status.tolist())
        assert seen.setdefault(frame.tick_id, now) == now
    assert sorted(seen) == list(range(TICKS + 1))
