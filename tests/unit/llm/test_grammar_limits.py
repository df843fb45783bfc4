"""How long a local model's texts and lists may be is set per call."""

from typing import TYPE_CHECKING

import pytest

from tickmind.llm import CallConfig, GrammarLimits, LLMConfigError, ModelClient, ModelConfig
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import Capabilities
from tickmind.llm.transports.chat import ChatForm
from tickmind.llm.transports.responses import ResponsesForm
from tickmind.llm.transports.union_tools import UnionToolsTransport
from tickmind.tools import ToolAgent, tool

if TYPE_CHECKING:
    from tickmind.llm.transport import ModelRequest

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double")
LOCAL = Capabilities(output="grammar", tools=False)
STORY = {
    "type": "object",
    "properties": {"story": {"type": "string"}, "names": {"type": "array", "items": {"type": "string"}}},
    "required": ["story", "names"],
}


def grammars(request: "ModelRequest") -> list[str]:
    return [form(LOCAL).encode(request, stream=False)["grammar"] for form in (ChatForm, ResponsesForm)]


@pytest.mark.asyncio
async def test_the_caps_on_texts_and_lists_are_set_per_call() -> None:
    transport = ScriptedTransport('{"story": "x", "names": []}', capabilities=LOCAL)
    client = ModelClient(CONFIG, transport)
    wide = CallConfig(grammar_limits=GrammarLimits(string_chars=1500, array_items=40))
    await client.complete_structured("?", STORY, wide)
    await client.complete_structured("?", STORY)
    for grammar in grammars(transport.requests[0]):
        assert "{0,1500}" in grammar
        assert "{0,39}" in grammar
    for grammar in grammars(transport.requests[1]):
        assert "{0,200}" in grammar
        assert "{0,7}" in grammar


@pytest.mark.asyncio
async def test_an_agent_sets_them_for_the_arguments_of_its_tools() -> None:
    @tool
    def write(text: str) -> str:
        """Write something down."""
        return text

    inner = ScriptedTransport('{"reply": "no"}', capabilities=LOCAL)
    limits = GrammarLimits(string_chars=900)
    await ToolAgent(UnionToolsTransport(inner), [write], model="m", grammar_limits=limits).invoke("?")
    assert all("{0,900}" in grammar for grammar in grammars(inner.requests[0]))


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(LLMConfigError, match="string_chars must be 1 or more"):
        GrammarLimits(string_chars=0)
