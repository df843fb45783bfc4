"""Read the file of an experiment: all that is wrong with it at once, by line and column."""

import itertools
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from tickmind.base import ConfigError, LimitExceededError
from tickmind.base.problems import ConfigFileError, DocumentReader, FileForm, Problem, nearest, read_config
from tickmind.base.yaml_source import Document
from tickmind.base.yaml_source import Path as SettingPath
from tickmind.lab.experiments.documents import read_document
from tickmind.lab.experiments.experiment import (
    MAX_CONDITIONS,
    MAX_TRIALS,
    Experiment,
    Factor,
    Keep,
    Level,
    MeasureKind,
    MeasureSpec,
    ModelEndpoint,
    Patch,
    TrialBudget,
    TrialCondition,
    condition_name,
)
from tickmind.lab.experiments.patches import parse_path, patched_text
from tickmind.record.measures import measure_names
from tickmind.runner.mapping import mapping_of
from tickmind.world import parse_scenario
from tickmind.world.scenario.scenario_reader import OTHER_SECTIONS, parse_to_keep, scenario_text

KEY: Final = "experiment"  # begins the file; other kinds of files do not have it
_HINT: Final = "docs/guides/experiments.md shows one to start from"
_RESERVED: Final = ("experiment", "trial", "condition", "seed", "repeat", "measure", "value", "error", "tick_id")
_WITH_FACT: Final = ("diffusion", "invented", "party")  # built-in measures of a planted fact
_SOURCES: Final = tuple(kind.value for kind in MeasureKind)
FindScenario = Callable[[Path], Path]


def experiment_schema_text() -> str:
    """Return the JSON schema of the file, for editors too."""
    return files("tickmind.lab.experiments").joinpath("experiment.schema.json").read_text(encoding="utf-8")


@cache
def _form() -> FileForm:
    return FileForm(json.loads(experiment_schema_text()), "give keys of models as LLM_API_KEY in the environment")


def read_experiment(path: Path, find_scenario: FindScenario = lambda given: given) -> Experiment:
    """Read and check an experiment with all its conditions; raises `ConfigFileError`.

    `find_scenario` returns the file of a scenario that is not beside the experiment. No program and no measure is run.
    """
    document = read_config(path, hint=_HINT)
    _form().check(document, str(path))
    return _ExperimentReader(path, document, find_scenario).read()


class _ExperimentReader(DocumentReader):
    """Turns a document that fits the schema into an experiment, and collects what the schema can't find."""

    def __init__(self, file: Path, document: Document, find_scenario: FindScenario) -> None:
        super().__init__(str(file), document)
        self._file = file
        self._find = find_scenario

    def read(self) -> Experiment:
        said = self._said
        factors = tuple(self._factor(name, levels or {}) for name, levels in said.get("factors", {}).items())
        measures = tuple(self._measure(name, spec) for name, spec in said["measures"].items())
        model, budget = said.get("model", {}), said.get("budget", {})
        if "model" in said and not {"base_url", "gateway_url"} & model.keys():
            self._wrong(("model",), "it names no model; give base_url or gateway_url")
        if {"base_url", "gateway_url"} <= model.keys():
            self._wrong(("model",), "give base_url or gateway_url, not both: all models have one door")
        seeds = said["seeds"]
        seeds = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
        repeats: int = said.get("repeats", 1)
        if repeats > 1 and not model:
            self._wrong(("repeats",), "without a model every repeat is the same; leave it out, or add a model")
        self._check_counts(factors, len(seeds) * repeats)
        self._raise_if_wrong()
        scenario, agents = self._scenario_file(), self._agents_file()
        self._raise_if_wrong()
        agents = scenario if agents is None else agents
        conditions = self._conditions(factors, scenario, agents)
        self._raise_if_wrong()
        return Experiment(
            name=said[KEY],
            file=self._file,
            scenario=scenario,
            agents=agents,
            ticks=said["ticks"],
            seeds=seeds,
            repeats=repeats,
            factors=factors,
            measures=measures,
            conditions=conditions,
            workers=said.get("workers", 0),
            keep=Keep(said.get("keep", Keep.MEASURES)),
            model=ModelEndpoint(model.get("base_url", ""), model.get("gateway_url", ""), model.get("name", "")),
            budget=TrialBudget(budget.get("tokens"), budget.get("usd")),
            text=self._file.read_text(encoding="utf-8"),
        )

    def _line(self, path: SettingPath) -> int:
        place = self._document.place(path, of_key=True)
        return place.line if place else 0

    def _factor(self, name: str, levels: Mapping[str, Any]) -> Factor:
        if name.lower() in _RESERVED:  # queries take no notice of capitals
            self._wrong(("factors", name), f"the tables have a column {name!r} already; choose another", of_key=True)
        read = []
        for level, patches in levels.items():
            found = []
            for text, value in (patches or {}).items():
                path: SettingPath = ("factors", name, level, text)
                try:
                    found.append(Patch(parse_path(text), value, self._line(path)))
                except ConfigError as error:
                    self._wrong(path, str(error), of_key=True)
            read.append(Level(level, tuple(found)))
        return Factor(name, tuple(read))

    def _measure(self, name: str, said: Mapping[str, Any]) -> MeasureSpec:
        path: SettingPath = ("measures", name)
        given = [source for source in _SOURCES if source in said]
        if len(given) != 1:
            self._wrong(path, f"give one of {', '.join(_SOURCES)}", of_key=True)
            return MeasureSpec(name, MeasureKind.SQL, "")
        kind, source = MeasureKind(given[0]), str(said[given[0]])
        fact: str = said.get("fact", "")
        if kind is MeasureKind.BUILT_IN:
            self._check_built_in(path, source, fact)
            if said.get("curve") and source != "diffusion":
                self._wrong((*path, "curve"), "of the built-in measures only diffusion is known over time")
        elif fact:
            self._wrong((*path, "fact"), "only built-in measures take a fact", of_key=True)
        return MeasureSpec(name, kind, source, fact, bool(said.get("curve", False)), self._line((*path, given[0])))

    def _check_built_in(self, path: SettingPath, source: str, fact: str) -> None:
        known = (*measure_names(), *_WITH_FACT)
        if source not in known:
            self._wrong(
                (*path, "built_in"),
                f"there is no measure {source!r}{nearest(source, known)}; there are: {', '.join(known)}",
            )
        elif source in _WITH_FACT and not fact:
            self._wrong((*path, "built_in"), f"{source} is of a planted fact; write `fact: SENTENCE` beside it")
        elif fact and source not in _WITH_FACT:
            self._wrong((*path, "fact"), f"{source} takes no fact", of_key=True)

    def _check_counts(self, factors: tuple[Factor, ...], trials: int) -> None:
        conditions = 1
        for factor in factors:
            conditions *= len(factor.levels)
        try:
            MAX_CONDITIONS.check(conditions)
            MAX_TRIALS.check(conditions * trials)
        except LimitExceededError as error:
            self._wrong(("factors",), str(error), of_key=True)

    def _scenario_file(self) -> Path:
        named = Path(self._said["scenario"])
        beside = self._file.parent / named
        if beside.is_file():
            return beside
        try:
            return self._find(named)
        except ConfigError as error:
            self._wrong(("scenario",), str(error))
            return beside

    def _agents_file(self) -> Path | None:
        if "agents" not in self._said:
            return None
        path = self._file.parent / Path(self._said["agents"])
        if not path.is_file():
            self._wrong(("agents",), f"there is no file {path}")
        return path

    def _conditions(self, factors: tuple[Factor, ...], scenario: Path, agents: Path) -> tuple[TrialCondition, ...]:
        """Make the texts of all combinations; a combination that is no valid scenario is a problem of its levels."""
        text = scenario_text(scenario)
        parse_scenario(text, str(scenario), folder=scenario.parent)  # raises what is wrong without any factor
        agents_text = "" if agents == scenario else scenario_text(agents)
        conditions = []
        for levels in itertools.product(*(factor.levels for factor in factors)):
            pairs = tuple((factor.name, level.name) for factor, level in zip(factors, levels, strict=True))
            patched, patched_agents = text, agents_text
            where: SettingPath = ("factors",)
            try:
                for (factor_name, _), level in zip(pairs, levels, strict=True):
                    where = ("factors", factor_name, level.name)
                    of_agents = [patch for patch in level.patches if patch.path[0] in OTHER_SECTIONS and agents_text]
                    of_world = [patch for patch in level.patches if patch not in of_agents]
                    patched = patched_text(patched, of_world, str(scenario))
                    patched_agents = patched_text(patched_agents, of_agents, str(agents))
                kept = parse_to_keep(patched, str(scenario), folder=scenario.parent).text
                agents_kept = patched_agents or kept
                mapping_of(read_document(agents_kept), str(agents), agents.resolve().parent)
            except ConfigFileError as error:
                first = error.problems[0] if error.problems else Problem((), str(error))
                self._wrong(where, f"with these values the scenario is wrong: {first.text('')}".strip(), of_key=True)
            except ConfigError as error:
                self._wrong(where, str(error), of_key=True)
            else:
                conditions.append(TrialCondition(condition_name(dict(pairs)), pairs, kept, agents_kept))
        return tuple(conditions)
