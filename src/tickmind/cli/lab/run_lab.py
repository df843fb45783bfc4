"""`FolderLab`: what a viewer can do with the recorded runs of a folder: show others, branch, compare and ask."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tickmind.base import Limit, TickmindError, redact
from tickmind.cli.lab.branch_id import free_branch_id
from tickmind.cli.lab.branch_process import BranchProcess
from tickmind.cli.lab.interview_process import InterviewProcess
from tickmind.cli.minds.asking import WholeMinds
from tickmind.cli.runs.change_options import change_sentence
from tickmind.cli.runs.commands import as_tree
from tickmind.cli.world.scenarios import TILE_ART
from tickmind.record import RunStore
from tickmind.record.documents.places import display_names
from tickmind.viewer.errors import RunLabError
from tickmind.viewer.frames.tile_art import read_tile_art
from tickmind.viewer.sources.replay import ReplaySource

if TYPE_CHECKING:
    from tickmind.record import RunSummary
    from tickmind.viewer.run_lab import BranchOrder
    from tickmind.viewer.sources.source import FrameSource

MAX_SOURCES = Limit("number of runs that a viewer keeps open", 6)
MAX_INTERVIEWS = Limit("number of minds that a viewer keeps for questions", 3)
MAX_DIVERGENCES = Limit("number of comparisons that a viewer keeps", 32)


class FolderLab:
    """Serves the runs of one folder. All processes and sources end with `close`."""

    def __init__(self, folder: Path, *, gateway: str = "") -> None:
        self._folder = folder
        self._gateway = gateway
        self._store = RunStore(folder)
        self._sources: OrderedDict[str, ReplaySource] = OrderedDict()  # least recently used first
        self._opening = asyncio.Lock()
        self._branch: BranchProcess | None = None
        self._branching = asyncio.Lock()
        self._interviews: OrderedDict[tuple[str, str, int], InterviewProcess] = OrderedDict()  # used last at the end
        self._ending: set[asyncio.Task[None]] = set()  # of interviews that made room for others
        self._divergences: OrderedDict[tuple[str, str, int | None, int | None], dict[str, Any]] = OrderedDict()
        self._comparing = asyncio.Lock()  # reading two runs takes a processor for a while

    async def source(self, run_id: str) -> "FrameSource":
        """Return the frames of a run, opened at its first request."""
        async with self._opening:
            if run_id not in self._sources:
                try:
                    art = read_tile_art(self._store.folder(run_id) / TILE_ART)
                    open_run = partial(self._store.open, run_id)
                    whole_minds = WholeMinds(self._folder, run_id)
                    source = await asyncio.to_thread(ReplaySource, open_run, whole_minds=whole_minds, tile_art=art)
                except TickmindError as error:
                    raise RunLabError(redact(str(error))) from error
                self._sources[run_id] = await source.__aenter__()
            self._sources.move_to_end(run_id)
            while not MAX_SOURCES.allows(len(self._sources)):
                _, unused = self._sources.popitem(last=False)
                await unused.__aexit__(None, None, None)
            return self._sources[run_id]

    async def runs(self, run_id: str) -> list[dict[str, Any]]:
        """Return all runs as a tree; those that share a past with one of them are its relatives."""
        return await asyncio.to_thread(self._tree, run_id)

    def _tree(self, run_id: str) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        root, roots = "", {}
        for depth, run in as_tree(self._store.runs()):
            root = root if depth else run.run_id
            roots[run.run_id] = root
            shown.append({**self._shown(run), "depth": depth})
        return [{**one, "related": roots[one["run_id"]] == roots.get(run_id)} for one in shown]

    def _shown(self, run: "RunSummary") -> dict[str, Any]:
        branched_at, changes = self._origin(run) if run.parent else (None, [])
        return {
            "run_id": run.run_id,
            "parent": run.parent,
            "branched_at": branched_at,
            "changes": changes,
            "state": str(run.state),
            "ticks": run.ticks,
            "world": run.world,
            "problem": redact(run.problem),
        }

    def _origin(self, run: "RunSummary") -> tuple[int | None, list[str]]:
        """Return the tick after which a run was branched, and sentences of what was changed there."""
        try:
            with self._store.open(run.run_id) as reader:
                parent, info = reader.meta.parent, reader.info
        except TickmindError:  # it is being written or removed; its summary says so
            return None, []
        if parent is None:
            return None, []
        names = display_names([(actor.entity_id, actor.persona) for actor in info.actors])
        changes = [change for change in parent.changes if change.tick_id == parent.tick_id]
        return parent.tick_id, [redact(change_sentence(change, names)) for change in changes]

    async def divergence(self, run_id: str, other_id: str) -> dict[str, Any]:
        """Return where two runs differ; kept as long as neither grows."""
        async with self._comparing:
            try:
                last = await asyncio.to_thread(self._last_tick, run_id)
                key = (run_id, other_id, last, await asyncio.to_thread(self._last_tick, other_id))
                divergence = self._divergences.pop(key, None)
                if divergence is None:
                    divergence = await asyncio.to_thread(self._diverge, run_id, other_id)
            except TickmindError as error:
                raise RunLabError(redact(str(error))) from error
            self._divergences[key] = divergence
            while not MAX_DIVERGENCES.allows(len(self._divergences)):
                self._divergences.popitem(last=False)
            return divergence

    def _last_tick(self, run_id: str) -> int | None:
        return self._store.summary(run_id).last_tick_id

    def _diverge(self, run_id: str, other_id: str) -> dict[str, Any]:
        from tickmind.record.report.divergence import diverge  # with DuckDB, which a page that only shows a run spares

        with self._store.open(run_id) as one, self._store.open(other_id) as other:
            divergence = asdict(diverge(one, other))
        return {**divergence, "state": redact(divergence["state"]), "thought": redact(divergence["thought"])}

    async def begin_branch(self, run_id: str, order: "BranchOrder") -> dict[str, Any]:
        """Begin a branch; one is made at a time."""
        async with self._branching:
            if self._branch is not None and not self._branch.is_over:
                raise RunLabError(f"the branch {self._branch.run_id} is still being made; wait until it is done")
            try:
                branch_id = free_branch_id(self._store, run_id, order.tick_id)
                self._branch = await BranchProcess.begin(
                    self._store, self._folder, run_id, branch_id, order, self._gateway
                )
            except RunLabError:
                raise
            except TickmindError as error:
                raise RunLabError(redact(str(error))) from error
            return await self._branch.state()

    async def branch_state(self) -> dict[str, Any]:
        """Return how far the last branch is; `none` if there was none."""
        return {"state": "none"} if self._branch is None else await self._branch.state()

    async def interview(
        self, run_id: str, entity_id: str, tick_id: int, question: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Ask a mind, which stays for more questions; raises `RunLabError` if there is no answer."""
        key = (run_id, entity_id, tick_id)
        try:
            self._store.folder(run_id)
        except TickmindError as error:
            raise RunLabError(redact(str(error))) from error
        process, unused = self._interview_of(key)
        with process.reserved():
            if unused is not None:
                ending = asyncio.create_task(unused.close())
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)
                await asyncio.shield(ending)
            async with aclosing(process.ask(question)) as steps:
                async for step in steps:
                    yield step

    def _interview_of(self, key: tuple[str, str, int]) -> tuple[InterviewProcess, InterviewProcess | None]:
        """Return the process that asks a mind, and the one that makes room for it; the caller reserves and ends them.

        Raises `RunLabError` if all others are busy.
        """
        unused = None
        if key not in self._interviews:
            if not MAX_INTERVIEWS.allows(len(self._interviews) + 1):
                idle = next((one for one, process in self._interviews.items() if not process.is_busy), None)
                if idle is None:
                    raise RunLabError("too many characters are being asked; wait for an answer")
                unused = self._interviews.pop(idle)
            self._interviews[key] = InterviewProcess(self._folder, *key)
        self._interviews.move_to_end(key)
        return self._interviews[key], unused

    async def close(self) -> None:
        """End all processes, and close the sources."""
        if self._branch is not None:
            await self._branch.close()
        for process in self._interviews.values():
            await process.close()
        self._interviews.clear()
        await asyncio.gather(*self._ending)
        while self._sources:
            _, source = self._sources.popitem()
            await source.__aexit__(None, None, None)
