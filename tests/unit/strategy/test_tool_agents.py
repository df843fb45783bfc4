"""Deliberation with tools: each begins anew, with the earlier turns that were asked for, and each entity by itself."""

import asyncio

import pytest

from tickmind.llm import LLMResponseError, Message, ModelClient, ModelConfig, ThinkingBlock, ToolCall, estimate_tokens
from tickmind.llm.prices import Price
from tickmind.llm.testing import FaultyTransport, ScriptedTransport
from tickmind.llm.transport import ModelReply, Usage
from tickmind.strategy import ToolAgentAdapter
from tickmind.strategy.clients.deliberation import deliberate_with_tools
from tickmind.tools import ToolAgent, ToolContext

GOAL = '{"goal": "hunt"}'
CONTEXT_TOKENS = 2048
SYSTEM = "You are a wolf.\n\nYou are sly."


def look(what: str) -> str:
    """Look at something."""
    return f"the {what} is near, " + "and far behind it are trees and more trees, " * 20


def looking(text="", *, what="deer", usage=None):
    call = ToolCall("c1", "look", '{"what": "' + what + '"}')
    return ModelReply(text, "tool_calls", tool_calls=(call,), usage=usage or Usage())


class SmallModel(ScriptedTransport):
    """Looks once, then answers; refuses what is over its context, as small local models do."""

    def __init__(self):
        super().__init__(self._reply)
        self.sizes = []

    def _reply(self, request):
        self.sizes.append(sum(estimate_tokens(message.text) for message in request.messages))
        if self.sizes[-1] > CONTEXT_TOKENS:
            raise LLMResponseError("the request exceeds the available context size", status=400)
        return GOAL if request.messages[-1].role == "tool" else looking()


def asked(transport):
    """What was said in the first request of each deliberation."""
    return [
        [(message.role, message.text) for message in request.messages]
        for request in transport.requests
        if request.messages[-1].role == "user"
    ]


@pytest.mark.parametrize("turns", [0, 2])
def test_a_model_with_a_small_context_goes_on_thinking(stage, turns):
    transport = SmallModel()
    agent = ToolAgent(transport, [look], model="small")
    s = stage(ToolAgentAdapter(lambda _eid: agent), conversation_turns=turns)
    s.manager.define_context("plain", lambda _world, eid: f"You are {eid}. " + "The forest is dark. " * 40)
    eid = s.spawn()
    s.step(40)
    assert s.errors == []
    assert len(s.responses) == 39
    assert max(transport.sizes) == transport.sizes[-1] < CONTEXT_TOKENS
    assert s.data(eid) == {"goal": "hunt"}
    assert agent.history == ()


def test_earlier_turns_are_those_of_the_entity_and_no_more_than_asked_for(stage):
    transport = SmallModel()
    s = stage(ToolAgentAdapter(lambda _eid: ToolAgent(transport, [look], model="small")), conversation_turns=1)
    eid = s.spawn()
    s.step(4)
    assert s.agent(eid).turns == [("You are 1.", GOAL)]
    talk = [("system", SYSTEM), ("user", "You are 1."), ("assistant", GOAL), ("user", "You are 1.")]
    assert asked(transport) == [[talk[0], talk[3]], talk, talk, talk]


def test_earlier_turns_give_way_to_the_token_budget(stage):
    transport = SmallModel()
    agents = ToolAgentAdapter(lambda _eid: ToolAgent(transport, [look], model="small"))
    s = stage(agents, conversation_turns=9, token_budget=60)
    s.spawn()
    s.step(12)
    assert s.errors == []
    assert max(sum(estimate_tokens(text) for _, text in talk) for talk in asked(transport)) < 80


def test_a_role_that_is_changed_is_told_once_and_in_the_place_of_the_old_one(stage):
    transport = SmallModel()
    s = stage(ToolAgentAdapter(lambda _eid: ToolAgent(transport, [look], model="small", system="Mind the tools.")))
    s.spawn()
    s.step(2)
    s.manager.define_role("wolf", "You are an old wolf.")
    s.step()
    first, *_, last = asked(transport)
    assert [text for role, text in first if role == "system"] == [f"Mind the tools.\n\n{SYSTEM}"]
    assert [text for role, text in last if role == "system"] == [
        "Mind the tools.\n\nYou are an old wolf.\n\nYou are sly."
    ]


def test_a_deliberation_that_failed_leaves_nothing_behind(stage):
    transport = FaultyTransport(ScriptedTransport([looking(), GOAL, looking(), GOAL]), plan=[None, "server_error"])
    s = stage(ToolAgentAdapter(lambda _eid: ToolAgent(transport, [look], model="small")))
    eid = s.spawn()
    s.step(4)
    assert [kind for _, kind, _ in s.errors] == ["api_error"]
    assert s.data(eid) == {"goal": "hunt"}


# One agent for all


def test_entities_that_share_an_agent_know_nothing_of_each_other(stage):
    heard = []

    def who(context: ToolContext) -> str:
        """Say who asks."""
        heard.append(context.agent_id)
        return "you"

    def reply(request):
        if request.messages[-1].role == "tool":
            return GOAL
        return ModelReply("", "tool_calls", tool_calls=(ToolCall("c1", "who", "{}"),))

    transport = ScriptedTransport(reply)
    s = stage(ToolAgent(transport, [who], model="small", agent_id="pack"))
    s.manager.define_role("bear", "You are a bear.")
    s.spawn()
    s.spawn(role="bear")
    s.step(3)
    for request in transport.requests:
        said = "\n".join(message.text for message in request.messages)
        assert ("a wolf" in said) != ("a bear" in said)
        assert ("You are 1." in said) != ("You are 2." in said)
    assert sorted(set(heard)) == ["pack-1", "pack-2"]


def test_entities_that_share_an_agent_do_not_wait_for_each_other(stage, until):
    asked_by = []

    async def never(request):
        asked_by.append(request.messages[-1].text)
        await asyncio.Event().wait()

    s = stage(ToolAgent(ScriptedTransport(never), [look], model="small"), query_timeout=300.0)
    for _ in range(100):  # more than the runs that one agent may have
        s.spawn()
    s.tick()
    until(lambda: len(asked_by) == 100)
    assert s.errors == []


def test_an_agent_made_from_another_has_its_options_and_a_history_of_its_own():
    told: list[object] = []
    first = ToolAgent(
        ScriptedTransport(GOAL), [look], model="small", history=["Hello."], max_steps=3, on_event=told.append
    )
    second = first.twin(agent_id="second", system="Be brief.")
    assert second.agent_id == "second"
    assert second.tools is first.tools
    assert (second.config.model, second.config.max_steps) == ("small", 3)
    assert (first.config.system, second.config.system) == (None, "Be brief.")
    assert [message.text for message in second.history] == ["Hello."]
    second.clear_history()
    assert len(first.history) == 1
    assert first.twin().agent_id == first.agent_id


# What is recorded


@pytest.mark.asyncio
async def test_a_deliberation_with_tools_tells_what_was_thought_and_what_it_cost():
    steps = [
        ModelReply(
            "",
            "tool_calls",
            tool_calls=(ToolCall("c1", "look", '{"what": "deer"}'),),
            thinking=(ThinkingBlock("Where is it?"),),
            usage=Usage(1000, 100),
        ),
        ModelReply(f"<think>Now!</think>{GOAL}", "stop", usage=Usage(2000, 200)),
    ]
    config = ModelConfig(model="small", base_url="http://127.0.0.1:9/v1")
    client = ModelClient(config, ScriptedTransport(steps), prices={"small": Price(1.0, 10.0)})
    found = await deliberate_with_tools(ToolAgent(client, [look]), [Message.system("s"), Message.user("u")])
    assert found.text == GOAL
    assert found.thinking == "Where is it?\n\nNow!"
    assert (found.prompt_tokens, found.completion_tokens) == (3000, 300)
    assert found.cost_usd == pytest.approx(0.006)


@pytest.mark.asyncio
async def test_a_model_whose_price_nobody_knows_costs_nobody_knows_what():
    agent = ToolAgent(ScriptedTransport(GOAL), [look], model="small")
    found = await deliberate_with_tools(agent, [Message.user("u")])
    assert found.cost_usd is None
