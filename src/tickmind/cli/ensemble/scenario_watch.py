"""A scenario under development: waits until its files are saved, and plans a new run of what is valid."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

from tickmind.base import ConfigError, redact
from tickmind.base.files import read_at_most
from tickmind.cli.check import check_file
from tickmind.cli.ensemble.run_plan import RunPlan

LOOK_S = 0.5
TILED_MAPS = (".tmx", ".tmj", ".xml", ".json")
DRAWN = (*TILED_MAPS, ".tsx", ".tsj")
_Contents = dict[Path, bytes]  # file -> digest of what it holds; empty if it can't be read


class ScenarioWatch:
    """Looks at a scenario and the files that it names, twice a second. Contents count, not times.

    `plan` plans a run of the files as they are, or raises `ConfigError`; it gets the run that is under way if that
    may go on in place. `first` is that run.
    """

    def __init__(
        self,
        scenario: Path,
        plan: Callable[[RunPlan | None], RunPlan],
        first: RunPlan,
        say: Callable[[str], None],
        *,
        look_s: float = LOOK_S,
    ) -> None:
        self._scenario = scenario
        self._plan = plan
        self._say = say
        self._look_s = look_s
        self._run = first
        self._text = ""
        self._files: list[Path] = []
        self._tilesets: dict[Path, tuple[bytes, list[Path]]] = {}  # map -> its digest, and the tilesets that it names
        self._running = self._seen = self._contents()

    async def next_run(self, *, running: bool = True) -> RunPlan:
        """Wait until a valid version is saved, and return its plan. Problems of others are printed.

        While the run before is under way, its own version is not run once more, and a version with other agents only
        goes on with it, in place.
        """
        while True:
            saved = await self._saved()
            if running and saved == self._running:
                continue
            differing = _differing(self._running, saved)
            drawn = any(file.suffix.lower() in DRAWN for file in differing)  # the world keeps their picture
            plan = await asyncio.to_thread(self._valid_plan, self._run if running and not drawn else None)
            if isinstance(plan, str):
                meanwhile = f"Run {self._run.run_id} goes on as it is. " if running else ""
                self._say(f"{plan}\n{meanwhile}Mend this and save it.")
            elif await asyncio.to_thread(self._contents) == saved:
                names = sorted(file.name for file in differing) or [self._scenario.name]
                were = f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} saved"
                ends = f"run {self._run.run_id} ends, " if running else ""
                begins = "the world is as before, so run {} goes on." if plan.in_place else f"{ends}run {{}} begins."
                self._say(f"{were}: {begins.format(plan.run_id)}")
                self._running, self._run = saved, plan
                return plan

    async def _saved(self) -> _Contents:
        """Wait until files differ from what was seen last, and stay so for one look: editors write in several steps."""
        before = self._seen
        while True:
            await asyncio.sleep(self._look_s)
            now = await asyncio.to_thread(self._contents)
            if now == before and now != self._seen:
                self._seen = now
                return now
            before = now

    def _valid_plan(self, running: RunPlan | None) -> RunPlan | str:
        """Return the plan of a new run, or all problems of the scenario as `tickmind check` prints them."""
        try:
            return self._plan(running)
        except ConfigError as error:
            problem = error
        try:
            check_file(self._scenario)
        except ConfigError as error:
            problem = error  # it names the problems of all sections at once
        return redact(str(problem))

    def _contents(self) -> _Contents:
        from tickmind.world.errors import ScenarioError
        from tickmind.world.scenario.scenario_reader import scenario_text

        try:
            text = scenario_text(self._scenario) if self._scenario.is_file() else ""
        except ScenarioError:
            text = ""  # the check says why
        contents = {self._scenario: hashlib.sha256(text.encode()).digest()}
        for file in self._named_files(text):
            contents[file] = _digest(file)
            if file.suffix.lower() in TILED_MAPS:
                contents |= {tileset: _digest(tileset) for tileset in self._tilesets_of(file, contents[file])}
        return contents

    def _named_files(self, text: str) -> list[Path]:
        """Return the files that a scenario names. A text that was parsed at the last look is not parsed again."""
        from tickmind.world.scenario.persona_files import named_files

        if text != self._text:
            self._text = text
            self._files = [self._scenario.parent / path for path in named_files(text, str(self._scenario))]
        return self._files

    def _tilesets_of(self, file: Path, digest: bytes) -> list[Path]:
        """Return the tilesets that a Tiled map names; a map that was read at the last look is not read again."""
        from tickmind.world.scenario.tiled.tiled_map import tileset_files

        known, tilesets = self._tilesets.get(file, (b"", []))
        if known != digest:
            folder = self._scenario.parent
            tilesets = tileset_files(folder, file.relative_to(folder).as_posix())
            self._tilesets[file] = digest, tilesets
        return tilesets


def _digest(file: Path) -> bytes:
    from tickmind.world.scenario.limits import MAX_SCENARIO_BYTES

    try:
        return hashlib.sha256(read_at_most(file, int(MAX_SCENARIO_BYTES.maximum) + 1)).digest()
    except OSError:
        return b""  # the check says why


def _differing(before: _Contents, now: _Contents) -> set[Path]:
    return {file for file in before.keys() | now.keys() if before.get(file) != now.get(file)}
