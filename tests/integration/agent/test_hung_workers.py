"""An agent process whose model hangs for ever answers every tick all the same, and loses next to no time by it."""

import asyncio
import json
import os
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.agent import Assignment, Launch
from tickmind.protocol import ActionType

ROOT = Path(__file__).parents[3]
TICKS = short_or_long(200, 10_000)
ENTITIES = 3
MOST_WORK_S = 0.05  # of the whole process in a tick, at p99.9; measured 0.004 to 0.02
FIRST_TICKS = 20  # in which it gets going
THREADS, STUCK = 2, 4
LONGEST_S = 1800
pytestmark = [pytest.mark.asyncio, pytest.mark.slow, pytest.mark.timeout(LONGEST_S)]

# It moves by its tree in every tick. Every deliberation gets a thread of the pool that never comes back.
HUNG = f"""
import json, os, threading, time
from typing import ClassVar
from tickmind.agent import Character, action
from tickmind.agent.character.thinking import Thinking
from tickmind.ai import Action, Status
from tickmind.protocol import Direction, Say
from tickmind.strategy import LLMConfig

calls, work_s = [], {{}}

class Hanging:
    def query(self, system_prompt, user_message):
        calls.append(threading.get_ident())
        threading.Event().wait()

class Hung(Character):
    thinking: ClassVar = Thinking(
        "You think.", every_ticks=1, soonest_ticks=1,
        config=LLMConfig(
            max_queries_per_tick=10, max_queries_per_second=None, query_timeout=0.05,
            thread_pool_size={THREADS}, max_stuck_threads={STUCK},
        ),
    )
    tree: ClassVar = Action("speak")

    @action
    def speak(self):
        work_s.setdefault(self.tick, time.process_time())
        if self.tick % 50 == 0:
            with open(os.environ["FIGURES"] + ".new", "w") as file:
                json.dump({{"calls": len(calls), "threads": threading.active_count(), "work_s": work_s}}, file)
            os.replace(os.environ["FIGURES"] + ".new", os.environ["FIGURES"])
        return self.do(Say(f"tick {{self.tick}}"))

    def describe(self):
        return f"Tick {{self.tick}}."

    @classmethod
    def client(cls, stage):
        return Hanging()

Hung.run()
"""


async def test_hung_workers_cost_an_agent_process_no_tick(serve, warm, tmp_path):
    figures, program = tmp_path / "figures.json", tmp_path / "hung.py"
    program.write_text(HUNG)
    entity_ids = [f"entity:{number}" for number in range(1, ENTITIES + 1)]
    async with serve(lockstep=True, controllers=ENTITIES) as watched:
        entities = tuple(Assignment(one, "test:hung") for one in entity_ids)
        launch = Launch(entities, world_addr=watched.address, config_path=tmp_path / "launch.json")
        launch.write_file()
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            **launch.to_environment(),
            "FIGURES": str(figures),
        }
        process = warm.start([program], env=env, stderr=subprocess.PIPE)
        try:
            async with asyncio.timeout(LONGEST_S / 2):
                while len(watched.records) < TICKS + 50:
                    assert process.poll() is None, process.stderr.read()
                    await asyncio.sleep(0.02)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()
        found = json.loads(figures.read_text())
    for entity_id in entity_ids:
        done = [(one.action_type, one.ok) for one in watched.results(entity_id)][:TICKS]
        assert done == [(ActionType.SAY, True)] * TICKS
    assert found["calls"] == THREADS + STUCK  # all that may hang do
    assert found["threads"] < THREADS + STUCK + 20
    at_s = [found["work_s"][tick] for tick in sorted(found["work_s"], key=int)][FIRST_TICKS:]
    work_s = sorted(after - before for before, after in pairwise(at_s))
    assert len(work_s) >= TICKS - FIRST_TICKS - 1
    assert work_s[int(0.999 * len(work_s))] < MOST_WORK_S, work_s[-10:]
