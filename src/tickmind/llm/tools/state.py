"""An interrupted run, kept as JSON until somebody answers."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from tickmind.base import ConfigError
from tickmind.llm.messages import Audio, Image, Message, Part, Text, ThinkingBlock, ToolCall
from tickmind.llm.tools.trace import ToolTrace
from tickmind.llm.transport import Usage

_VERSION = 1


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """What a tool asked. With `rerun` the tool is called again with the answer, else the answer is its result."""

    call_id: str
    tool: str
    question: str
    details: Mapping[str, Any] = field(default_factory=dict)
    rerun: bool = False


@dataclass(frozen=True, slots=True)
class AgentState:
    """Everything that is needed to go on with an interrupted run, in this process or another."""

    run_id: str
    agent_id: str
    step: int
    history: tuple[Message, ...]  # before the run
    messages: tuple[Message, ...]  # of the run; the last one is the model's, with its tool calls
    results: Mapping[str, str]  # call id -> what the tool answered, for the calls that are done
    questions: tuple[PendingQuestion, ...]
    recovered: bool = False
    usage: Usage = field(default_factory=Usage)
    tool_trace: tuple[ToolTrace, ...] = ()

    def to_json(self) -> str:
        """One line of JSON."""
        plain = {
            "version": _VERSION,
            "run_id": self.run_id,
            "agent_id": self.agent_id,
            "step": self.step,
            "history": [message_to_plain(message) for message in self.history],
            "messages": [message_to_plain(message) for message in self.messages],
            "results": dict(self.results),
            "questions": [asdict(question) for question in self.questions],
            "recovered": self.recovered,
            "usage": asdict(self.usage),
            "tool_trace": [entry.to_dict() for entry in self.tool_trace],
        }
        return orjson.dumps(plain, default=str).decode("utf-8")

    @classmethod
    def from_json(cls, text: str | bytes) -> "AgentState":
        """Read it back; raises `ConfigError` if it is anything else."""
        try:
            plain = orjson.loads(text)
            if plain["version"] != _VERSION:
                raise ConfigError(f"this state has version {plain['version']!r}; this program reads {_VERSION}")
            return cls(
                run_id=str(plain["run_id"]),
                agent_id=str(plain["agent_id"]),
                step=int(plain["step"]),
                history=tuple(message_from_plain(item) for item in plain["history"]),
                messages=tuple(message_from_plain(item) for item in plain["messages"]),
                results={str(call_id): str(result) for call_id, result in plain["results"].items()},
                questions=tuple(PendingQuestion(**item) for item in plain["questions"]),
                recovered=bool(plain["recovered"]),
                usage=Usage(**plain["usage"]),
                tool_trace=tuple(ToolTrace(**item) for item in plain["tool_trace"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError, binascii.Error) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"this is no state of an agent ({type(error).__name__}: {error})") from error


def message_to_plain(message: Message) -> dict[str, Any]:
    """A message as JSON data; `message_from_plain` reads it back the same."""
    plain: dict[str, Any] = {"role": message.role, "parts": [_part_to_plain(part) for part in message.parts]}
    if message.tool_calls:
        plain["tool_calls"] = [asdict(call) for call in message.tool_calls]
    if message.thinking:
        plain["thinking"] = [asdict(block) for block in message.thinking]
    if message.tool_call_id:
        plain["tool_call_id"] = message.tool_call_id
    if message.name:
        plain["name"] = message.name
    return plain


def message_from_plain(plain: Mapping[str, Any]) -> Message:
    """A message from JSON data."""
    role = plain["role"]
    if role not in ("system", "user", "assistant", "tool"):
        raise ConfigError(f"{role!r} is no role of a message")
    return Message(
        role,
        tuple(_part_from_plain(part) for part in plain["parts"]),
        tuple(ToolCall(**call) for call in plain.get("tool_calls", ())),
        str(plain.get("tool_call_id", "")),
        str(plain.get("name", "")),
        tuple(ThinkingBlock(**block) for block in plain.get("thinking", ())),
    )


def _part_to_plain(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image", "url": part.url, "detail": part.detail}
    return {"type": "audio", "data": base64.b64encode(part.data).decode("ascii"), "format": part.format}


def _part_from_plain(plain: Mapping[str, Any]) -> Part:
    kind = plain["type"]
    if kind == "text":
        return Text(str(plain["text"]))
    if kind == "image":
        return Image(str(plain["url"]), plain["detail"])
    if kind == "audio":
        return Audio(base64.b64decode(plain["data"], validate=True), str(plain["format"]))
    raise ConfigError(f"{kind!r} is no part of a message")
