import sys

import pytest

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.testing import FakeProvider


@pytest.mark.asyncio
async def test_a_provider_without_its_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(LLMConfigError, match=r"pip install 'tickmind\[testing\]'"):
        async with FakeProvider():
            pass
