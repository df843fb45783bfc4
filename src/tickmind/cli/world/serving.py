"""Serving of a world: messages to the user who started it, and an orderly end."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.base import TickmindError
from tickmind.base.files import RUNS_FOLDER, runs_option
from tickmind.cli.runs.sealing_progress import SealingProgress
from tickmind.cli.world.own_rules import load_own_rules
from tickmind.cli.world.rule_news import RuleNews, placement_line, rule_event_line
from tickmind.cli.world.scenarios import new_run_id
from tickmind.cli.world.status import EVERY_S, LockstepWait, WorldStatus
from tickmind.protocol import TickRecord
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.world import Scenario, TileWorld
from tickmind.world.kernels import is_compiled

if TYPE_CHECKING:  # an unrecorded world needs no record package
    from tickmind.cli.world.run import WorldRun

WAIT_AT_MOST_S = 60.0  # for characters to be controlled
LOOK_S = 0.05


class Serving:
    """Serves one world until a signal, an error, a rule that ends the run, or the last of `ticks`.

    With a run it is recorded.
    """

    def __init__(
        self,
        scenario: Scenario,
        config: ServerConfig,
        pace: TickPace,
        ticks: int | None,
        run: "WorldRun | None" = None,
        runs: Path = RUNS_FOLDER,
        wait_for: int = 0,
    ) -> None:
        self._scenario = scenario
        self._config = config
        self._pace = pace
        self._ticks = ticks
        self._run = run
        self._wait_for = wait_for
        self._where = runs_option(runs)
        self._folder = runs
        self._status = WorldStatus(scenario.name, ticks)
        self._news = RuleNews()
        self._is_over = False  # whether a rule has ended the run
        self._stopped = False
        self._in_a_hurry = False  # whether a second signal asked to stop at once

    def run(self) -> None:
        """Serve, and finish the run in an orderly way."""
        if self._run is not None and self._say_it_is_over(self._run):
            self._finish(self._run)
            return
        if not is_compiled():
            self._status.say("Starting; the first time this takes a minute.")
        try:
            run_on_quick_loop(self._serve())
        except TickmindError:
            self._say_how_to_go_on()
            raise
        if self._run is None:
            return
        if self._run.is_empty:
            self._status.say("No tick has passed, so the run is not kept.")
            return
        if self._in_a_hurry:
            self._run.pause()
            self._say_how_to_go_on()
            return
        self._finish(self._run)
        named = f"{self._run.run_id}{self._where}"
        resumes = "" if self._is_over else f", `tickmind world --resume {named}` resumes it"
        self._status.say(
            f"Run {self._run.run_id} is in {self._folder / self._run.run_id}: "
            f"`tickmind runs show {named}` shows it{resumes}."
        )

    def _say_it_is_over(self, run: "WorldRun") -> bool:
        """Say why a run that a rule has ended is not resumed; return whether it is one."""
        ends = [event for event in run.last_events if event.ends]
        for event in ends:
            self._status.say(f"Run {run.run_id} is not resumed. {rule_event_line(run.log.last_tick_id or 0, event)}")
        return bool(ends)

    def _finish(self, run: "WorldRun") -> None:
        """Write the finished files; a further signal stops that, too."""
        try:
            with SealingProgress(run.run_id) as progress:
                run.finish(progress.show)
        except KeyboardInterrupt:
            self._say_how_to_go_on()
            raise

    def _say_how_to_go_on(self) -> None:
        if self._run is not None and not self._run.is_empty:
            last = self._run.log.last_tick_id
            self._status.say(
                f"Run {self._run.run_id} has {f'all ticks up to {last:,}' if last else 'no tick yet'}: "
                f"`tickmind world --resume {self._run.run_id}{self._where}` resumes it, "
                f"`tickmind recover {self._run.run_id}{self._where}` writes its finished files."
            )

    async def _serve(self) -> None:
        run, status = self._run, self._status
        server = WorldServer(
            TileWorld.from_scenario(self._scenario, load_own_rules(self._scenario.own_rules)),
            self._config,
            pace=self._pace,
            sink=run.log if run is not None else None,
            reports=run.log if run is not None else None,
            checkpoints=run.checkpoints if run is not None else None,
            history=run.history if run is not None else None,
            run_id=run.run_id if run is not None else new_run_id(self._scenario.name),
            on_tick=self._take_news,
        )
        async with server, self._signals(server):
            if run is not None:
                last = run.log.last_tick_id
                status.say(f"Run {run.run_id} {f'resumes after tick {last:,}' if last else 'begins'}.")
            status.say(f"The world {self._scenario.name} is at {server.address}; Ctrl-C stops it.")
            if server.metrics_url:
                status.say(f"Its metrics are at {server.metrics_url}.")
            await self._tick(server)
        status.end(server.statistics())

    def _take_news(self, record: TickRecord) -> None:
        self._is_over = record.ends
        for line in self._news.lines(record.tick_id, record.rule_events):
            self._status.say(line)
        for order in record.placements:
            if not order.reason:
                self._status.say(placement_line(record.tick_id, order))

    async def _run_ticks(self, server: WorldServer) -> None:
        """Wait for the first characters, but not forever, and start the ticks."""
        loop = asyncio.get_running_loop()
        latest_s = loop.time() + WAIT_AT_MOST_S
        while (  # noqa: ASYNC110  there is no event for a granted lease
            server.statistics().controlled < self._wait_for and loop.time() < latest_s and not self._stopped
        ):
            await asyncio.sleep(LOOK_S)
        if not self._stopped:
            await server.run(self._ticks)

    @asynccontextmanager
    async def _signals(self, server: WorldServer) -> AsyncIterator[None]:
        """Let a signal stop the tick loop, from the moment when the world is up."""

        def stop(*, hurry: bool = False) -> None:
            self._stopped, self._in_a_hurry = True, hurry
            server.stop()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, stop)
        loop.add_signal_handler(signal.SIGTERM, lambda: stop(hurry=True))
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def _tick(self, server: WorldServer) -> None:
        """Run the ticks and show their status."""
        running = asyncio.create_task(self._run_ticks(server))
        waits = LockstepWait() if self._pace.lockstep else None
        now_s = asyncio.get_running_loop().time
        while not running.done():
            await asyncio.wait({running}, timeout=EVERY_S)
            stats = server.statistics()
            self._status.show(stats)
            missing = server.authority.missing
            if waits is not None and (line := waits.next_line(now_s(), stats.tick_id, stats.controlled, missing)):
                self._status.say(line)
        await running
