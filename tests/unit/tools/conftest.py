"""The package's own scripted transport, with what the tests of agents need besides."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from tickmind.llm import testing
from tickmind.llm.messages import Message, ToolCall
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece, Usage

Whole = Callable[[Sequence[Message]], bool]
Step = ModelReply | Exception | list[StreamPiece] | Callable[[ModelRequest], ModelReply]


class ScriptedTransport(testing.ScriptedTransport):
    """Past its last step it hangs; a step may be the very pieces of a stream. The loop goes round between pieces."""

    def __init__(self, steps: Sequence[Step], *, cut: int = 3) -> None:
        super().__init__(self._step, cut=cut, piece_latency_s=1e-9, sleep=lambda _: asyncio.sleep(0))
        self.steps = list(steps)
        self.cancelled = 0

    @property
    def requests(self) -> list[ModelRequest]:
        return [call.request for call in self.calls]

    @property
    def streamed(self) -> list[bool]:
        return [call.streamed for call in self.calls]

    @staticmethod
    def say(text: str, *calls: tuple[str, str] | ToolCall, usage: Usage | None = None) -> ModelReply:
        """A reply with text and calls, given as (name, arguments)."""
        made = [
            call if isinstance(call, ToolCall) else ToolCall(f"id{place}_{call[0]}", call[0], call[1])
            for place, call in enumerate(calls)
        ]
        reason = "tool_calls" if calls else "stop"
        return ModelReply(text, reason, tool_calls=tuple(made), usage=usage or Usage(10, 5))

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        if self.steps and isinstance(self.steps[0], list):
            self.calls.append(testing.ScriptedCall(request, True, timeout_s))
            yield self._given(self.steps.pop(0))
            return
        async with super().stream(request, timeout_s=timeout_s) as pieces:
            yield pieces

    @staticmethod
    async def _given(pieces: Step) -> AsyncIterator[StreamPiece]:
        assert isinstance(pieces, list)
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    async def _step(self, request: ModelRequest) -> testing.Reply:
        if not self.steps:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        step = self.steps.pop(0)
        assert not isinstance(step, list)
        return step(request) if callable(step) else step


def is_whole(messages: Sequence[Message]) -> bool:
    """Each tool call has exactly one result, right after it and in its order, and no id stands twice."""
    seen: set[str] = set()
    expected: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not expected or message.tool_call_id != expected.pop(0):
                return False
            continue
        if expected:
            return False
        for call in message.tool_calls:
            if call.id in seen or not isinstance(json.loads(call.arguments), dict):
                return False
            seen.add(call.id)
            expected.append(call.id)
    return not expected


@pytest.fixture(scope="session")
def script() -> type[ScriptedTransport]:
    """The scripted transport, to be filled by the test."""
    return ScriptedTransport


@pytest.fixture(scope="session")
def well_formed() -> Whole:
    """Tells whether a history is whole."""
    return is_whole
