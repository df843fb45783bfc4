"""Reads a mapping: from its own YAML file, or from the same sections in a scenario file."""

import json
import re
from collections.abc import Mapping as Table
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tickmind.agent import Settings
from tickmind.agent.contract import DEFAULT_WORLD_ADDR, MAX_LAUNCH_BYTES
from tickmind.agent.settings import Json
from tickmind.base import ConfigError
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.files import replace_file
from tickmind.base.problems import ConfigFileError, DocumentReader, FileForm, Problem, nearest, read_config
from tickmind.base.secret import is_secret_name
from tickmind.base.yaml_source import Document
from tickmind.runner.spec import (
    DEFAULT_NAME,
    AgentSpec,
    Match,
    ResourceLimits,
    ResourceRequest,
    RestartPolicy,
    Rule,
    RunnerMapping,
    SecretSource,
)
from tickmind.wire import WireConfigError
from tickmind.wire.client.connection import is_local

HOW_TO_GIVE_SECRETS = (
    "don't write secrets into the file; write `secrets: {NAME: {env: A_VARIABLE}}` or `{file: A_PRIVATE_FILE}`, "
    "and the agent gets it by a file descriptor"
)
_NUMBER = re.compile(r"[0-9.]*")  # MAX_TOKENS is no secret
_HINT = "docs/guides/running-many.md shows one to start from"
_SECTIONS = ("agents", "assignments", "defaults")  # of a scenario
_RESERVED = frozenset(
    ["WORLD_ADDR", "WORLD_WS_URL", "ENTITY_ID", "CONTROLLER_ID", "AGENT_CONFIG_PATH", "AGENT_SECRETS_FD",
     "AGENT_SECRETS_PATH", "AGENT_HEARTBEAT_FD", "PYTHONUNBUFFERED"]
)  # fmt: skip
_NUMBERS = ("per_process", "start_timeout_ms", "heartbeat_timeout_ms", "missed_intents", "stop_grace_ms")


def mapping_schema_text() -> str:
    """Return the JSON schema of the file, for editors too."""
    return files("tickmind.runner").joinpath("mapping.schema.json").read_text(encoding="utf-8")


@cache
def _form() -> FileForm:
    return FileForm(json.loads(mapping_schema_text()), HOW_TO_GIVE_SECRETS, secret_parts=("secrets", "env"))


def load_mapping(path: Path | str) -> RunnerMapping:
    """Read a mapping, or the mapping in a scenario; raises `ConfigFileError` with all errors, by line."""
    file = Path(path)
    return mapping_of(read_config(file, hint=_HINT), str(file), file.resolve().parent)


def mapping_of(document: Document, source: str, folder: Path) -> RunnerMapping:
    """Make a mapping of what a file says; `folder` is where its programs are. Raises `ConfigFileError`."""
    if is_scenario(document.value):
        kept = {name: value for name, value in document.value.items() if name in _SECTIONS}
        if not kept:
            message = "the scenario names no agents; add `agents` and `assignments`, or use a mapping file"
            raise ConfigFileError(source, [Problem((), message)])
        document = Document(kept, document.keys, document.values)
    _form().check(document, source)
    return _Reader(source, document, folder).read()


def write_mapping(source: Path, file: Path, settings: Table[str, Json]) -> None:
    """Write the mapping of a scenario or of another file, with settings for all agents whose own do not say otherwise.

    A run that keeps this file has all that its agents were started with, so their minds can be lived again. Relative
    paths in it are of the folder of `file` from then on, not of the folder of `source`.
    """
    import yaml  # heavy

    load_mapping(source)  # raises for what is wrong with it
    document = read_config(source, hint=_HINT).value
    of_world = is_scenario(document)
    sections = {name: value for name, value in document.items() if not of_world or name in _SECTIONS}
    sections["agents"] = {
        name: {**agent, "settings": {**settings, **agent.get("settings", {})}}
        for name, agent in sections["agents"].items()
    }
    replace_file(file, yaml.safe_dump(sections, sort_keys=False, allow_unicode=True).encode())


def is_scenario(value: object) -> bool:
    """Whether a file is a world with a mapping in it, rather than a mapping."""
    return isinstance(value, Table) and "world" in value


class _Reader(DocumentReader):
    """Turns a checked document into a mapping, and collects errors that the schema can't find."""

    def __init__(self, name: str, document: Document, folder: Path) -> None:
        super().__init__(name, document)
        self._defaults: Table[str, Any] = document.value.get("defaults", {})
        self._folder = folder

    def read(self) -> RunnerMapping:
        agents = {name: self._agent(name, said) for name, said in self._said["agents"].items()}
        for name in agents:
            self._check_fallback(name, agents)
        rules = tuple(self._rule(place, said, agents) for place, said in enumerate(self._said["assignments"]))
        token = self._said.get("world_token")
        mapping = RunnerMapping(
            agents=agents,
            rules=rules,
            world_addr=self._address(),
            name=self._said.get("name", DEFAULT_NAME),
            world_ws_url=self._socket_url(),
            gateway_url=self._said.get("gateway_url", ""),
            session=self._said.get("session", ""),
            world_token=self._source(token) if token is not None else None,
            tls=self._tls(),
        )
        self._raise_if_wrong()
        return mapping

    def _address(self) -> str:
        address: str = self._said.get("world_addr", DEFAULT_WORLD_ADDR)
        try:
            if not is_local(address) and "tls" not in self._said:
                self._wrong(("world_addr",), "the world is on another machine; add `tls: {ca: FILE}` with its CA")
        except WireConfigError as error:
            self._wrong(("world_addr",), str(error))
        return address

    def _socket_url(self) -> str:
        url: str = self._said.get("world_ws_url", "")
        try:
            host = urlsplit(url).hostname or "" if url.startswith("ws://") else "localhost"
            if not is_local(f"[{host}]:1" if ":" in host else f"{host}:1"):
                message = "leases and tokens would travel to another machine in the clear; write wss://"
                self._wrong(("world_ws_url",), message)
        except (ValueError, WireConfigError):
            self._wrong(("world_ws_url",), f"{url!r} is no address; write ws://127.0.0.1:8701/ws/v1 or wss://...")
        return url

    def _tls(self) -> TlsFiles | None:
        said = self._said.get("tls")
        if said is None:
            return None
        ca, certificate, key = (
            self._folder / Path(said[name]).expanduser() if name in said else None
            for name in ("ca", "certificate", "key")
        )
        assert ca is not None, "the schema requires it"
        try:
            return TlsFiles(ca, certificate, key, said.get("server_name", ""))
        except ConfigError as error:
            self._wrong(("tls",), str(error))
            return None

    def _agent(self, name: str, said: Table[str, Any]) -> AgentSpec:
        path = ("agents", name)
        settings = said.get("settings", {})
        if not MAX_LAUNCH_BYTES.at(MAX_LAUNCH_BYTES.maximum / 2).allows(len(json.dumps(settings))):
            self._wrong((*path, "settings"), "they are too large; put them into a file and write its path here")
        numbers = {key: said.get(key, self._defaults.get(key)) for key in _NUMBERS}
        return AgentSpec(
            name=name,
            cmd=tuple(said["cmd"]),
            cwd=self._folder,
            env=self._env(name, said),
            settings=Settings(settings),
            secrets=tuple((key, self._source(source)) for key, source in said.get("secrets", {}).items()),
            restart=self._restart(said),
            fallback=said.get("fallback", ""),
            limits=_laid_over(ResourceLimits, self._defaults.get("limits", {}), said.get("limits", {})),
            place=self._place(said),
            **{key: value for key, value in numbers.items() if value is not None},
        )

    def _restart(self, said: Table[str, Any]) -> RestartPolicy:
        policy = _laid_over(RestartPolicy, self._defaults.get("restart", {}), said.get("restart", {}))
        return RestartPolicy(policy.max_restarts_per_10m, tuple(policy.backoff_ms))

    def _place(self, said: Table[str, Any]) -> ResourceRequest:
        place: ResourceRequest = _laid_over(ResourceRequest, self._defaults.get("place", {}), said.get("place", {}))
        return replace(place, resources=tuple(sorted(dict(place.resources).items())))

    def _env(self, name: str, said: Table[str, Any]) -> tuple[tuple[str, str], ...]:
        for path, env in ((("defaults", "env"), self._defaults), (("agents", name, "env"), said)):
            for key, value in env.get("env", {}).items():
                if key in _RESERVED:
                    self._wrong((*path, key), "the runner sets this variable itself; remove it", of_key=True)
                elif is_secret_name(key) and not _NUMBER.fullmatch(value):
                    self._wrong((*path, key), HOW_TO_GIVE_SECRETS, of_key=True)
        return tuple(sorted({**self._defaults.get("env", {}), **said.get("env", {})}.items()))

    def _source(self, said: Table[str, str]) -> SecretSource:
        return SecretSource(said["env"]) if "env" in said else SecretSource(file=self._folder / said["file"])

    def _check_fallback(self, name: str, agents: Table[str, AgentSpec]) -> None:
        path, seen = ("agents", name, "fallback"), [name]
        while following := agents[seen[-1]].fallback:
            if following not in agents:
                if len(seen) == 1:
                    self._wrong(path, f"there is no agent {following!r}{nearest(following, agents)}")
                return
            if following in seen:
                self._wrong(path, f"the fallbacks go in a circle: {' -> '.join([*seen, following])}; remove one")
                return
            seen.append(following)

    def _rule(self, place: int, said: Table[str, Any], agents: Table[str, AgentSpec]) -> Rule:
        use = said["use"]
        if use is not None and use not in agents:
            self._wrong(("assignments", place, "use"), f"there is no agent {use!r}{nearest(use, agents)}")
        match = said["match"]
        return Rule(
            Match(_names(match.get("tags", ())), _names(match.get("type", ())), _names(match.get("id", ()))), use or ""
        )


def _names(said: Any) -> frozenset[str]:
    return frozenset([said] if isinstance(said, str) else said)


def _laid_over(kind: Any, *given: Table[str, Any]) -> Any:
    """Return a frozen section of its defaults overridden by what is given, the last one on top."""
    values = {key: value for each in given for key, value in each.items()}
    return kind(**{item.name: values[item.name] for item in fields(kind) if item.name in values})
