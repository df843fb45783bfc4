"""Cut whole replies into stream pieces, and join pieces again."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.streaming.assembly import ReplyBuilder
from tickmind.llm.transport import ModelReply, StreamPiece, ToolCallDelta, Usage

Cut = int | Sequence[int] | random.Random
_LARGEST_RANDOM_PIECE = 8  # characters


def cut_text(text: str, cut: Cut) -> list[str]:
    """Cut a text in pieces of one size, of these sizes in turn, or of random sizes; nothing is lost or added."""
    sizes = _sizes(cut)
    pieces: list[str] = []
    start = 0
    while start < len(text):
        size = next(sizes)
        pieces.append(text[start : start + size])
        start += size
    return pieces


def _sizes(cut: Cut) -> Iterator[int]:
    if isinstance(cut, random.Random):
        return iter(lambda: cut.randint(1, _LARGEST_RANDOM_PIECE), None)
    sizes = (cut,) if isinstance(cut, int) else tuple(cut)
    if not sizes or min(sizes) < 1:
        raise LLMConfigError(f"the pieces of a text must have at least one character, not {cut!r}")
    return cycle(sizes)


def cut_reply(reply: ModelReply, cut: Cut) -> Iterator[StreamPiece]:
    """Yield a reply as an endpoint would stream it: thinking, then content, then tool calls, then how it ended.

    An empty `finish_reason` makes a stream that ends without one.
    """
    yield StreamPiece(model=reply.model, id=reply.id)
    for block in reply.thinking:
        for text in cut_text(block.text, cut):
            yield StreamPiece(thinking=text)
        if block.wire or block.signature or block.data:
            yield StreamPiece(block=block)
    for text in cut_text(reply.content, cut):
        yield StreamPiece(content=text)
    for index, call in enumerate(reply.tool_calls):
        yield StreamPiece(tool_calls=(ToolCallDelta(index, id=call.id, name=call.name),))
        for text in cut_text(call.arguments, cut):
            yield StreamPiece(tool_calls=(ToolCallDelta(index, arguments=text),))
    usage = None if reply.usage == Usage() else reply.usage
    if reply.finish_reason or usage:
        yield StreamPiece(finish_reason=reply.finish_reason or None, usage=usage)


def join_pieces(pieces: Iterable[StreamPiece]) -> ModelReply:
    """Join the pieces of a stream, to compare a transport's pieces with its whole reply."""
    builder = ReplyBuilder()
    for piece in pieces:
        builder.add(piece)
    return builder.reply()
