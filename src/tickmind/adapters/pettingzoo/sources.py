"""`ScenarioSource`: where an environment's scenario comes from, at any seed."""

from dataclasses import dataclass
from pathlib import Path

from tickmind.base.shipped import find_scenario
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
        path = find_scenario(Path(given))
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
