"""Recorded runs of villagers with thoughts, whose minds can be lived again."""

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.unit.agent.test_lockstep_minds import SlowModel

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.process.turn_trace import TurnTrace
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.characters.villager import Villager
from tickmind.cli.world.run import WorldRuns
from tickmind.protocol import ActorStatus, AgentState, AgentStatus, RunInfo, Say, ThoughtReport
from tickmind.protocol.reports import TurnCode
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import OwnRule, TileWorld

SCENARIO = (Path(__file__).parents[2] / "scenarios" / "clearing.yaml").read_text()
AGENTS = """
agents: {villager: {cmd: [python, -m, tickmind.characters.villager], settings: {food: [berries]}, per_process: 1}}
assignments: [{match: {}, use: villager}]
"""
TICKS = 30
THOUGHT_TICKS = 4  # by the clock
MISSED = 6  # the tick


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
    lockstep: bool = True,
    begins_anew: int = 0,
) -> None:
    """Record a run of villagers in lockstep, with their mapping beside it; in its last ticks no agent acts.

    In some ticks a person plays the first of them, and speaks. By the clock, a thought takes several ticks, the second
    villager misses a turn, and the third only perceives in one; in the tick `begins_anew` it says that its process did.
    """
    run = WorldRuns(folder).begin(scenario, "clearing", run_id, seed=3, agents=agents)
    run.state_pace(lockstep=lockstep, tps=1)
    world = TileWorld.from_scenario(run.scenario, own_rules)
    names = [actor.entity_id for actor in world.info.actors]
    host = CharacterHost(Villager, lambda name: Start(name, Settings({"food": ["berries"]})), client=SlowModel())
    host.enter(RunInfo(run_id, run.scenario.mind_seed, 0 if lockstep else THOUGHT_TICKS))
    guarded = GuardedHost(host)
    traces = {name: TurnTrace() for name in names}
    for _ in range(ticks):
        tick_id = world.tick_id
        rows = [row for row in np.flatnonzero(world.present).tolist() if lockstep or (row, tick_id) != (1, MISSED)]
        deadline_ms = int(MAX_DURATION_MS.maximum) if lockstep else 500
        seen = [replace(one, deadline_ms=deadline_ms) for one in world.observe(rows)]
        only_perceives = {names[2]} if not lockstep and tick_id == MISSED + 1 else set()
        intents = play_turn(guarded, PastTurn(tick_id, seen, only_perceives))
        if not lockstep:
            time.sleep(0.005)  # for a model to answer; how many ticks that takes is no matter
            asked = host.take_questions()
            for row in rows:
                code = TurnCode.PERCEIVED if names[row] in only_perceives else TurnCode.ACTED
                traces[names[row]].note(tick_id, code)
            for name, asked_tick in asked:
                traces[name].question(asked_tick)
            if tick_id == begins_anew:
                traces[names[2]] = TurnTrace()
                traces[names[2]].note(tick_id, TurnCode.ACTED)
            for row in rows:
                turns = traces[names[row]].take()
                run.log.status(AgentStatus(names[row], tick_id, AgentState.RUNNING, turns=turns))
        for name, thought in host.take_thoughts():
            run.log.thought(ThoughtReport(name, world.tick_id, thought))
        for insight in host.take_insights():
            run.log.insight(insight)
        is_played = world.tick_id in played
        chosen = {row: intents[names[row]] for row in rows if names[row] in intents}
        chosen |= {0: Say("Good day!")} if is_played else {}
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
