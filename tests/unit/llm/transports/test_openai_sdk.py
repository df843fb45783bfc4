"""The `openai` SDK as a transport, where it needs no network."""

import pytest

from tickmind.llm.errors import LLMResponseError
from tickmind.llm.messages import Message
from tickmind.llm.testing import FakeProvider, Refuse
from tickmind.llm.transport import ModelRequest

openai = pytest.importorskip("openai")
CANARY = "canary-0123456789"


@pytest.mark.asyncio
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_key_that_the_provider_repeats_is_not_in_the_error(streamed: bool) -> None:
    from tickmind.llm.transports.openai_sdk import OpenAITransport

    request = ModelRequest("m", (Message.user("hi"),))
    async with (
        FakeProvider(default=Refuse(401, f"Incorrect API key provided: {CANARY}.")) as server,
        openai.AsyncOpenAI(api_key=CANARY, base_url=server.base_url) as client,
    ):
        transport = OpenAITransport(client)
        with pytest.raises(LLMResponseError, match="Incorrect API key") as caught:  # noqa: PT012 - both ways to ask
            if streamed:
                async with transport.stream(request, timeout_s=60):
                    pass
            await transport.complete(request, timeout_s=60)
    assert CANARY not in str(caught.value)
