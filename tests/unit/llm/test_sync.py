"""The blocking face ends in order."""

import threading

import pytest

from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.sync import SyncModelClient
from tickmind.llm.testing import ScriptedTransport

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double")


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tickmind-llm"]


class Unclosable(ScriptedTransport):
    def __init__(self, error: Exception) -> None:
        super().__init__("hi")
        self._error = error

    async def aclose(self) -> None:
        raise self._error


@pytest.mark.parametrize("error", [OSError("disk full"), LLMConfigError("not now")])
def test_a_transport_that_fails_to_close_leaves_no_thread_and_is_told(error: Exception) -> None:
    before = len(loop_threads())
    client = SyncModelClient(CONFIG, Unclosable(error))
    assert client.complete("?").content == "hi"
    with pytest.raises(type(error), match=str(error)):
        client.close()
    assert len(loop_threads()) == before


def test_closing_twice_is_closing_once() -> None:
    client = SyncModelClient(CONFIG, ScriptedTransport("hi"))
    client.close()
    client.close()
    with pytest.raises(LLMConfigError, match="closed"):
        client.complete("?")
