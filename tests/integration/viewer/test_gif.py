"""Some ticks as an animation, drawn by the page in a browser of its own."""

import asyncio
import io
from pathlib import Path

import pytest

from tickmind.base import LimitExceededError
from tickmind.viewer import BrowserError, NoSuchWindowError
from tickmind.viewer.export.browser import browsing as browser_with
from tickmind.viewer.export.browser import find_chromium

Image = pytest.importorskip("PIL.Image", reason="animations need Pillow")

from tickmind.viewer.export.gif import MAX_GIF_TICKS, GifLook, gif_of  # noqa: E402  # it needs Pillow

pytestmark = pytest.mark.slow


@pytest.mark.realtime
@pytest.mark.asyncio(loop_scope="session")
async def test_an_animation_shows_people_on_their_way(morning, chromium):
    with morning.open() as reader:
        look = GifLook(width=240, height=160, tick_ms=200, steps=2, follow="entity:1")
        data = await gif_of(reader, Path(chromium), 2, 5, look)
        with pytest.raises(NoSuchWindowError, match="no actor 'mallory'"):
            await gif_of(reader, Path(chromium), 2, 5, GifLook(follow="mallory"))
        with pytest.raises(LimitExceededError, match="width or height of an animation"):
            await gif_of(reader, Path(chromium), 2, 5, GifLook(width=100_000))
    with Image.open(io.BytesIO(data), formats=["GIF"]) as moving:
        assert moving.size == (240, 160)
        assert 2 <= moving.n_frames <= 7  # pictures that are the same are one
        assert len(moving.convert("RGB").getcolors(100_000)) > 20  # a map, not an empty page
    assert MAX_GIF_TICKS.maximum == 300


def test_without_a_browser_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrowserError, match=r"none is installed here.*--export writes a page instead"):
        find_chromium()


@pytest.mark.asyncio
async def test_a_program_that_is_no_browser_is_told_and_not_waited_for():
    with pytest.raises(BrowserError, match="ended at its start"):
        async with asyncio.timeout(120), browser_with(Path("/bin/true"), "about:blank", width=10, height=10):
            pass
