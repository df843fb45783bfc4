"""An agent that writes without end costs itself, not the disk and not the world."""

import os
import threading
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.runner import AgentSpec, Match, RestartPolicy, Rule, RunnerMapping
from tickmind.runner.logs import KEPT_FILES, MAX_LOG_BYTES, MAX_LOG_RATE
from tickmind.server import TickPace

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]


@pytest.mark.realtime(alone=True)
@pytest.mark.asyncio
async def test_a_log_bomb_costs_no_tick_of_a_world_with_ten_a_second(tools, mark, tmp_path: Path):
    ticks = short_or_long(30, 600)
    env = {"PATH": os.environ["PATH"], "TICKMIND_TEST_MARK": mark}
    bomb = AgentSpec("bomb", ("sh", "-c", "yes " + "z" * 200), Path("/"), restart=RestartPolicy(1000, (0,)))
    watch, over = tools.Stopwatch(), threading.Event()
    looking = threading.Thread(target=lambda: [watch.look() for _ in iter(over.is_set, True)])
    async with tools.serving(4, pace=TickPace(0.1, 0.05)) as server:
        rules = (Rule(Match(ids=frozenset({"entity:1"})), "bomb"),)
        mapping = RunnerMapping({"bomb": bomb}, rules, world_addr=server.address)
        async with tools.running(mapping, tmp_path, environment=env) as runner:
            await tools.until(lambda: any(file.stat().st_size > 100_000 for file in tmp_path.rglob("agent.log")))
            looking.start()
            before = server.statistics()
            try:
                await tools.until(lambda: server.statistics().ticks >= before.ticks + ticks)
            finally:
                over.set()
                looking.join()
            after = server.statistics()
            folders = {runner.unit_of(row.entity_id).log_path.parent for row in runner.rows()}
            sizes = [sum(file.stat().st_size for file in folder.glob("agent.log*")) for folder in folders]
    assert after.overrun_ms - before.overrun_ms <= 1000 * watch.held_up_s
    assert max(sizes) <= KEPT_FILES * MAX_LOG_BYTES.maximum
    assert max(sizes) <= MAX_LOG_RATE.maximum * (60 + ticks)  # what it was let write, however much it wanted to
