"""The story of a run in the viewer: sentences from the record, each of which leads to its tick."""

import pytest
from playwright.async_api import expect
from tests.integration.browser import at_tick

from tickmind.base import LimitExceededError
from tickmind.protocol import Say
from tickmind.record import RunStore
from tickmind.viewer.errors import NoStoryError
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.live import LiveSource
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.viewer.sources.story import MAX_ACTORS, RecordedStory
from tickmind.world import TileWorld, parse_scenario

HAMLET = """
world: hamlet
floors: {grass: {}}
calendar: {day_ticks: 480, begins: "06:00"}
zones: {square: {within: [0, 0, 3, 0]}}
personas:
  ada: {name: "<b>Ada</b>"}
  bram: {name: Bram}
map: |
  12..
legend:
  ".": grass
  "1": {floor: grass, actor: {id: ada}}
  "2": {floor: grass, actor: {id: bram}}
"""
TALK = {3: ("ada", "Good day, Bram!"), 4: ("bram", "Good day, Ada!"), 5: ("ada", "Have you heard: the mill burns.")}


@pytest.fixture
def hamlet(tmp_path):
    """A recorded run in which two meet and talk."""
    world = TileWorld.from_scenario(parse_scenario(HAMLET))
    ids = [actor.entity_id for actor in world.info.actors]
    with RunStore(tmp_path).create(world.info, "hamlet") as log:
        for tick in range(1, 9):
            intents = {ids.index(TALK[tick][0]): Say(TALK[tick][1])} if tick in TALK else {}
            log.publish(world.step(intents))
    return lambda: RunStore(tmp_path).open("hamlet")


@pytest.mark.asyncio
async def test_a_run_that_has_not_grown_is_read_once_and_a_crowd_not_at_all(hamlet):
    opened = []

    def open_run():
        opened.append(hamlet())
        return opened[-1]

    story = RecordedStory(open_run)
    first = await story.up_to(8, 2)
    assert await story.up_to(8, 2) is first
    assert len(opened) == 1
    await story.up_to(9, 2)
    assert len(opened) == 2
    with pytest.raises(LimitExceededError, match="story"):
        await story.up_to(9, int(MAX_ACTORS.maximum) + 1)
    assert len(opened) == 2


@pytest.mark.asyncio
async def test_a_live_world_has_no_story():
    with pytest.raises(NoStoryError, match="tickmind replay"):
        await LiveSource.story(object.__new__(LiveSource))


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.asyncio(loop_scope="session")
async def test_a_sentence_leads_to_its_tick_and_stays_text(hamlet, browsing, keep):
    async with (
        browsing() as browser,
        ReplaySource(hamlet) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=1&tab=story", height=900)
        told = (await source.story())["days"][0]["parts"][0]["sentences"]
        assert any("Ada" in one["text"] for one in told)
        panel = page.get_by_role("tabpanel")
        for one in told:
            await expect(panel).to_contain_text(one["text"])
        await keep(page, "story")
        last = told[-1]
        await panel.get_by_role("button", name=last["text"]).click()
        await at_tick(page, last["tick_id"])
        await browser.unharmed(page)
