"""Messages in files: one form for cassettes and for the states of agents."""

import json

import pytest

from tickmind.base import ConfigError
from tickmind.llm.cassettes.format import request_form
from tickmind.llm.message_codec import message_form, read_message
from tickmind.llm.messages import Image, Message, ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelRequest

CALL = ToolCall("c1", "look", '{"at": 1}')
MESSAGES = [
    Message.system("Be brief."),
    Message.user(["See:", "and hear:"], images=[Image("https://example.org/x.png", "high")], audio=[b"ID3"]),
    Message.assistant("Hm.", tool_calls=[CALL], thinking=[ThinkingBlock("A well?", "anthropic", "seal", "data")]),
    Message.tool(CALL, "a well"),
    Message("user"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.role)
def test_a_message_is_read_back_the_same(message: Message) -> None:
    assert read_message(json.loads(json.dumps(message_form(message)))) == message


def test_a_cassette_writes_the_brief_form() -> None:
    form = request_form(ModelRequest("m", tuple(MESSAGES)))
    assert form["messages"] == [message_form(message, brief=True) for message in MESSAGES]


def test_a_brief_form_has_no_media_and_no_seals() -> None:
    picture = Message.user("See:", images=[b"\x89PNG" + b"x" * 999])
    assert "sha256:" in json.dumps(message_form(picture, brief=True))
    assert "seal" not in json.dumps(message_form(MESSAGES[2], brief=True))


@pytest.mark.parametrize("form", [{"role": "robot"}, {"role": "user", "parts": [{}]}, {}])
def test_what_is_no_message_is_refused(form: dict[str, object]) -> None:
    with pytest.raises((ConfigError, LookupError)):
        read_message(form)
