"""Recorded runs of villagers with thoughts, whose minds can be lived again."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.unit.agent.test_lockstep_minds import SlowModel

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.characters.villager import Villager
from tickmind.cli.world.run import WorldRuns
from tickmind.protocol import ActorStatus, RunInfo, Say, ThoughtReport
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import OwnRule, TileWorld

SCENARIO = (Path(__file__).parents[2] / "scenarios" / "clearing.yaml").read_text()
AGENTS = """
agents: {villager: {cmd: [python, -m, tickmind.characters.villager], settings: {food: [berries]}, per_process: 1}}
assignments: [{match: {}, use: villager}]
"""
TICKS = 30


def record_villagers(
    folder: Path,
    run_id: str,
    agents: str | None = AGENTS,
    *,
    ticks: int = TICKS,
    idle: int = 0,
    scenario: str = SCENARIO,
    played: Collection[int] = (),
    own_rules: Mapping[str, OwnRule] | None = None,
) -> None:
    """Record a run of villagers in lockstep, with their mapping beside it; in its last ticks no agent acts.

    In some ticks a person plays the first of them, and speaks.
    """
    run = WorldRuns(folder).begin(scenario, "clearing", run_id, seed=3, agents=agents)
    run.state_pace(lockstep=True, tps=1)
    world = TileWorld.from_scenario(run.scenario, own_rules)
    names = [actor.entity_id for actor in world.info.actors]
    host = CharacterHost(Villager, lambda name: Start(name, Settings({"food": ["berries"]})), client=SlowModel())
    host.enter(RunInfo(run_id, run.scenario.mind_seed))
    guarded = GuardedHost(host)
    for _ in range(ticks):
        rows = np.flatnonzero(world.present).tolist()
        seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(rows)]
        intents = play_turn(guarded, PastTurn(world.tick_id, seen))
        for name, thought in host.take_thoughts():
            run.log.thought(ThoughtReport(name, world.tick_id, thought))
        for insight in host.take_insights():
            run.log.insight(insight)
        is_played = world.tick_id in played
        chosen = {row: intents[names[row]] for row in rows} | ({0: Say("Good day!")} if is_played else {})
        record = world.step(chosen)
        if is_played:
            bits = record.actor_state.status_bits.copy()
            bits[0] |= ActorStatus.PLAYED
            record = replace(record, actor_state=replace(record.actor_state, status_bits=bits))
        run.log.publish(record)
    for _ in range(idle):
        run.log.publish(world.step({}))
    host.close()
    run.finish()
