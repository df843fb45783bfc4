"""Checks of a mapping: what keeps it from running on this machine or in a certain world, found before the start."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tickmind.base import ConfigError
from tickmind.base.problems import ConfigFileError, Problem, in_order, nearest, read_config
from tickmind.base.secret_sources import SecretSources, SourceError
from tickmind.base.yaml_source import Path as SettingPath
from tickmind.protocol import EntityInfo
from tickmind.runner.launch.programs import missing_program
from tickmind.runner.launch.secrets import find_secret, find_world_token
from tickmind.runner.mapping import load_mapping
from tickmind.runner.spec import AgentSpec, Match, RunnerMapping, SecretSource

Found = Iterator[tuple[SettingPath, str]]  # which setting, and what is wrong with it


def check_mapping(
    path: Path, environment: Mapping[str, str], entities: Collection[EntityInfo] | None = None
) -> RunnerMapping:
    """Read a mapping and check all that it needs; raises `ConfigFileError` with what is missing, by line.

    Programs and the secrets of agents in use must exist, and at least one character must get an agent. With `entities`
    of a world, each assignment must also match at least one of them.
    """
    mapping = load_mapping(path)
    lacks = [lack for spec in mapping.agents.values() for lack in _missing_program(spec, environment)]
    used = {spec.name: spec for rule in mapping.rules for spec in mapping.chain(rule.use)}
    lacks += (lack for spec in used.values() for lack in _missing_secrets(spec, environment))
    return _without_lacks(path, mapping, [*lacks, *_missing_access(mapping, environment), *_idle(mapping, entities)])


def check_start(path: Path, environment: Mapping[str, str]) -> RunnerMapping:
    """Read a mapping to run; raises `ConfigFileError` if an agent and all its fallbacks can't run."""
    mapping = load_mapping(path)
    missing: dict[tuple[SettingPath, str], None] = {}
    for rule in mapping.rules:
        lacks = [
            [*_missing_program(spec, environment), *_missing_secrets(spec, environment)]
            for spec in mapping.chain(rule.use)
        ]
        if all(lacks):
            missing |= dict.fromkeys(lack for each in lacks for lack in each)
    return _without_lacks(path, mapping, [*missing, *_missing_access(mapping, environment)])


def _without_lacks(path: Path, mapping: RunnerMapping, lacks: list[tuple[SettingPath, str]]) -> RunnerMapping:
    if lacks:
        document = read_config(path, hint="it was there just now")
        raise ConfigFileError(str(path), in_order(Problem(where, why, document.place(where)) for where, why in lacks))
    return mapping


def _missing_program(spec: AgentSpec, environment: Mapping[str, str]) -> Found:
    if why := missing_program(spec, environment):
        yield ("agents", spec.name, "cmd"), why


def _missing_secrets(spec: AgentSpec, environment: Mapping[str, str]) -> Found:
    for key, source in spec.secrets:
        yield from _missing_secret(("agents", spec.name, "secrets", key), source, environment)


def _missing_access(mapping: RunnerMapping, environment: Mapping[str, str]) -> Found:
    """Look for what lets the runner and its agents into the world: the token and the certificates."""
    if mapping.world_token is not None:
        try:
            find_world_token(SecretSources(environment.get, Path()), mapping.world_token)
        except SourceError as error:
            yield ("world_token",), str(error)
    if mapping.tls is not None:
        try:
            mapping.tls.check()
        except ConfigError as error:
            yield ("tls",), str(error)


def _missing_secret(where: SettingPath, source: SecretSource, environment: Mapping[str, str]) -> Found:
    try:
        find_secret(SecretSources(environment.get, Path()), source)
    except SourceError as error:
        yield where, str(error)


def _idle(mapping: RunnerMapping, entities: Collection[EntityInfo] | None) -> Found:
    if not any(rule.use for rule in mapping.rules):
        yield ("assignments",), "no character gets an agent; write for example `- {match: {}, use: AGENT}`"
        return
    if entities is None:
        return
    for place, rule in enumerate(mapping.rules):
        for setting, why in _unfit(rule.match, entities):
            yield ("assignments", place, "match", *setting), why
    if not any(mapping.spec_for(entity) for entity in entities):
        yield ("assignments",), "no character of that world gets an agent; the first matching assignment decides"


def _unfit(match: Match, entities: Collection[EntityInfo]) -> Found:
    """Iterate over conditions of a rule that no entity meets, alone or all together."""
    known = {
        "id": (match.ids, {entity.entity_id for entity in entities}, "is called"),
        "type": (match.types, {entity.type for entity in entities}, "has the type"),
        "tags": (match.tags, {tag for entity in entities for tag in entity.tags}, "has the tag"),
    }
    unknown = [
        ((setting,), f"no character there {has} {name}{nearest(name, there)}")
        for setting, (wanted, there, has) in known.items()
        for name in sorted(wanted - there)
    ]
    yield from unknown
    if not unknown and not any(match.fits(entity) for entity in entities):
        yield (), "no character there has all of this together"
