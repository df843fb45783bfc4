"""The tiny model, for all tests that ask a real one.

Weights and runtime lie in the user's cache and are fetched once; workers of one test run wait for each other there.
"""

from collections.abc import Iterator

import pytest

from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.local import LocalModel, WeightStore, find_runtimes
from tickmind.llm.local.runtimes.install import install_runtime
from tickmind.llm.local.runtimes.runtime import XLLAMACPP

NAME = "smollm2-135m"


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    """A running model with two slots; one for each file, because characters keep their slots."""
    store = WeightStore()
    try:
        if not find_runtimes():
            install_runtime(XLLAMACPP)
        store.install(NAME)
    except LLMConnectionError as error:
        pytest.skip(f"the tiny model is not in the cache and can't be fetched: {error}")
    with LocalModel(NAME, slots=2, context=2048, threads=1) as running:  # the other tests have the rest
        yield running
