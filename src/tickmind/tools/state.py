"""`InterruptedRun`: a run that a tool's question stopped, as JSON until the answer comes."""

import binascii
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from tickmind.base import ConfigError
from tickmind.llm.message_codec import message_form, read_message
from tickmind.llm.messages import Message
from tickmind.llm.transport import Usage
from tickmind.tools.trace import ToolTrace

_VERSION = 1


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A tool's question. With `rerun` the tool is called again with the answer, else the answer is its result."""

    call_id: str
    tool: str
    question: str
    details: Mapping[str, Any] = field(default_factory=dict)
    rerun: bool = False


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """The state to resume an interrupted run from, in this process or another."""

    run_id: str
    agent_id: str
    step: int
    history: tuple[Message, ...]  # before the run
    messages: tuple[Message, ...]  # of the run; the last one is the model's, with its tool calls
    results: Mapping[str, str]  # call id -> the tool's answer, for finished calls
    questions: tuple[PendingQuestion, ...]
    recovered: bool = False
    usage: Usage = field(default_factory=Usage)
    tool_trace: tuple[ToolTrace, ...] = ()

    def to_json(self) -> str:
        """Write the state as one line of JSON."""
        plain = {
            "version": _VERSION,
            "run_id": self.run_id,
            "agent_id": self.agent_id,
            "step": self.step,
            "history": [message_form(message) for message in self.history],
            "messages": [message_form(message) for message in self.messages],
            "results": dict(self.results),
            "questions": [asdict(question) for question in self.questions],
            "recovered": self.recovered,
            "usage": asdict(self.usage),
            "tool_trace": [entry.to_dict() for entry in self.tool_trace],
        }
        return orjson.dumps(plain, default=str).decode("utf-8")

    @classmethod
    def from_json(cls, text: str | bytes) -> "InterruptedRun":
        """Read a state; raises `ConfigError` if the text is anything else."""
        try:
            plain = orjson.loads(text)
            if plain["version"] != _VERSION:
                raise ConfigError(f"the agent's state has version {plain['version']!r}; this program reads {_VERSION}")
            return cls(
                run_id=str(plain["run_id"]),
                agent_id=str(plain["agent_id"]),
                step=int(plain["step"]),
                history=tuple(read_message(item) for item in plain["history"]),
                messages=tuple(read_message(item) for item in plain["messages"]),
                results={str(call_id): str(result) for call_id, result in plain["results"].items()},
                questions=tuple(PendingQuestion(**item) for item in plain["questions"]),
                recovered=bool(plain["recovered"]),
                usage=Usage(**plain["usage"]),
                tool_trace=tuple(ToolTrace(**item) for item in plain["tool_trace"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError, binascii.Error) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"this text is not an agent's state ({type(error).__name__}: {error})") from error
