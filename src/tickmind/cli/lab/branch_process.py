"""`BranchProcess`: a branch that a viewer ordered, made by `tickmind branch` in a process of its own."""

import asyncio
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tickmind.base import Limit, TickmindError
from tickmind.cli.minds.child_process import end_command, last_line, start_command
from tickmind.cli.runs.change_options import change_option
from tickmind.record import RunChange
from tickmind.viewer.errors import RunLabError

if TYPE_CHECKING:
    from tickmind.record import RunStore
    from tickmind.viewer.run_lab import BranchOrder

MAX_ERROR_BYTES = Limit("what is kept of the errors of a branch", 65_536, "bytes")


class BranchProcess:
    """One branch under way, or over."""

    def __init__(self, store: "RunStore", run_id: str, process: asyncio.subprocess.Process, last_tick: int) -> None:
        self._store = store
        self.run_id = run_id
        self._process = process
        self._last_tick = last_tick
        self._said = b""
        self._ending = asyncio.create_task(self._follow())

    @classmethod
    async def begin(
        cls, store: "RunStore", folder: Path, parent: str, branch_id: str, order: "BranchOrder", gateway: str = ""
    ) -> Self:
        """Begin a branch; raises `RunLabError` for an order that can't be one."""
        last = store.summary(parent).last_tick_id or 0
        if order.tick_id > last:
            raise RunLabError(f"run {parent} ends with tick {last:,}; branch it after that or an earlier one")
        words = [f"--tick={order.tick_id}", f"--run-id={branch_id}", f"--runs={folder}"]
        words += [f"--ticks={order.ticks}"] if order.ticks is not None else []
        words += ["--replies=keep"] if order.keeps_replies else []
        words += [f"--gateway={gateway}"] if gateway else []
        for change in order.changes:
            if change.kind not in KINDS or "=" in change.who:
                raise RunLabError(
                    f"a change of {change.who[:60]!r} of the kind {change.kind[:60]!r} can't be made here"
                )
            option, value = change_option(RunChange(order.tick_id, *astuple(change)))
            words.append(f"{option}={value}")
        going_on = order.ticks if order.ticks is not None else last - order.tick_id
        return cls(store, branch_id, await start_command("branch", *words, "--", parent), order.tick_id + going_on)

    @property
    def is_over(self) -> bool:
        """Whether the process has ended."""
        return self._ending.done()

    async def state(self) -> dict[str, Any]:
        """Return how far it is: `living`, `done` or `failed`, with the reason."""
        shown = {"run_id": self.run_id, "of": self._last_tick}
        if not self.is_over:
            return {**shown, "state": "living", "tick": await asyncio.to_thread(self._recorded)}
        if self._process.returncode:
            return {**shown, "state": "failed", "why": last_line(self._said, self._process.returncode)}
        return {**shown, "state": "done", "tick": await asyncio.to_thread(self._recorded), "said": self._warning()}

    def _warning(self) -> str:
        """Return what it warned of, such as questions that had no answer."""
        return last_line(self._said, 0) if b"no answer" in self._said else ""

    def _recorded(self) -> int:
        try:
            return self._store.summary(self.run_id).last_tick_id or 0
        except (OSError, TickmindError):  # it is not there yet, or on its way out
            return 0

    async def _follow(self) -> None:
        assert self._process.stderr is not None, "it was started with pipes"
        assert self._process.stdout is not None, "it was started with pipes"
        out = asyncio.create_task(self._process.stdout.read())
        while part := await self._process.stderr.read(4096):
            self._said = (self._said + part)[-int(MAX_ERROR_BYTES.maximum) :]
        await out
        await self._process.wait()

    async def close(self) -> None:
        """End it; a branch that is not whole removes itself."""
        await end_command(self._process)
        await self._ending


KINDS = frozenset({"say", "remove", "remember", "forget", "persona", "model", "item", "state", "rule"})
"""What can be changed from a page."""
