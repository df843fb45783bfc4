"""The inside of characters in a real browser: of a world that is a process, live and from its record."""

import asyncio
import json
import signal

import pytest
from playwright.async_api import expect
from tests.integration.browser import at_tick, go_to
from tests.kits.lived_runs import record_villagers

from tickmind.agent import Assignment, Launch
from tickmind.cli.minds.asking import WholeMinds
from tickmind.record import RunStore
from tickmind.viewer.frames import FrameKind, unpack
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.wire import WorldClient

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

MIND = """
import json, sys
from pathlib import Path
from tickmind.agent import Character, action, condition
from tickmind.ai import Action, Condition, Selector, Sequence

TEXTS = json.loads(Path(__file__).with_name("texts.json").read_text())


class Odd(Character):
    tree = Selector(
        *(Sequence(Condition("never"), label=text) for text in TEXTS),
        Sequence(Condition("hungry", {"above": 0}), Action("note")),
        Action("wait"),
        memory=False,
    )

    @condition
    def never(self) -> bool:
        return False

    @action
    def note(self):
        for text in TEXTS:
            self.memory.note(1, f"It is said: {text}")
            self.blackboard.set(text, {"text": text})
        self.blackboard.set("__proto__", {"polluted": True})
        self.blackboard.set("tick", self.tick)
        return self.wait()


Odd.run()
"""
SCENARIO = """
world: odd
rules:
  tick_duration_ms: 200
  intent_deadline_ms: 100
  needs: {{hunger_per_tick: 5, energy_per_tick: 3}}
floors: {{grass: {{}}}}
items: {{berries: {{}}}}
map: |
  ................
  ................
  ................
legend: {{".": grass}}
ground: [{{item: berries, amount: 4, at: [3, 2]}}]
actors: {actors}
"""


@pytest.fixture
def odd_world(tmp_path, hostile, world_process, processes):
    """A world whose names, and an agent whose thoughts, want to be script: `process, address, names = await odd()`."""
    names = [text[:100] for text in hostile if text[:100].isprintable()]

    async def begin():
        actors = [{"id": name, "at": [2 * (place % 8), place // 8]} for place, name in enumerate(names)]
        scenario = tmp_path / "odd.yaml"
        scenario.write_text(SCENARIO.format(actors=json.dumps(actors, ensure_ascii=False)), encoding="utf-8")
        (tmp_path / "texts.json").write_text(json.dumps(hostile))
        (tmp_path / "mind.py").write_text(MIND)
        world = (scenario, "--port", 0, "--runs", tmp_path / "runs", "--run-id", "odd")
        process, address = await world_process(*world)
        launch = Launch(
            tuple(Assignment(name, "host") for name in names[:2]),
            world_addr=address,
            state_dir=tmp_path / "state",
            config_path=tmp_path / "launch.json",
        )
        launch.write_file()
        agent = processes(tmp_path / "mind.py", **launch.to_environment())
        return process, agent, address, names

    return begin


def replaying(runs, run_id):
    return ReplaySource(lambda: RunStore(runs).open(run_id), whole_minds=WholeMinds(runs, run_id))


async def inspected(page, source, name, tick):
    """Choose a character, open all of its tree, and read what the inspector says of its inside."""
    panel = page.get_by_role("tabpanel")
    await page.evaluate("name => tickmindViewer.app.select(tickmindViewer.app.world.rowOf.get(name))", name)
    await expect(panel.get_by_role("heading", level=2)).to_have_text(name)
    whole = panel.get_by_role("button", name="Whole tree")
    if await whole.get_attribute("aria-pressed") == "false":
        await whole.click()
    row = await page.evaluate("name => tickmindViewer.app.world.rowOf.get(name)", name)
    boards = [dict(insight["board"]) for insight in (await source.mind(row, tick))["insights"]]
    newest = [board["tick"] for board in boards if "tick" in board][-1]
    await expect(panel.locator(".board tr", has_text="tick").last).to_contain_text(newest)
    gauges = panel.get_by_role("meter")
    return {
        "tree": await panel.locator(".tree").text_content(),
        "outcomes": [await one.get_attribute("aria-label") for one in await panel.locator(".tree .outcome").all()],
        "board": await panel.locator(".board").text_content(),
        "memories": await panel.locator(".memories").text_content(),
        "needs": [await one.get_attribute("aria-valuenow") for one in await gauges.all()],
    }


async def test_minds_names_and_needs_are_shown_live_and_replayed_alike_and_stay_text(
    odd_world, viewing, browsing, until, hostile, keep, tmp_path
):
    process, agent, address, names = await odd_world()
    async with browsing() as browser:
        async with WorldClient(address) as client, viewing(client) as (server, source):
            page = await browser.show(server.url, height=900)
            await until(lambda: source.span().last_tick_id >= 12)
            for name in names[:2]:
                row = await page.evaluate("name => tickmindViewer.app.world.rowOf.get(name)", name)
                async with asyncio.timeout(120):
                    while not any(one["whole"] for one in (await source.mind(row, 10**9))["insights"]):
                        assert agent.poll() is None, agent.stderr.read()
                        await asyncio.sleep(0.1)
            tick = source.span().last_tick_id
            await until(lambda: source.span().last_tick_id >= tick + 3)
            await go_to(page, tick)
            live = {name: await inspected(page, source, name, tick) for name in names[:2]}
            await keep(page, "mind-live")
            for found in live.values():
                for text in hostile:
                    assert text in found["tree"].replace("…", text[199:]) or text[:150] in found["tree"]
                    assert text in found["board"] or json.dumps(text, ensure_ascii=False)[1:-1] in found["board"]
                    assert " ".join(text.split())[:80] in found["memories"]  # an entry is cut
                assert {"failed", "succeeded", "did not run"} == set(found["outcomes"])
                assert found["needs"] != ["1000", "0"]
            await page.evaluate("tickmindViewer.app.tab.value = 'charts'")
            await expect(page.get_by_text("Needs, the mean of all")).to_be_visible()
            await page.evaluate("tickmindViewer.app.tab.value = 'log'")
            await browser.unharmed(page)
            assert await page.evaluate("({}).polluted") is None
            await page.close()
            process.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(process.wait, 120) == 0
        async with (
            replaying(tmp_path / "runs", "odd") as source,
            ViewerServer(source, ViewerConfig(port=0)) as server,
        ):
            first = next(unpack(await source.window(1, 4)))
            assert first.kind is FrameKind.KEYFRAME
            page = await browser.show(f"{server.url}#tick={tick}", height=900)
            await at_tick(page, tick)
            assert {name: await inspected(page, source, name, tick) for name in names[:2]} == live
            await keep(page, "mind-replay")
            await go_to(page, 1)
            assert await page.evaluate("[...tickmindViewer.app.film.scene.ground]") == [["3,2,0", 4]]
            await browser.unharmed(page)
            await page.get_by_role("button", name="Live it again up to tick 1").click()
            refusal = page.get_by_role("alert")  # its agent was started by hand
            await expect(refusal).to_contain_text("keeps no mapping of its agents")


async def test_a_whole_mind_is_lived_again_in_a_recorded_run_and_not_offered_live(browsing, keep, morning, tmp_path):
    record_villagers(tmp_path, "lived", ticks=90)  # long enough to meet and remember
    async with (
        browsing() as browser,
        replaying(tmp_path, "lived") as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=88", height=900)
        await at_tick(page, 88)
        await page.evaluate("tickmindViewer.app.select(2)")
        again = page.get_by_role("button", name="Live it again")
        await again.click()
        whole = page.locator(".whole-mind")
        await expect(whole).to_contain_text("88 of 88 intents and")
        remembered = (await source.whole_mind(2, 88))["memories"]
        shown = await whole.locator(".memories .said").all_text_contents()
        assert shown == [memory["text"] for memory in reversed(remembered)] != []
        await expect(again).to_have_count(0)  # this tick is shown
        await keep(page, "mind-whole")
        await go_to(page, 89)
        await expect(again).to_have_text("Live it again up to tick 89")
        page = await browser.show(morning.url)
        await page.evaluate("tickmindViewer.app.select(0)")
        await expect(page.get_by_role("heading", name="Does at tick")).to_be_visible()
        await expect(page.get_by_role("heading", name="Whole mind")).to_have_count(0)
