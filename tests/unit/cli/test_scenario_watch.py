"""A scenario under development: which versions of its files begin a new run."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tickmind.cli.ensemble.ensemble import Ensemble, _exchange
from tickmind.cli.ensemble.parts import PartError
from tickmind.cli.ensemble.run_plan import RunPlan, RunPlanner
from tickmind.cli.ensemble.scenario_watch import ScenarioWatch

SCENARIO = """\
world: nook
floors: {grass: {}}
map: |
  1..
legend:
  ".": grass
  "1": {floor: grass, actor: {id: ada}}
persona_files: [people.yaml]
agents: {idler: {cmd: [python, -c, pass]}}
assignments: [{match: {}, use: idler}]
"""
ENOUGH_S = 60


class Desk:
    """A developer who saves files, and a watch over them."""

    def __init__(self, folder):
        self.folder = folder
        self.save("nook.yaml", SCENARIO)
        self.save("people.yaml", "ada: {name: Ada}\n")
        self.said = []
        self._spoken = asyncio.Event()
        self.planned = []
        self.on_plan = lambda: None
        scenario = folder / "nook.yaml"
        self.planner = RunPlanner(scenario, scenario, ["--runs", "runs"])
        self.first = self.planner.plan()
        self.watch = ScenarioWatch(scenario, self._plan, self.first, self._say, look_s=0)

    def save(self, name, text):
        (self.folder / name).write_text(text)

    def _plan(self, running):
        plan = self.planner.plan(running)
        self.planned.append(plan)
        self.on_plan()
        return plan

    def _say(self, text):
        self.said.append(text)
        self._spoken.set()

    async def next_run(self, *, running=True):
        async with asyncio.timeout(ENOUGH_S):
            return await self.watch.next_run(running=running)

    async def until_said(self, *, running=True):
        """Watch until a line is said instead of a run planned; return it."""
        self._spoken.clear()
        watching = asyncio.create_task(self.next_run(running=running))
        async with asyncio.timeout(ENOUGH_S):
            await self._spoken.wait()
        assert not watching.done()
        watching.cancel()
        return self.said.pop()


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.mark.asyncio
async def test_a_saved_scenario_is_the_next_run(desk):
    desk.save("nook.yaml", SCENARIO.replace("1..", "1..."))
    plan = await desk.next_run()
    assert plan.world[0] == str(desk.folder / "nook.yaml")
    assert plan.world[plan.world.index("--run-id") + 1] == plan.run_id
    assert plan.resume[:2] == ["--resume", plan.run_id]
    assert desk.said == [f"nook.yaml was saved: run {desk.first.run_id} ends, run {plan.run_id} begins."]


@pytest.mark.asyncio
async def test_a_file_that_the_scenario_names_counts_and_an_unchanged_one_does_not(desk):
    desk.save("nook.yaml", SCENARIO)
    desk.save("people.yaml", "ada: {name: Bea}\n")
    plan = await desk.next_run()
    assert desk.said == [f"people.yaml was saved: run {desk.first.run_id} ends, run {plan.run_id} begins."]
    assert desk.planned == [plan]


@pytest.mark.parametrize(
    "text",
    [
        SCENARIO.replace("idler", "sleeper"),
        f"# a remark\n{SCENARIO}",
        SCENARIO.replace("-c, pass]", "-c, pass], settings: {pace: 2}"),
    ],
)
@pytest.mark.asyncio
async def test_a_version_with_other_agents_only_goes_on_with_the_run_in_place(desk, text):
    desk.save("nook.yaml", text)
    plan = await desk.next_run()
    assert (plan.in_place, plan.run_id) == (True, desk.first.run_id)
    assert desk.planner.run_ids == [desk.first.run_id]
    assert desk.said == [f"nook.yaml was saved: the world is as before, so run {plan.run_id} goes on."]
    desk.save("people.yaml", "ada: {name: Bea}\n")
    plan = await desk.next_run()
    assert (plan.in_place, plan.run_id) == (False, desk.planner.run_ids[1])


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("people.yaml]", "people.yaml]\nseed: 5"),
        ("people.yaml]", "people.yaml]\nzones: {home: {within: [0, 0, 1, 0]}}"),
        ("people.yaml]", "people.yaml]\ncalendar: {day_ticks: 480}"),
        ("people.yaml]", "people.yaml]\ngoals: {late: {day: 2, ends: true}}"),
        ("grass: {}", "grass: {step_ticks: 2}"),
    ],
)
@pytest.mark.asyncio
async def test_a_version_that_minds_or_rules_could_notice_is_a_new_run(desk, was, becomes):
    desk.save("nook.yaml", SCENARIO.replace(was, becomes))
    assert not (await desk.next_run()).in_place


@pytest.mark.asyncio
async def test_the_version_of_a_run_that_did_not_start_is_a_new_run(desk):
    desk.save("nook.yaml", f"# a remark\n{SCENARIO}")
    plan = await desk.next_run(running=False)
    assert not plan.in_place
    assert plan.run_id != desk.first.run_id


@pytest.mark.asyncio
async def test_all_problems_are_named_and_the_version_that_runs_begins_no_run(desk):
    desk.save("nook.yaml", SCENARIO.replace('".": grass', '".": gras').replace("use: idler", "use: ider"))
    said = await desk.until_said()
    assert "gras" in said
    assert "ider" in said
    assert f"Run {desk.first.run_id} goes on as it is" in said
    desk.save("nook.yaml", SCENARIO)
    desk.save("people.yaml", "ada: {nam: Ada}\n")
    assert "people.yaml:1" in await desk.until_said()
    desk.save("people.yaml", "ada: {name: Ada, age: 30}\n")
    plan = await desk.next_run()
    assert desk.planned == [plan]
    assert desk.said == [f"people.yaml was saved: run {desk.first.run_id} ends, run {plan.run_id} begins."]


@pytest.mark.parametrize("broken", ["", ": : :", None])
@pytest.mark.asyncio
async def test_a_scenario_that_can_not_be_read_is_a_problem(desk, broken):
    if broken is None:
        (desk.folder / "nook.yaml").unlink()
    else:
        desk.save("nook.yaml", broken)
    assert "nook.yaml" in await desk.until_said()
    assert desk.planned == []


@pytest.mark.asyncio
async def test_a_version_that_is_still_being_written_is_not_looked_into(desk, monkeypatch):
    scenario = desk.folder / "nook.yaml"
    looks = iter([{scenario: b"half"}, {scenario: b"whole"}, {scenario: b"whole"}, {scenario: b"whole"}])
    monkeypatch.setattr(desk.watch, "_contents", lambda: next(looks))
    plan = await desk.next_run()
    assert desk.planned == [plan]
    assert next(looks, None) is None


@pytest.mark.asyncio
async def test_a_version_that_changes_while_it_is_checked_is_checked_again(desk):
    desk.save("people.yaml", "ada: {name: Bea}\n")

    def save_again():
        desk.on_plan = lambda: None
        desk.save("people.yaml", "ada: {name: Cora}\n")

    desk.on_plan = save_again
    plan = await desk.next_run()
    assert desk.planned[1:] == [plan]
    assert len(desk.said) == 1


@pytest.mark.asyncio
async def test_after_a_run_that_did_not_start_its_version_is_run_when_it_is_saved_again(desk):
    desk.save("nook.yaml", SCENARIO.replace("world", "word"))
    assert "goes on" not in await desk.until_said(running=False)
    desk.save("nook.yaml", SCENARIO)
    plan = await desk.next_run(running=False)
    assert desk.said == [f"nook.yaml was saved: run {plan.run_id} begins."]


class World:
    """A part that comes up, or does not; it stands for a `KeptPart`."""

    def __init__(self, problem=""):
        self.part = self
        self.stopped = False
        self._problem = problem

    async def stop(self):
        self.stopped = True

    async def address(self):
        if self._problem:
            raise PartError(self._problem)
        return "127.0.0.1:7"


@pytest.mark.asyncio
async def test_a_world_that_does_not_start_is_given_up_for_the_next_saved_version():
    mappings: list[Any] = ["mapping-2", "mapping-3"]
    plans = [
        RunPlan(f"run-{n}", [f"begin-{n}"], [f"resume-{n}"], file) for n, file in zip((2, 3), mappings, strict=True)
    ]
    coming: list[Any] = [World("the world did not start"), World()]
    old: Any = World()
    started: list[Any] = []
    said: list[str] = []

    async def next_run(*, running):
        assert not running
        return plans[1]

    def start_world(arguments, resume):
        assert old.stopped
        started.append((arguments, resume))
        return coming[len(started) - 1]

    status: Any = SimpleNamespace(say=said.append)
    ensemble = Ensemble(["begin-1"], next_run=next_run)
    world, file = await _exchange(ensemble, old, "127.0.0.1:7", plans[0], start_world, status)
    assert [world, file] == [coming[1], mappings[1]]
    assert started == [
        (["begin-2", "--port", "7"], ["resume-2"]),
        (["begin-3", "--port", "7"], ["resume-3"]),
    ]
    assert said == ["the world did not start. Change the scenario and save it to go on, or end all with Ctrl-C."]


def test_a_file_of_replies_is_for_one_run(tickmind):
    done = tickmind("up", "escape", "--reload", "--replies", "record", "calls.jsonl")
    assert done.exit_code == 1
    assert "--reload begins new ones" in done.stderr
    assert not Path("calls.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "nook.tmx",
            '<map>\n<tileset firstgid="1" source="sets/desert.tsx"/><tileset firstgid="9" name="own"/>\n</map>',
        ),
        ("nook.tmj", '{"type": "map", "tilesets": [{"firstgid": 1, "source": "sets/desert.tsx"}, {"firstgid": 9}]}'),
    ],
)
def test_the_tilesets_of_a_tiled_map_are_watched(desk, name, text):
    (desk.folder / "sets").mkdir()
    tileset = desk.folder / "sets" / "desert.tsx"
    desk.save("nook.yaml", f"world: nook\nmap: {{tiled: {name}}}\n")
    desk.save(name, text)
    before = desk.watch._contents()
    assert set(before) == {desk.folder / "nook.yaml", desk.folder / name, tileset}
    assert before[tileset] == b""  # it is not there yet
    tileset.write_text("<tileset/>")
    after = desk.watch._contents()
    assert after[tileset] != b""
    desk.save(name, text.replace("desert", "forest"))
    assert desk.folder / "sets" / "forest.tsx" in desk.watch._contents()


@pytest.mark.parametrize("source", ["../desert.tsx", "/etc/passwd", ""])
def test_no_tileset_outside_of_the_folder_is_watched(desk, source):
    desk.save("nook.yaml", "world: nook\nmap: {tiled: nook.tmx}\n")
    desk.save("nook.tmx", f'<map><tileset source="{source}"/><tileset source="in.tsx"/></map>')
    assert set(desk.watch._contents()) == {desk.folder / name for name in ("nook.yaml", "nook.tmx", "in.tsx")}
    desk.save("nook.tmx", "<map")
    assert set(desk.watch._contents()) == {desk.folder / name for name in ("nook.yaml", "nook.tmx")}
