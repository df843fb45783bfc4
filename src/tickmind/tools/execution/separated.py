"""`SeparatedReply`: a reply with its `<think>` text separated from the answer, whole or streamed."""

from dataclasses import replace

from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.streaming.assembly import ReplyBuilder
from tickmind.llm.streaming.thinking import Piece, ThinkSplitter
from tickmind.llm.transport import ModelReply, StreamPiece


class SeparatedReply:
    """Separate the pieces of a stream. The final answer is in `reply`, not in the pieces.

    A tag that closes what the prompt had opened turns content that was already given out into thinking.
    """

    def __init__(self, splitter: ThinkSplitter) -> None:
        self._splitter = splitter
        self._came = ReplyBuilder()

    def add(self, piece: StreamPiece) -> list[Piece]:
        """Add a piece and return what is certain of it."""
        self._came.add(piece)
        given: list[Piece] = []
        if piece.thinking:
            self._splitter.note_thinking("")  # the text stays in its own block
            given.append((True, piece.thinking))
        return given + self._splitter.feed(piece.content) if piece.content else given

    def finish(self) -> list[Piece]:
        """Return what was held back at the end of the stream, whole or broken."""
        return self._splitter.finish()

    @property
    def content(self) -> str:
        """The content so far."""
        return self._splitter.content

    def reply(self) -> ModelReply:
        """Return the whole reply."""
        return _with_totals(self._came.reply(), self._splitter)


def separate(reply: ModelReply, splitter: ThinkSplitter) -> ModelReply:
    """Separate the thinking of a whole reply."""
    if any(block.text for block in reply.thinking):
        splitter.note_thinking("")
    splitter.feed(reply.content)
    splitter.finish()
    return _with_totals(reply, splitter)


def _with_totals(reply: ModelReply, splitter: ThinkSplitter) -> ModelReply:
    separated = splitter.thinking
    thinking = (*reply.thinking, ThinkingBlock(separated)) if separated else reply.thinking
    return replace(reply, content=splitter.content, thinking=thinking)
