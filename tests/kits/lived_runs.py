"""Recorded runs of villagers with thoughts, whose minds can be lived again."""

from dataclasses import replace
from pathlib import Path

from tests.unit.agent.test_lockstep_minds import SlowModel

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.mistakes import Mistakes
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.characters.villager import Villager
from tickmind.cli.world.run import WorldRuns
from tickmind.protocol import RunInfo, ThoughtReport
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld

SCENARIO = (Path(__file__).parents[2] / "scenarios" / "clearing.yaml").read_text()
AGENTS = """
agents: {villager: {cmd: [python, -m, tickmind.characters.villager], settings: {food: [berries]}, per_process: 1}}
assignments: [{match: {}, use: villager}]
"""
TICKS = 30


def record_villagers(folder: Path, run_id: str, agents: str | None = AGENTS) -> None:
    """Record a run of villagers in lockstep, with their mapping beside it if there is one."""
    run = WorldRuns(folder).begin(SCENARIO, "clearing", run_id, seed=3, agents=agents)
    world = TileWorld.from_scenario(run.scenario)
    names = [actor.entity_id for actor in world.info.actors]
    host = CharacterHost(Villager, lambda name: Start(name, Settings({"food": ["berries"]})), client=SlowModel())
    host.enter(RunInfo(run_id, run.scenario.mind_seed))
    for _ in range(TICKS):
        rows = range(len(names))
        seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(rows)]
        intents = play_turn(host, PastTurn(world.tick_id, seen), Mistakes())
        host.reflect(world.tick_id)
        for name, thought in host.take_thoughts():
            run.log.thought(ThoughtReport(name, world.tick_id, thought))
        run.log.publish(world.step({row: intents[name] for row, name in enumerate(names)}))
    host.close()
    run.finish()
