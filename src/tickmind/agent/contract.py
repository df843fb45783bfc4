"""`Launch`: the contract between the starter of a character's process and the kit.

The environment, without any arguments:

    WORLD_ADDR            host:port of the world; 127.0.0.1:50051 if it is not set
    WORLD_WS_URL          the world's WebSocket, for agents without gRPC, if there is one
    ENTITY_ID             the entity that the process controls; of several, the first
    CONTROLLER_ID         the process's name; `agent:` and the entity's id if it is not set
    AGENT_CONFIG_PATH     the launch file, if there is one
    AGENT_SECRETS_FD      number of an inherited descriptor (a memfd or a pipe) that holds the secrets, or
    AGENT_SECRETS_PATH    a file that holds them and that no other user may read
    AGENT_HEARTBEAT_FD    number of an inherited pipe that takes one line for each tick
    AGENT_LOG_LEVEL       how much is logged to stderr: debug, info (if it is not set), warning or error
    PYTHONUNBUFFERED      1, so that logs arrive as they are written

The launch file is a JSON object, every part of which may be left out:

    {"entities": [{"entity_id": "alice", "controller_id": "runner:alice:villager"}],
     "settings": {}, "state_dir": "/run/agents/alice", "gateway_url": "", "session": "",
     "replies": {"path": "/runs/replies.jsonl", "fills": true},
     "tls": {"ca": "/certificates/ca.pem"}, "world_token_file": "/tokens/agents"}

Several entities are controlled by one process over one stream. `state_dir` is a folder of the process's own, where it
keeps what takes its entities back after a crash. `replies` is a file that model calls are played from, and kept in
where they are missing if it `fills`. `tls` names the certificates for a world and a gateway behind TLS, with those of
the client as `certificate` and `key`; `world_token_file` is read again whenever it changes. Secrets are a JSON object
of names and values, read once.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tickmind.agent.errors import LaunchError
from tickmind.agent.settings import Json, Settings
from tickmind.base import ConfigError, Limit, LimitExceededError, Secret
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.files import PRIVATE_MODE, replace_file
from tickmind.base.secret_sources import SourceError, read_private

CONTRACT_VERSION = 1  # of docs/guides/agent-contract.md
WORLD_ADDR = "WORLD_ADDR"
WORLD_WS_URL = "WORLD_WS_URL"
ENTITY_ID = "ENTITY_ID"
CONTROLLER_ID = "CONTROLLER_ID"
CONFIG_PATH = "AGENT_CONFIG_PATH"
SECRETS_FD = "AGENT_SECRETS_FD"
SECRETS_PATH = "AGENT_SECRETS_PATH"
HEARTBEAT_FD = "AGENT_HEARTBEAT_FD"
LOG_LEVEL = "AGENT_LOG_LEVEL"
UNBUFFERED = "PYTHONUNBUFFERED"
LOG_LEVELS = ("debug", "info", "warning", "error")

DEFAULT_WORLD_ADDR = "127.0.0.1:50051"
WORLD_TOKEN = "WORLD_TOKEN"  # noqa: S105  # the name of a secret, not its value

MAX_LAUNCH_BYTES = Limit("size of the launch file", 4_000_000, "bytes")
MAX_SECRETS_BYTES = Limit("size of the secrets", 65_536, "bytes")
MAX_ENTITIES = Limit("number of entities of one process", 10_000)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One entity and the name under which the process controls it."""

    entity_id: str
    controller_id: str


@dataclass(frozen=True, slots=True)
class KeptReplies:
    """The file that the model calls of a run are played from; with `fills`, missing ones are asked for and kept."""

    path: Path
    fills: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings that a character's process is started with, read once at its start.

    The runner makes one, writes its file and passes `to_environment()`; the process reads `from_environment()`. Raises
    `LaunchError` without an entity, or if one is named twice.
    """

    entities: tuple[Assignment, ...]
    world_addr: str = DEFAULT_WORLD_ADDR
    world_ws_url: str = ""  # of the same world, for agents that speak WebSocket; empty if it has none
    settings: Settings = field(default_factory=Settings)
    state_dir: Path | None = None
    gateway_url: str = ""
    session: str = ""  # whose share of the models the process uses
    replies: KeptReplies | None = None
    tls: TlsFiles | None = None  # for a world and a gateway behind TLS
    world_token_file: Path | None = None  # read again when it changes; instead of the secret `WORLD_TOKEN`
    config_path: Path | None = None
    secrets_fd: int | None = None
    secrets_path: Path | None = None
    heartbeat_fd: int | None = None

    def __post_init__(self) -> None:
        if not self.entities:
            raise LaunchError("no entity to control; set ENTITY_ID, or entities in the launch file")
        MAX_ENTITIES.check(len(self.entities))
        ids = [each.entity_id for each in self.entities]
        if len(set(ids)) < len(ids):
            raise LaunchError("the launch file names an entity twice; name each entity once")

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "Launch":
        """Read the environment and the launch file; raises `LaunchError` for what is missing or wrong."""
        path = Path(env[CONFIG_PATH]) if env.get(CONFIG_PATH) else None
        file = _LaunchFile({} if path is None else _read_object(path, MAX_LAUNCH_BYTES, "the launch file"))
        entity_id = env.get(ENTITY_ID, "")
        entities = file.entities()
        if not entities and entity_id:
            entities = (Assignment(entity_id, env.get(CONTROLLER_ID) or f"agent:{entity_id}"),)
        if not entities:
            raise LaunchError(
                f"{ENTITY_ID} is not set, so there is no entity to control; "
                f"start the agent as {ENTITY_ID}=alice python ..., with an id of `tickmind world` or of a runner"
            )
        if entity_id and all(each.entity_id != entity_id for each in entities):
            raise LaunchError(f"{ENTITY_ID} is {entity_id!r}, which the launch file {path} does not name; unset one")
        secrets_path = env.get(SECRETS_PATH)
        return cls(
            entities=entities,
            world_addr=env.get(WORLD_ADDR) or DEFAULT_WORLD_ADDR,
            world_ws_url=env.get(WORLD_WS_URL, ""),
            settings=file.settings(),
            state_dir=file.path("state_dir"),
            gateway_url=file.text("gateway_url"),
            session=file.text("session"),
            replies=file.replies(),
            tls=file.tls(),
            world_token_file=file.path("world_token_file"),
            config_path=path,
            secrets_fd=_descriptor(env, SECRETS_FD),
            secrets_path=Path(secrets_path) if secrets_path else None,
            heartbeat_fd=_descriptor(env, HEARTBEAT_FD),
        )

    def to_environment(self) -> dict[str, str]:
        """Return the variables that `from_environment` reads, for the environment of the new process."""
        first = self.entities[0]
        env = {
            WORLD_ADDR: self.world_addr,
            ENTITY_ID: first.entity_id,
            CONTROLLER_ID: first.controller_id,
            UNBUFFERED: "1",
        }
        optional = {
            WORLD_WS_URL: self.world_ws_url or None,
            CONFIG_PATH: self.config_path,
            SECRETS_FD: self.secrets_fd,
            SECRETS_PATH: self.secrets_path,
            HEARTBEAT_FD: self.heartbeat_fd,
        }
        return env | {name: str(value) for name, value in optional.items() if value is not None}

    def write_file(self) -> None:
        """Write the launch file to `config_path`, readable for this user only. There is no secret in it.

        Raises `LaunchError` if there is no `config_path`.
        """
        if self.config_path is None:
            raise LaunchError("config_path is not set; set it to the path of the launch file")
        content: dict[str, Json] = {
            "entities": [{"entity_id": each.entity_id, "controller_id": each.controller_id} for each in self.entities],
            "settings": self.settings.to_json(),
            "state_dir": str(self.state_dir or ""),
            "gateway_url": self.gateway_url,
            "session": self.session,
        }
        if self.replies is not None:
            content["replies"] = {"path": str(self.replies.path), "fills": self.replies.fills}
        if self.tls is not None:
            files = {"ca": self.tls.ca, "certificate": self.tls.certificate, "key": self.tls.key}
            content["tls"] = {
                **{name: str(path) for name, path in files.items() if path is not None},
                **({"server_name": self.tls.server_name} if self.tls.server_name else {}),
            }
        if self.world_token_file is not None:
            content["world_token_file"] = str(self.world_token_file)
        replace_file(self.config_path, json.dumps(content, ensure_ascii=False).encode(), mode=PRIVATE_MODE)

    def take_secrets(self) -> dict[str, Secret]:
        """Read the secrets and close their descriptor, once at the start of the process; empty if there are none.

        Raises `LaunchError` if they can't be read, or one is not a text.
        """
        if self.secrets_fd is not None:
            values = _parse_object(_drain(self.secrets_fd), f"the secrets at {SECRETS_FD}")
        elif self.secrets_path is not None:
            values = _read_secrets(self.secrets_path)
        else:
            return {}
        secrets: dict[str, Secret] = {}
        for name, value in values.items():
            if not isinstance(value, str):
                raise LaunchError(f"the secret {name!r} must be a text")
            secrets[name] = Secret(value, lasting=True)
        return secrets


def log_level(env: Mapping[str, str]) -> str:
    """Return the log level of the process; raises `LaunchError` for an unknown one."""
    level = env.get(LOG_LEVEL, "").lower() or "info"
    if level not in LOG_LEVELS:
        raise LaunchError(f"{LOG_LEVEL} must be one of {', '.join(LOG_LEVELS)}, not {level!r}")
    return level


def encode_secrets(secrets: Mapping[str, Secret]) -> bytes:
    """Encode secrets as a runner writes them into the descriptor or the file."""
    content = json.dumps({name: secret.reveal() for name, secret in secrets.items()}).encode()
    MAX_SECRETS_BYTES.check(len(content))
    return content


class _LaunchFile:
    """Read the launch file's object, part by part."""

    def __init__(self, content: dict[str, Json]) -> None:
        self._content = content

    def entities(self) -> tuple[Assignment, ...]:
        listed = self._content.get("entities", [])
        if not isinstance(listed, list):
            raise LaunchError("entities in the launch file must be a list of objects with entity_id and controller_id")
        assignments: list[Assignment] = []
        for place, each in enumerate(listed):
            entity_id = each.get("entity_id") if isinstance(each, dict) else None
            controller_id = each.get("controller_id", "") if isinstance(each, dict) else None
            if not isinstance(entity_id, str) or not entity_id or not isinstance(controller_id, str):
                raise LaunchError(
                    f"entities[{place}] in the launch file must have entity_id and controller_id as texts"
                )
            assignments.append(Assignment(entity_id, controller_id or f"agent:{entity_id}"))
        return tuple(assignments)

    def settings(self) -> Settings:
        value = self._content.get("settings", {})
        if not isinstance(value, dict):
            raise LaunchError("settings in the launch file must be an object")
        return Settings(value)

    def replies(self) -> KeptReplies | None:
        value = self._content.get("replies")
        if value is None:
            return None
        path = value.get("path") if isinstance(value, dict) else None
        fills = value.get("fills", False) if isinstance(value, dict) else None
        if not isinstance(path, str) or not path or not isinstance(fills, bool):
            raise LaunchError("replies in the launch file must have a path, and may have fills as true or false")
        return KeptReplies(Path(path), fills)

    def tls(self) -> TlsFiles | None:
        value = self._content.get("tls")
        if value is None:
            return None
        said = value if isinstance(value, dict) else {"": None}
        texts = {name: text for name, text in said.items() if isinstance(text, str) and text}
        if texts.keys() < said.keys() or "ca" not in texts:
            raise LaunchError(
                "tls in the launch file must have a ca, and may have certificate and key, all of them paths"
            )
        certificate, key = (Path(texts[name]) if name in texts else None for name in ("certificate", "key"))
        try:
            return TlsFiles(Path(texts["ca"]), certificate, key, texts.get("server_name", ""))
        except ConfigError as error:
            raise LaunchError(f"tls in the launch file: {error}") from None

    def path(self, name: str) -> Path | None:
        text = self.text(name)
        return Path(text) if text else None

    def text(self, name: str) -> str:
        value = self._content.get(name, "")
        if not isinstance(value, str):
            raise LaunchError(f"{name} in the launch file must be a text")
        return value


def _descriptor(env: Mapping[str, str], name: str) -> int | None:
    text = env.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise LaunchError(f"{name} must be the number of an inherited descriptor, not {text!r}")
    return int(text)


def _read_object(path: Path, limit: Limit, what: str) -> dict[str, Json]:
    try:
        with path.open("rb") as file:
            content = file.read(int(limit.maximum) + 1)
    except OSError as error:
        raise LaunchError(f"{what} {path} can't be read: {error.strerror}") from None
    _check_size(limit, content)
    return _parse_object(content, f"{what} {path}")


def _parse_object(content: bytes, what: str) -> dict[str, Json]:
    try:
        value: Json = json.loads(content)
    except (ValueError, RecursionError):
        raise LaunchError(f"{what} must be a JSON object") from None  # the error would show what is in it
    if not isinstance(value, dict):
        raise LaunchError(f"{what} must be a JSON object")
    return value


def _drain(descriptor: int) -> bytes:
    """Read all that a descriptor holds, from its beginning where it has one."""
    content = b""
    try:
        with suppress(OSError):  # a pipe has no beginning to go to
            os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(int(MAX_SECRETS_BYTES.maximum) + 1)
    except OSError as error:
        raise LaunchError(f"{SECRETS_FD} is {descriptor}, which can't be read: {error.strerror}") from None
    _check_size(MAX_SECRETS_BYTES, content)
    return content


def _check_size(limit: Limit, content: bytes) -> None:
    try:
        limit.check(len(content))
    except LimitExceededError as error:
        raise LaunchError(str(error)) from None


def _read_secrets(path: Path) -> dict[str, Json]:
    what = "the file of secrets"
    try:
        content = read_private(path, MAX_SECRETS_BYTES, what)
    except (SourceError, LimitExceededError) as error:
        raise LaunchError(str(error)) from None
    return _parse_object(content, f"{what} {path}")
