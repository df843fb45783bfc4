"""`open_default_model`: opens the model that a program gets without configuration, and closes it again.

    async with open_default_model() as model:
        print(model.choice.why)
        print((await model.client.complete("Say hello in five words.")).content)

It tries the rungs of `tickmind.llm.local` in order: the configured gateway or endpoint, weights on this machine, a
scripted double.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tickmind.llm.cassettes.cassette import CassettePlayer, CassetteRecorder
from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig, load_model_config
from tickmind.llm.gateway_client.calls import load_gateway_config
from tickmind.llm.gateway_client.client import GatewayClient
from tickmind.llm.local.model_choice import SCRIPTED, ModelChoice, ModelKind, choose_model, gather_facts
from tickmind.llm.local.server import DEFAULT_CONTEXT_TOKENS, LocalModel
from tickmind.llm.local.weights import WeightStore
from tickmind.llm.prices import UsageMeter
from tickmind.llm.scripted.stand_in import stand_in_reply
from tickmind.llm.scripted.transport import Script, ScriptedTransport
from tickmind.llm.transport import Transport
from tickmind.llm.transports import make_transport

_NOWHERE = "http://127.0.0.1/v1"  # for clients whose transport asks no endpoint


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """A model that is ready for calls. `choice.why` is a sentence for the user: which model it is, and why."""

    client: ModelClient
    choice: ModelChoice
    local: LocalModel | None = None  # the server on this machine, if that is what answers

    def extra_for(self, character_id: str) -> Mapping[str, Any]:
        """Return the `CallConfig.extra` that keeps a character in its slot of a local model; empty for other models."""
        return {} if self.local is None else self.local.extra_for(character_id)

    def release(self, character_id: str) -> None:
        """Forget a character that is gone, so that its slot is free."""
        if self.local is not None:
            self.local.release(character_id)


def scripted_choice() -> ModelChoice:
    """Return the choice of the scripted double, for callers that ask for it."""
    return ModelChoice(ModelKind.SCRIPTED, SCRIPTED, "Using a scripted double and no model, as asked.")


def local_choice(weights: str | Path, *, store: WeightStore | None = None) -> ModelChoice:
    """Return the choice of a model on this machine: a known name or the path of any GGUF file."""
    store = store or WeightStore()
    name = str(weights)
    known = next((known for known in store.known if known.name == name), None)
    tiny = known is not None and not known.capable
    why = f"Using {known.title if known else name} with the llama.cpp server on this machine, as asked."
    return ModelChoice(ModelKind.LOCAL_TINY if tiny else ModelKind.LOCAL, name, why)


@asynccontextmanager
async def open_default_model(
    choice: ModelChoice | ModelConfig | None = None,
    *,
    slots: int = 1,
    context: int = DEFAULT_CONTEXT_TOKENS,
    threads: int | None = None,
    cassette: str | Path | None = None,
    script: Script | None = None,
    meter: UsageMeter | None = None,
    store: WeightStore | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[DefaultModel]:
    """Open the model that the ladder chooses, or the one that is given as a choice or as an endpoint's config.

    `slots`, `context` (tokens of each slot) and `threads` are for a model on this machine. A `cassette` that exists is
    played and no model is opened; else the calls are recorded to it. `script` is what the scripted double says.
    """
    model = None if cassette is None else _recorded(Path(cassette), meter)
    if model is not None:
        async with model.client:
            yield model
        return
    store = store or WeightStore(env=env)
    local: LocalModel | None = None
    config = choice if isinstance(choice, ModelConfig) else None
    chosen = _of_config(choice) if isinstance(choice, ModelConfig) else choice
    if chosen is None:
        chosen = choose_model(gather_facts(env, store=store), known=store.known)
    if chosen.kind is ModelKind.GATEWAY:
        config = load_gateway_config(url=chosen.base_url, env=env)
        if cassette is None:
            async with GatewayClient(config, meter=meter) as client:
                yield DefaultModel(client, chosen)
            return
        config = replace(config, base_url=f"{config.base_url.removesuffix('/v1')}/v1")  # recorded as any endpoint is
    try:
        transport: Transport
        if chosen.weights:
            local = LocalModel(chosen.weights, slots=slots, context=context, threads=threads, store=store, env=env)
            config = (await local.astart()).model_config()
            transport = make_transport(config)
        elif chosen.kind is ModelKind.SCRIPTED:
            config = ModelConfig(base_url=_NOWHERE, model=SCRIPTED)
            transport = ScriptedTransport(stand_in_reply if script is None else script)
        else:
            config = config or load_model_config(base_url=chosen.base_url or None, env=env)
            transport = make_transport(config)
        if cassette is not None:
            transport = CassetteRecorder(transport, cassette)
        async with ModelClient(config, transport, meter=meter) as client:
            yield DefaultModel(client, chosen, local)
    finally:
        if local is not None:
            await local.astop()


def _of_config(config: ModelConfig) -> ModelChoice:
    why = f"Using {config.model} at {config.host}, as asked."
    return ModelChoice(ModelKind.ENDPOINT, config.model, why, config.base_url)


def _recorded(path: Path, meter: UsageMeter | None) -> DefaultModel | None:
    if not path.exists():
        return None
    player = CassettePlayer(path)
    name = next(iter(player.models), "recorded")
    config = ModelConfig(base_url=_NOWHERE, model=name, capabilities=player.capabilities)
    why = f"Playing back what {name} said from {path}: no model is called; delete the file to record it again."
    return DefaultModel(ModelClient(config, player, meter=meter), ModelChoice(ModelKind.CASSETTE, name, why))
