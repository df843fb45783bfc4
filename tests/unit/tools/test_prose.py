import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.tools import ToolAgent, tool
from tickmind.tools.execution.prose_calls import ProseCall, recover_calls

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport, Whole


@tool
def move(x: int, y: int = 0) -> str:
    """Go somewhere."""
    return f"at {x},{y}"


@tool
def look() -> str:
    """Look around."""
    return "trees"


TOOLS = {"move": move, "look": look}
CALL = '{"name": "move", "arguments": {"x": 1}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"```json\n{CALL}\n```",
        f"```tool_call\n{CALL}\n```",
        f"<|tool_call|>{CALL}<|/tool_call|>",
        f"[TOOL_CALLS] [{CALL}]",
        '<function=move>{"x": 1}</function>',
        f"<tools>{CALL}</tools>",
        '{"tool": "move", "args": {"x": "1"}}',
        '{"tool_name": "move", "parameters": {"x": 1}}',
        '{"action": "move", "action_input": {"x": 1}}',
        '{"type": "function", "function": {"name": "move", "arguments": "{\\"x\\": 1}"}}',
        f'{{"tool_calls": [{CALL}]}}',
        '{"name": "move", "x": 1}',
    ],
)
def test_calls_in_all_these_forms_are_found(text: str) -> None:
    calls, rest = recover_calls(text, TOOLS)
    assert [call.name for call in calls] == ["move"]
    assert int(json.loads(calls[0].arguments)["x"]) == 1
    assert rest == ""


def test_the_text_around_calls_is_kept_and_their_order_too() -> None:
    text = f'I go.\n<tool_call>{CALL}</tool_call>\n<tool_call>{{"name": "look"}}</tool_call>\nSee you.'
    calls, rest = recover_calls(text, TOOLS, instructions="Write calls as <tool_call>{...}</tool_call>.")
    assert calls == (ProseCall("move", '{"x": 1}'), ProseCall("look", "{}"))
    assert rest == "I go.\n\n\nSee you."


@pytest.mark.parametrize(
    "text",
    [
        "I might move.",
        '{"name": "Bob", "arguments": {"x": 1}}',
        '{"name": "move", "arguments": {"x": "far"}}',
        '{"name": "move", "arguments": {}}',
        '{"name": "move", "arguments": [1]}',
        '{"name": "move", "arguments": {"x": NaN}}',
        '{"name": "move", "arguments": {"x": 1',
        f"<think>I could say {CALL}</think> No.",
        f"<think>I could say {CALL}",
        f'[{CALL}, {{"name": "Bob"}}]',
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    assert recover_calls(text, TOOLS) == ((), text)


@given(st.text(alphabet=st.sampled_from('{}[]":, movelk<>`tjsn_/|\n1'), max_size=200))
def test_any_text_can_be_searched(text: str) -> None:
    calls, rest = recover_calls(text, TOOLS)
    assert calls or rest == text


def test_a_hostile_text_costs_little() -> None:
    begun_s = time.thread_time()
    opened = ('{"a":' * 4_000 + "move", "[" * 19_000 + "move")
    for text in (*opened, "<function=" * 1_900 + "move{}", "move<think>" * 1_800):
        assert recover_calls(text, TOOLS)[0] == ()
    assert time.thread_time() - begun_s < 2


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_call_written_as_prose_is_made(
    script: "type[ScriptedTransport]", well_formed: "Whole", streaming: bool
) -> None:
    transport = script([script.say(f"I go.\n<tool_call>{CALL}</tool_call>"), script.say("Arrived.")])
    agent = ToolAgent(transport, [move], model="m", recover_prose_calls=True, system="Call tools in <tool_call> tags.")
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert result.text == "Arrived."
    assert [(entry.name, entry.result, entry.recovered) for entry in result.tool_trace] == [("move", "at 1,0", True)]
    assert [message.text for message in agent.history] == ["?", "I go.", "at 1,0", "Arrived."]
    assert well_formed(agent.history)


@pytest.mark.asyncio
@pytest.mark.parametrize("wanted", [False, True])
async def test_prose_stays_prose_where_it_is_not_wanted_or_real_calls_came(
    script: "type[ScriptedTransport]", wanted: bool
) -> None:
    first = script.say(CALL, ("move", '{"x":2}')) if wanted else script.say(CALL)
    transport = script([first, script.say("ok")])
    options: dict[str, Any] = {"recover_prose_calls": True} if wanted else {}
    result = await ToolAgent(transport, [move], model="m", **options).invoke("?")
    assert [entry.result for entry in result.tool_trace] == (["at 2,0"] if wanted else [])
    assert result.messages[1].text == CALL
