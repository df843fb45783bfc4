"""Plans of runs: a scenario and a mapping as they are, checked, and the arguments of a world for them."""

import os
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tickmind.cli.ensemble.lockstep import kept_replies, lockstep_arguments
from tickmind.cli.world.scenarios import new_run_id

if TYPE_CHECKING:
    from tickmind.agent.contract import KeptReplies
    from tickmind.runner import MappingFile
    from tickmind.world import Scenario


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run of a world: the arguments of its beginning, without a port, and of resuming it, and its mapping."""

    run_id: str
    world: Sequence[str]
    resume: Sequence[str]
    file: "MappingFile"
    replies: "KeptReplies | None" = None
    scenario: "Scenario | None" = None  # as it was planned
    in_place: bool = False  # the run that is under way goes on, with the agents of this mapping

    def is_run_of(self, scenario: "Scenario", arguments: Sequence[str]) -> bool:
        """Return whether this run has the same world, people, places and calendar, and the same arguments."""
        return self.scenario == scenario and list(self.resume) == ["--resume", self.run_id, *arguments]


class NextRun(Protocol):
    """Waits until a version is saved; `running` is whether the run before is under way, or did not start."""

    def __call__(self, *, running: bool) -> Coroutine[None, None, RunPlan]:
        """Wait, and return the plan of a new run, or of the one that is under way, in place."""
        ...


class RunPlanner:
    """Plans runs of a scenario file; `arguments` of the world are for new and for resumed runs."""

    def __init__(
        self,
        scenario: Path,
        mapping: Path,
        arguments: Sequence[str],
        *,
        seed: int | None = None,
        lockstep: bool = False,
        replies: tuple[str, Path] | None = None,
    ) -> None:
        self.run_ids: list[str] = []
        """The runs that were planned so far."""
        self._scenario = scenario
        self._mapping = mapping
        self._arguments = arguments
        self._seed = seed
        self._lockstep = lockstep
        self._replies = replies

    def plan(self, running: RunPlan | None = None) -> RunPlan:
        """Check the files as they are, and plan a new run of them; raises `ConfigError` for what can't be run.

        Where nothing but agents differs from the run that is under way, if one is given, that run goes on in place.
        """
        from tickmind.cli.world.own_rules import find_own_rules
        from tickmind.runner import MappingFile, check_start
        from tickmind.world import load_scenario

        scenario = load_scenario(self._scenario, seed=self._seed)
        find_own_rules(scenario.own_rules)
        check_start(self._mapping, os.environ)
        replies = kept_replies(self._replies)
        file = MappingFile(self._mapping, replies=replies)
        always = [*self._arguments, "--agents", str(self._mapping.resolve())]
        always += lockstep_arguments(scenario, file.mapping) if self._lockstep else ()
        if running is not None and running.is_run_of(scenario, always):
            return replace(running, file=file, in_place=True)
        begun = ["--seed", str(self._seed)] if self._seed is not None else []
        begun += ["--wait-for", "1"]
        run_id = new_run_id(self._scenario.stem, self.run_ids)
        self.run_ids.append(run_id)
        new = [str(self._scenario), "--run-id", run_id, *begun, *always]
        return RunPlan(run_id, new, ["--resume", run_id, *always], file, replies, scenario)
