"""`ScenarioSource`: where an environment's scenario comes from, at any seed."""

from dataclasses import dataclass
from pathlib import Path

import tickmind
from tickmind.base import ConfigError
from tickmind.world import Scenario, load_scenario, parse_scenario


@dataclass(frozen=True)
class ScenarioSource:
    """A scenario, and the text from which it is read again with another seed; none for a given `Scenario`."""

    scenario: Scenario
    text: str = ""
    folder: Path | None = None

    @classmethod
    def of(cls, given: str | Path | Scenario, seed: int | None) -> "ScenarioSource":
        """Return the source for a name, a path or a scenario; `seed` goes before the scenario's own."""
        if isinstance(given, Scenario):
            from tickmind.world.copies.copied_world import with_seed

            return cls(given if seed is None else with_seed(given, seed))
        path = _path_of(given)
        scenario = load_scenario(path, seed=seed)
        return cls(scenario, path.read_text(encoding="utf-8"), path.parent)

    @property
    def is_text(self) -> bool:
        """Whether another seed gives other places of actors and another weather, as for `tickmind up --seed`."""
        return bool(self.text)

    def at_seed(self, seed: int) -> Scenario:
        """Return the scenario at another seed."""
        if self.is_text:
            return parse_scenario(self.text, self.scenario.name, seed=seed, folder=self.folder)
        from tickmind.world.copies.copied_world import with_seed

        return with_seed(self.scenario, seed)


def _path_of(given: str | Path) -> Path:
    """Return a file: the given one, or one that comes with tickmind if only a name is given."""
    path = Path(given)
    if path.exists() or path.suffix or path.name != str(path):
        return path
    package = Path(tickmind.__file__).parent
    folders = (package.parents[1] / "scenarios", package / "scenarios")  # of a checkout, of an installed package
    known = {file.stem: file for folder in folders for file in folder.glob("*.yaml")}
    if path.name not in known:
        raise ConfigError(f"there is no scenario {path.name!r}; there are {', '.join(sorted(known))}, or give a file")
    return known[path.name]
