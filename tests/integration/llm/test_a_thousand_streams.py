"""A thousand streams in one process, all open at once, against a provider in another one."""

import asyncio
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.long import short_or_long

from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, ModelConfig
from tickmind.llm.results import LLMResult
from tickmind.llm.transports.wire import WireTransport

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STREAMS = 1000
REPEATS = short_or_long(5, 20)  # of what a stream says
SERVER = f"""
import asyncio, resource, sys
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.testing import FakeProvider
from tickmind.llm.transport import ModelReply

async def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    seen, all_here = 0, asyncio.Event()

    async def reply(request):
        nonlocal seen, all_here
        seen += 1
        here = all_here
        if seen % {STREAMS} == 0:
            all_here = asyncio.Event()  # of the next thousand
            here.set()
        await here.wait()  # nobody is answered before all have asked
        number = request.messages[-1].text
        return ModelReply(f"I am {{number}}. " * {REPEATS}, "stop", (ThinkingBlock(f"Who is {{number}}?"),))

    async with FakeProvider(reply, cut=9) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < STREAMS + 200:
        pytest.skip(f"only {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, STREAMS + 1000)), hard))
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_all_finish_and_each_gets_its_own(base_url: str, api: Api) -> None:
    async def all_at_once() -> list[LLMResult]:
        async with ModelClient(ModelConfig(base_url, model="m", api=api, timeout_s=240)) as client:

            async def one(number: int) -> LLMResult:
                async with client.stream(str(number)) as stream:
                    return await stream.result

            results = await asyncio.gather(*map(one, range(STREAMS)))
            assert isinstance(client.transport, WireTransport)
            assert client.transport.http.statistics()["busy"] == 0
            assert len(asyncio.all_tasks()) == 1
            return results

    for number, result in enumerate(asyncio.run(all_at_once())):
        assert result.content == f"I am {number}. " * REPEATS
        assert (result.thinking, result.finish_reason) == (f"Who is {number}?", "stop")
        assert result.timing.first_token_s is not None
