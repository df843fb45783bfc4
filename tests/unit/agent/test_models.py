"""Which model a character asks, and how."""

import pytest

from tickmind.agent import Assignment, Launch, Settings
from tickmind.agent.character.thinking import served_tiers
from tickmind.agent.character.thoughts.models import find_client, find_model
from tickmind.agent.running import ProcessContext
from tickmind.llm import GatewayClient
from tickmind.strategy import GatewayAdapter, ModelAdapter


def stage(settings=None, *, gateway_url="", env=None):
    launch = Launch((Assignment("ada", "host:0"),), gateway_url=gateway_url, settings=Settings(settings))
    return ProcessContext(launch, {}, env or {})


def test_without_a_gateway_and_without_an_endpoint_there_is_none():
    assert find_model(stage()) is None


def test_the_gateway_goes_before_the_endpoint():
    env = {"LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    assert isinstance(find_model(stage(gateway_url="http://127.0.0.1:8", env=env)), GatewayAdapter)
    assert isinstance(find_model(stage(env=env)), ModelAdapter)


@pytest.mark.parametrize(("settings", "output"), [({}, "json_schema"), ({"local_model": True}, "grammar")])
@pytest.mark.parametrize("gateway_url", ["", "http://127.0.0.1:8"])
def test_a_local_model_is_held_to_its_forms_by_grammars(settings, output, gateway_url):
    client = find_client(stage(settings, gateway_url=gateway_url, env={"LLM_BASE_URL": "http://127.0.0.1:9/v1"}))
    assert client is not None
    assert isinstance(client, GatewayClient) is bool(gateway_url)
    assert client.transport.capabilities.output == output
    assert client.config.capabilities.tools is (output == "json_schema")


@pytest.mark.parametrize(
    ("settings", "tiers"),
    [
        ({}, {"chatter", "decide", "deep"}),
        ({"local_model": True}, {"chatter"}),
        ({"local_model": True, "decides": True}, {"chatter", "decide"}),
        ({"local_model": True, "models": {"deep": "large"}}, {"chatter", "deep"}),
    ],
)
def test_a_small_model_of_this_machine_words_lines_and_others_are_named(settings, tiers):
    assert served_tiers(Settings(settings)) == tiers
