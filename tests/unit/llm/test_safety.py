import pytest

from tickmind.llm import safety
from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_this_machine_is_loopback(host: str) -> None:
    assert safety.is_loopback(host)


@pytest.mark.parametrize("host", ["api.openai.com", "localhost.example.com", "128.0.0.1", "0.0.0.0", ""])
def test_other_machines_are_not(host: str) -> None:
    assert not safety.is_loopback(host)


@pytest.mark.asyncio
async def test_provider_requests_can_be_switched_off() -> None:
    with safety.provider_requests(allowed=False):
        async with ModelClient(ModelConfig(base_url="https://api.openai.com/v1")) as client:
            with pytest.raises(LLMConfigError, match="ALLOW_PROVIDER_REQUESTS"):
                await client.complete("hello")
            with pytest.raises(LLMConfigError, match="ALLOW_PROVIDER_REQUESTS"):
                async with client.stream("hello"):
                    pass
    assert safety.ALLOW_PROVIDER_REQUESTS
