"""A reply whose thinking in `<think>` tags is taken apart from what it says, whole or as it comes."""

from dataclasses import replace

from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.streaming.assembly import ReplyBuilder
from tickmind.llm.streaming.thinking import Piece, ThinkSplitter
from tickmind.llm.transport import ModelReply, StreamPiece


class SeparatedReply:
    """Takes the pieces of a stream as they come. What was said in the end is in `reply`, not in the pieces.

    A tag that closes what the prompt had opened makes thinking of what was given out as content before.
    """

    def __init__(self, splitter: ThinkSplitter) -> None:
        self._splitter = splitter
        self._came = ReplyBuilder()

    def add(self, piece: StreamPiece) -> list[Piece]:
        """Take one piece and give what is certain of it."""
        self._came.add(piece)
        given: list[Piece] = []
        if piece.thinking:
            self._splitter.note_thinking("")  # the text stays in its own block
            given.append((True, piece.thinking))
        return given + self._splitter.feed(piece.content) if piece.content else given

    def finish(self) -> list[Piece]:
        """Give what was held back; the stream has ended, well or not."""
        return self._splitter.finish()

    @property
    def content(self) -> str:
        """What was said so far."""
        return self._splitter.content

    def reply(self) -> ModelReply:
        """The whole of what came."""
        return _with_totals(self._came.reply(), self._splitter)


def separate(reply: ModelReply, splitter: ThinkSplitter) -> ModelReply:
    """A whole reply, its thinking taken apart."""
    if any(block.text for block in reply.thinking):
        splitter.note_thinking("")
    splitter.feed(reply.content)
    splitter.finish()
    return _with_totals(reply, splitter)


def _with_totals(reply: ModelReply, splitter: ThinkSplitter) -> ModelReply:
    found = splitter.thinking
    thinking = (*reply.thinking, ThinkingBlock(found)) if found else reply.thinking
    return replace(reply, content=splitter.content, thinking=thinking)
