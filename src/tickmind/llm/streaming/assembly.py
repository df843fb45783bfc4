"""Assemble the pieces of a streamed reply into the whole reply."""

import orjson

from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.served import Served
from tickmind.llm.transport import ModelReply, StreamPiece, ToolCallDelta, Usage


class ToolCallBuilder:
    """Assemble streamed tool calls, in the order of their indexes."""

    __slots__ = ("_calls", "_current")

    def __init__(self) -> None:
        self._calls: list[tuple[int, str, str, list[str]]] = []  # index on the wire, id, name, pieces of the arguments
        self._current: dict[int, int] = {}  # index on the wire -> place in _calls

    def add(self, delta: ToolCallDelta) -> None:
        """Add a piece. Some endpoints give every call the same index, and some give no ids.

        Then another id, another name, or arguments that follow a whole object begin another call.
        """
        index = delta.index
        place = self._current.get(index)
        if place is not None:
            _, id_, name, arguments = self._calls[place]
            if not self._begins_another(delta, id_, name, arguments):
                self._calls[place] = (index, id_ or delta.id, name or delta.name, arguments)
                arguments.append(delta.arguments)
                return
        self._current[index] = len(self._calls)
        same_name = "" if place is None else self._calls[place][2]  # where only arguments begin the next call
        self._calls.append((index, delta.id, delta.name or same_name, [delta.arguments]))

    @staticmethod
    def _begins_another(delta: ToolCallDelta, id_: str, name: str, arguments: list[str]) -> bool:
        if delta.id and id_:
            return delta.id != id_
        if delta.name and name and delta.name != name:
            return True
        return delta.arguments.lstrip().startswith("{") and _is_object("".join(arguments))

    def build(self) -> tuple[ToolCall, ...]:
        """Return the calls so far, each with an id and arguments, even where the endpoint left them out."""
        in_order = sorted(self._calls, key=lambda call: call[0])
        return tuple(
            ToolCall(id_ or f"call_{place}", name, "".join(arguments) or "{}")
            for place, (_, id_, name, arguments) in enumerate(in_order)
        )


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


class ReplyBuilder:
    """Assemble the pieces of a stream; nothing is lost if it ends without a finish reason."""

    __slots__ = (
        "_calls",
        "_content",
        "_id",
        "_thinking",
        "attempts",
        "blocks",
        "finish_reason",
        "model",
        "served",
        "usage",
    )

    def __init__(self) -> None:
        self._content: list[str] = []
        self._thinking: list[str] = []  # since the last whole block
        self._calls: ToolCallBuilder | None = None  # most replies have none
        self._id = ""
        self.blocks: list[ThinkingBlock] = []
        self.finish_reason = ""
        self.usage = Usage()
        self.model = ""
        self.attempts = 1
        self.served: Served | None = None

    @property
    def content(self) -> str:
        """The content so far."""
        return "".join(self._content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls so far."""
        return () if self._calls is None else self._calls.build()

    def add(self, piece: StreamPiece) -> None:
        """Add one piece."""
        if piece.content:
            self._content.append(piece.content)
        if piece.thinking:
            self._thinking.append(piece.thinking)
        if piece.block is not None:
            self.blocks.append(piece.block)
            self._thinking.clear()  # the block repeats it
        if piece.tool_calls:
            if self._calls is None:
                self._calls = ToolCallBuilder()
            for delta in piece.tool_calls:
                self._calls.add(delta)
        if piece.finish_reason is not None:
            self.finish_reason = piece.finish_reason
        if piece.usage is not None:
            self.usage = piece.usage
        if piece.model:
            self.model = piece.model
        if piece.id:
            self._id = piece.id
        if piece.attempts > 1:
            self.attempts = piece.attempts
        if piece.served is not None:
            self.served = piece.served

    def reply(self) -> ModelReply:
        """Return the reply so far; its finish reason is empty if none came."""
        loose = "".join(self._thinking)
        return ModelReply(
            content=self.content,
            finish_reason=self.finish_reason,
            thinking=(*self.blocks, ThinkingBlock(loose)) if loose else tuple(self.blocks),
            tool_calls=self.tool_calls,
            usage=self.usage,
            model=self.model,
            id=self._id,
            attempts=self.attempts,
            served=self.served,
        )
