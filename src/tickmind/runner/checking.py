"""What keeps a mapping from running on this machine or in a certain world, told before anything starts."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tickmind.base.problems import ConfigFileError, Problem, in_order, nearest, read_config
from tickmind.base.secret_sources import SecretSources, SourceError
from tickmind.base.yaml_source import Path as SettingPath
from tickmind.protocol import EntityInfo
from tickmind.runner.mapping import load_mapping
from tickmind.runner.programs import missing_program
from tickmind.runner.spec import AgentSpec, Match, RunnerMapping, SecretSource
from tickmind.runner.unit import find_secret

Found = Iterator[tuple[SettingPath, str]]  # which setting, and what is wrong with it


def check_mapping(
    path: Path, environment: Mapping[str, str], entities: Collection[EntityInfo] | None = None
) -> RunnerMapping:
    """Read a mapping and look for all that it needs; raises `ConfigFileError` with what is missing, by line.

    Programs and the secrets of agents that are used must be there, and somebody must get an agent. With `entities`,
    who are those of a world, each assignment must also fit somebody there.
    """
    mapping = load_mapping(path)
    found = [lack for spec in mapping.agents.values() for lack in _missing_program(spec, environment)]
    used = {spec.name: spec for rule in mapping.rules for spec in mapping.chain(rule.use)}
    found += (lack for spec in used.values() for lack in _missing_secrets(spec, environment))
    return _without_lacks(path, mapping, [*found, *_missing_token(mapping, environment), *_idle(mapping, entities)])


def check_start(path: Path, environment: Mapping[str, str]) -> RunnerMapping:
    """Read a mapping to run; raises `ConfigFileError` if somebody's agent can't, nor any of its fallbacks."""
    mapping = load_mapping(path)
    found: dict[tuple[SettingPath, str], None] = {}
    for rule in mapping.rules:
        lacks = [
            [*_missing_program(spec, environment), *_missing_secrets(spec, environment)]
            for spec in mapping.chain(rule.use)
        ]
        if all(lacks):
            found |= dict.fromkeys(lack for each in lacks for lack in each)
    return _without_lacks(path, mapping, [*found, *_missing_token(mapping, environment)])


def _without_lacks(path: Path, mapping: RunnerMapping, found: list[tuple[SettingPath, str]]) -> RunnerMapping:
    if found:
        document = read_config(path, hint="it was there just now")
        raise ConfigFileError(str(path), in_order(Problem(where, why, document.place(where)) for where, why in found))
    return mapping


def _missing_program(spec: AgentSpec, environment: Mapping[str, str]) -> Found:
    if why := missing_program(spec, environment):
        yield ("agents", spec.name, "cmd"), why


def _missing_secrets(spec: AgentSpec, environment: Mapping[str, str]) -> Found:
    for key, source in spec.secrets:
        yield from _missing_secret(("agents", spec.name, "secrets", key), source, environment)


def _missing_token(mapping: RunnerMapping, environment: Mapping[str, str]) -> Found:
    if mapping.world_token is not None:
        yield from _missing_secret(("world_token",), mapping.world_token, environment)


def _missing_secret(where: SettingPath, source: SecretSource, environment: Mapping[str, str]) -> Found:
    try:
        find_secret(SecretSources(environment.get, Path()), source)
    except SourceError as error:
        yield where, str(error)


def _idle(mapping: RunnerMapping, entities: Collection[EntityInfo] | None) -> Found:
    if not any(rule.use for rule in mapping.rules):
        yield ("assignments",), "nobody gets an agent; write for example `- {match: {}, use: AGENT}`"
        return
    if entities is None:
        return
    for place, rule in enumerate(mapping.rules):
        for setting, why in _unfit(rule.match, entities):
            yield ("assignments", place, "match", *setting), why
    if not any(mapping.spec_for(entity) for entity in entities):
        yield ("assignments",), "nobody in that world gets an agent; the first assignment that fits decides"


def _unfit(match: Match, entities: Collection[EntityInfo]) -> Found:
    """What in a rule nobody has, or that nobody has all of it together."""
    known = {
        "id": (match.ids, {entity.entity_id for entity in entities}, "is called"),
        "type": (match.types, {entity.type for entity in entities}, "has the type"),
        "tags": (match.tags, {tag for entity in entities for tag in entity.tags}, "has the tag"),
    }
    unknown = [
        ((setting,), f"nobody there {has} {name}{nearest(name, there)}")
        for setting, (wanted, there, has) in known.items()
        for name in sorted(wanted - there)
    ]
    yield from unknown
    if not unknown and not any(match.fits(entity) for entity in entities):
        yield (), "nobody there has all of this together"
