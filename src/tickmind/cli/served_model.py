"""A model behind an address, for a gateway: the user's own, one on this machine, or a scripted double."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.base import Secret
from tickmind.llm.default_model import scripted_choice
from tickmind.llm.local.ladder import ModelKind, choose_model, gather_facts
from tickmind.llm.local.runtime import find_runtime
from tickmind.llm.local.server import LocalModel
from tickmind.llm.local.weights import WeightStore

if TYPE_CHECKING:
    from tickmind.llm.testing.behaviours import Step
    from tickmind.llm.transport import ModelRequest

SLOTS = 4  # characters that a model on this machine answers at once
CONTEXT_TOKENS = 2048  # of each
_REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Where a model is, and a sentence for the user on why it is this one. Without an address it is the user's own."""

    why: str
    base_url: str = ""
    model: str = ""
    key: Secret | None = None

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment for a gateway that is to ask it."""
        if not self.base_url:
            return dict(env)
        key = {} if self.key is None else {"LLM_API_KEY": self.key.reveal()}
        others = {name: value for name, value in env.items() if name not in ("LLM_API_KEY", "LLM_API")}
        return {**others, "LLM_BASE_URL": self.base_url, "LLM_MODEL": self.model, **key}


@asynccontextmanager
async def served_model(
    env: Mapping[str, str],
    *,
    scripted: bool = False,
    given: bool = False,
    steps: "Callable[[ModelRequest], Step] | None" = None,
) -> AsyncIterator[ServedModel]:
    """Serve the model that the ladder of default models gives, for as long as the context lasts.

    `given` says that the gateway has models of its own, so that none is needed. `steps` is what a scripted one does
    instead of answering as a villager.
    """
    if given:
        yield ServedModel("Using the models of the gateway's settings.")
        return
    store = WeightStore(env=env)
    choice = scripted_choice() if scripted else choose_model(gather_facts(env, store=store), known=store.known)
    if choice.weights:
        runtime = find_runtime(env, folder=store.cache)
        local = LocalModel(choice.weights, slots=SLOTS, context=CONTEXT_TOKENS, store=store, runtime=runtime)
        try:
            config = (await local.astart()).model_config()
            yield ServedModel(choice.why, config.base_url, config.model, config.api_key)
        finally:
            await local.astop()
    elif choice.kind is ModelKind.SCRIPTED:
        from tickmind.characters.village_script import villager_says
        from tickmind.llm.testing import FakeProvider, Say

        script = steps or (lambda request: Say(villager_says(request)))
        async with FakeProvider(script, remember=_REMEMBERED) as server:
            yield ServedModel(choice.why, server.base_url, choice.name)
    else:
        yield ServedModel(choice.why)
