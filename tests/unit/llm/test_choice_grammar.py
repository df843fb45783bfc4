"""A question with choices holds an endpoint with grammars to them, and changes nothing for others."""

import asyncio

import pytest

from tickmind.llm import ModelClient, ModelConfig
from tickmind.llm.grammar.json_grammar import choice_grammar
from tickmind.llm.transport import Capabilities, ModelReply
from tickmind.strategy.clients.client import Question
from tickmind.strategy.clients.deliberation import deliberate


class Endpoint:
    """Keeps the requests."""

    def __init__(self, output):
        self.capabilities = Capabilities(output=output, tools=False)
        self.requests = []

    async def complete(self, request, *, timeout_s):
        self.requests.append(request)
        return ModelReply("visit Bram", "stop", model="m")

    def stream(self, request, *, timeout_s):
        raise AssertionError("nothing is streamed")

    async def aclose(self):
        pass


def test_the_grammar_is_the_words_of_the_choices():
    assert choice_grammar(["visit Bram", 'say "no"', "visit Bram"]) == 'root ::= "visit Bram" | "say \\"no\\""'


@pytest.mark.parametrize(
    ("output", "choices", "held"),
    [
        ("grammar", ("visit Bram", "rest"), True),
        ("grammar", (), False),
        ("json_schema", ("visit Bram", "rest"), False),
        ("none", ("visit Bram", "rest"), False),
    ],
)
def test_choices_are_a_grammar_where_the_endpoint_knows_grammars(output, choices, held):
    endpoint = Endpoint(output)
    client = ModelClient(ModelConfig(model="m"), endpoint)
    question = Question("You choose.", "You could: visit Bram; rest.", one_line=True, choices=choices)
    reply = asyncio.run(deliberate(client, question))
    assert reply.text == "visit Bram"
    (request,) = endpoint.requests
    assert ("grammar" in request.extra) is held
    assert request.extra.get("grammar", choice_grammar(choices or ["-"])) == choice_grammar(choices or ["-"])
