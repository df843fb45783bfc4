"""A model served for a gateway: the user's own, one on this machine, or a scripted double."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tickmind.base import Secret, get_logger, secret_token
from tickmind.llm.errors import LLMError
from tickmind.llm.gateway_client.calls import load_gateway_config
from tickmind.llm.local.default_model import scripted_choice
from tickmind.llm.local.machine import default_threads
from tickmind.llm.local.model_choice import ModelKind, choose_model, gather_facts
from tickmind.llm.local.server import LocalModel
from tickmind.llm.local.weights import WeightStore

if TYPE_CHECKING:
    from tickmind.llm.messages import Message
    from tickmind.llm.testing.behaviours import Step
    from tickmind.llm.transport import ModelRequest

MAX_SLOTS = 4  # characters that a model on this machine answers at once
THREADS_PER_SLOT = 2  # with fewer, every answer would be slower
CONTEXT_TOKENS = 2048  # of each
AT_A_GATEWAY = 16  # requests at once; that gateway paces them itself
_REMEMBERED = 8
_READER = "everybody"
_log = get_logger("tickmind.demo")


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The address of a model, and why it was chosen. Without an address it is the user's own."""

    why: str
    base_url: str = ""
    model: str = ""
    key: Secret | None = None
    concurrency: int = 0  # how many requests it takes at once; 0 leaves that to the gateway

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a gateway that uses it."""
        if not self.base_url:
            return dict(env)
        own = {"LLM_BASE_URL": self.base_url, "LLM_MODEL": self.model}
        if self.key is not None:
            own["LLM_API_KEY"] = self.key.reveal()
        if self.concurrency:
            own["LLM_CONCURRENCY"] = str(self.concurrency)
        of_another = ("LLM_API_KEY", "LLM_API", "LLM_CONCURRENCY")
        return {**{name: value for name, value in env.items() if name not in of_another}, **own}


@asynccontextmanager
async def served_model(
    env: Mapping[str, str],
    *,
    scripted: bool = False,
    given: bool = False,
    steps: "Callable[[ModelRequest], Step] | None" = None,
    opening: "Callable[[], tuple[Message, ...]]" = tuple,
) -> AsyncIterator[ServedModel]:
    """Serve the default model, for as long as the context lasts.

    `given`: the gateway has models of its own, so that none is needed. `steps` is what a scripted model does instead of
    answering as a villager. `opening` is how all prompts begin; a model on this machine reads that ahead.
    """
    if given:
        yield ServedModel("Using the models of the gateway's settings.")
        return
    store = WeightStore(env=env)
    choice = scripted_choice() if scripted else choose_model(gather_facts(env, store=store), known=store.known)
    async with AsyncExitStack() as stack:
        if choice.weights:
            slots = max(1, min(MAX_SLOTS, default_threads() // THREADS_PER_SLOT))
            try:
                local = LocalModel(choice.weights, slots=slots, context=CONTEXT_TOKENS, store=store, env=env)
                stack.push_async_callback(local.astop)
                config = (await local.astart()).model_config()
            except LLMError as error:
                why = f"Using a scripted double and no model, because {choice.name} does not start: {error}"
                choice = replace(scripted_choice(), why=why)
            else:
                reading = asyncio.create_task(_read_ahead(local, opening()))
                stack.callback(reading.cancel)
                yield ServedModel(choice.why, config.base_url, config.model, config.api_key, slots)
                return
        if choice.kind is ModelKind.SCRIPTED:
            from tickmind.characters.scripted.village import villager_says
            from tickmind.llm.testing import FakeProvider, Respond

            script = steps or (lambda request: Respond(villager_says(request)))
            key = secret_token()  # so that no page in a browser can use the script's address
            fake = FakeProvider(script, accept_keys=(key,), remember=_REMEMBERED)
            server = await stack.enter_async_context(fake)
            yield ServedModel(choice.why, server.base_url, choice.name, Secret(key, lasting=True))
        elif choice.kind is ModelKind.GATEWAY:
            config = load_gateway_config(url=choice.base_url, env=env)
            url = f"{config.base_url.removesuffix('/v1')}/v1"
            yield ServedModel(choice.why, url, choice.name, config.api_key, AT_A_GATEWAY)
        else:
            yield ServedModel(choice.why)


async def _read_ahead(local: LocalModel, opening: "tuple[Message, ...]") -> None:
    try:
        if opening:
            await local.aprime(_READER, opening, keep=True)
    except (LLMError, OSError) as error:  # the latter of the cache
        _log.warning("the model could not read ahead; its first answer will be slower", error=str(error))
