"""What is taken as messages, and what their bytes are."""

import base64
from typing import Any

import pytest

from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import Audio, Image, Message, Text, ThinkingBlock, ToolCall, as_messages
from tickmind.llm.testing import ScriptedTransport
from tickmind.tools import ToolAgent

HELLO = Message.user("Hello")
PICTURE = "data:image/png;base64,iVBORw=="
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}


@pytest.mark.parametrize("given", ["Hello", HELLO, {"role": "user", "content": "Hello"}])
def test_one_message_is_taken_alone_and_in_a_list(given: Any) -> None:
    assert as_messages(given) == as_messages([given]) == as_messages(iter([given])) == (HELLO,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"role": "developer", "content": "Be brief."}, Message.system("Be brief.")),
        (
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "See:"},
                    {"type": "image_url", "image_url": {"url": PICTURE, "detail": "high"}},
                    {"type": "input_audio", "input_audio": {"data": base64.b64encode(b"x").decode(), "format": "mp3"}},
                ],
            },
            Message("user", (Text("See:"), Image(PICTURE, "high"), Audio(b"x", "mp3"))),
        ),
        (
            {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "Hm."},
            Message.assistant(
                tool_calls=[ToolCall("c1", "look", '{"at":1}')], thinking=[ThinkingBlock("Hm.", "chat/reasoning")]
            ),
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "a well"},
            Message("tool", (Text("a well"),), tool_call_id="c1"),
        ),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, Message.assistant("No.")),
    ],
    ids=["developer", "parts", "calls", "result", "refusal"],
)
def test_a_mapping_in_openai_form_is_read_whole(given: Any, message: Message) -> None:
    assert as_messages(given) == (message,)


@pytest.mark.parametrize(
    "given",
    [
        {"content": "no role"},
        {"role": "robot", "content": "Hi"},
        {"role": "user", "content": 7},
        {"role": "user", "content": {"type": "text", "text": "not in a list"}},
        {"role": "user", "content": [{"type": "video"}]},
        {"role": "user", "content": [7]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "no base64!"}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]},
        {"role": "assistant", "content": "", "tool_calls": CALL},
        [7],
        7,
    ],
)
def test_what_is_no_message_is_refused(given: Any) -> None:
    with pytest.raises(LLMConfigError):
        as_messages(given)


@pytest.mark.asyncio
@pytest.mark.parametrize("given", [HELLO, {"role": "user", "content": "Hello"}], ids=["message", "mapping"])
async def test_complete_stream_and_invoke_take_one_message(given: Any) -> None:
    transport = ScriptedTransport(lambda request: "|".join(message.text for message in request.messages))
    async with ModelClient(ModelConfig("http://127.0.0.1:9/v1"), transport) as client:
        assert (await client.complete(given)).content == "Hello"
        async with client.stream(given) as stream:
            assert (await stream.result).content == "Hello"
        assert (await ToolAgent(client).invoke(given)).text == "Hello"


@pytest.mark.asyncio
async def test_a_stream_that_was_not_opened_can_not_be_iterated() -> None:
    async with ModelClient(ModelConfig("http://127.0.0.1:9/v1"), ScriptedTransport("Hi")) as client:
        for stream in (client.stream("Hello"), client.stream_structured("Hello", ["mood"])):
            with pytest.raises(LLMConfigError, match="async with"):
                async for _ in stream:
                    pass


@pytest.mark.asyncio
async def test_a_stream_that_was_left_has_nothing_more_to_give() -> None:
    async with ModelClient(ModelConfig("http://127.0.0.1:9/v1"), ScriptedTransport("Hi there")) as client:
        async with client.stream("Hello") as stream:
            pass
        assert [chunk async for chunk in stream] == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0...", "image/jpeg"),
        (b"GIF87a...", "image/gif"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_a_pictures_bytes_tell_its_type(data: bytes, kind: str) -> None:
    assert Image.from_bytes(data).url.startswith(f"data:{kind};base64,")
    part = Message.user("See:", images=[data]).parts[1]
    assert isinstance(part, Image)
    assert part.url.startswith(f"data:{kind};")


def test_bytes_of_another_kind_need_their_type() -> None:
    with pytest.raises(LLMConfigError, match="media_type"):
        Image.from_bytes(b"BM...")
    assert Image.from_bytes(b"BM...", media_type="image/bmp").url.startswith("data:image/bmp;")


@pytest.mark.parametrize(("data", "kind"), [(b"ID3...", "mp3"), (b"OggS...", "ogg"), (b"RIFF\0\0\0\0WAVE", "wav")])
def test_a_sounds_bytes_tell_its_format(data: bytes, kind: str) -> None:
    assert Message.user(audio=[data]).parts == (Audio(data, kind),)
    assert Message.user(audio=[data], audio_format="pcm").parts == (Audio(data, "pcm"),)
