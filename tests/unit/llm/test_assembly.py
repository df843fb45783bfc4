from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.streaming.assembly import ReplyBuilder, ToolCallBuilder
from tickmind.llm.transport import ModelReply, StreamPiece, ToolCallDelta, Usage


def built(*pieces: StreamPiece) -> ModelReply:
    builder = ReplyBuilder()
    for piece in pieces:
        builder.add(piece)
    return builder.reply()


def test_calls_come_in_the_order_of_their_indexes() -> None:
    builder = ToolCallBuilder()
    for delta in [ToolCallDelta(1, "b", "go", "{"), ToolCallDelta(0, "a", "look"), ToolCallDelta(1, arguments="}")]:
        builder.add(delta)
    assert builder.build() == (ToolCall("a", "look", "{}"), ToolCall("b", "go", "{}"))


def test_a_call_without_an_id_gets_one() -> None:
    builder = ToolCallBuilder()
    builder.add(ToolCallDelta(0, name="look", arguments='{"at": 1}'))
    assert builder.build() == (ToolCall("call_0", "look", '{"at": 1}'),)


def test_thinking_that_a_block_repeats_is_not_there_twice() -> None:
    sealed = ThinkingBlock("one two", "anthropic", "seal")
    pieces = [StreamPiece(thinking="one "), StreamPiece(thinking="two"), StreamPiece(block=sealed)]
    assert built(*pieces).thinking == (sealed,)
    assert built(*pieces, StreamPiece(thinking="three")).thinking == (sealed, ThinkingBlock("three"))


def test_a_stream_without_a_finish_reason_has_none() -> None:
    assert built(StreamPiece("hi")) == ModelReply("hi", "")


def test_usage_model_id_and_attempts_are_the_last_ones_told() -> None:
    reply = built(StreamPiece(model="m", id="r", attempts=3), StreamPiece(usage=Usage(1)), StreamPiece(usage=Usage(2)))
    assert (reply.model, reply.id, reply.attempts, reply.usage) == ("m", "r", 3, Usage(2))


def test_usages_add_up_and_what_nobody_knows_stays_unknown() -> None:
    assert Usage(1, 2, None, None) + Usage(10, None, 5, None) == Usage(11, 2, 5, None)
