"""Find the model of a thinking character from the settings of its process."""

from functools import partial
from typing import TYPE_CHECKING

from tickmind.agent.character.thinking import EMBEDDINGS, TIERS, served_tiers
from tickmind.base import ConfigError
from tickmind.llm import (
    CallConfig,
    CallSite,
    GatewayClient,
    ModelClient,
    ModelConfig,
    ReplyFile,
    ReplyTransport,
    load_gateway_config,
    load_model_config,
)
from tickmind.llm.config import Api
from tickmind.llm.transport import Capabilities, Transport
from tickmind.llm.transports import make_transport
from tickmind.strategy import GatewayAdapter, ModelAdapter
from tickmind.strategy.queries.pace import MOST_PATIENCE_S

if TYPE_CHECKING:
    from tickmind.agent.running import ProcessContext
    from tickmind.strategy.clients.client import AnyClient

MAX_TOKENS = 600
PLAYED = "played"  # name of a model that is not asked, because its replies are in a file
LOCAL = Capabilities(output="grammar", tools=False)
API_KEY, GATEWAY_KEY = "LLM_API_KEY", "LLM_GATEWAY_KEY"  # names of secrets


def find_model(stage: "ProcessContext", model: str = "") -> "AnyClient | None":
    """Return a client of the launch's gateway, else of `LLM_BASE_URL`, else None: the character lives without a model.

    The setting `model` names the model, `local_model: true` says that it is a llama.cpp server of this machine:
    grammars constrain it to short forms. Keys come from the secrets of the process. `model` is asked instead.
    """
    return stage.played(_found_model(stage, model))


def _found_model(stage: "ProcessContext", model: str, *, api: Api = "chat") -> "AnyClient | None":
    client = find_client(stage, model, api=api)
    max_tokens = stage.launch.settings.whole("max_tokens", MAX_TOKENS)
    call = CallConfig(max_tokens=max_tokens, timeout_s=MOST_PATIENCE_S)  # the strategic layer learns its own timeout
    site_of = partial(call_site_of, stage)
    if isinstance(client, GatewayClient):
        return GatewayAdapter(client, call, agent_name=partial(_asker, stage), site_of=site_of)
    return None if client is None else ModelAdapter(client, call, site_of=site_of)


def call_site_of(stage: "ProcessContext", eid: int) -> CallSite:
    """Return the site of a call that a character makes now, by which its replies are kept."""
    character = stage.characters[eid]
    return CallSite(character.entity_id, character.tick, stage.faculties.get(eid, ""))


def _asker(stage: "ProcessContext", eid: int) -> str:
    """Return the name under which a gateway knows a character, or one of its faculties: each waits for itself."""
    faculty = stage.faculties.get(eid)
    name: str = stage.characters[eid].entity_id
    return f"{name}:{faculty}" if faculty else name


def find_tiers(stage: "ProcessContext", client: "AnyClient") -> "dict[str, AnyClient]":
    """Return the clients of the tiers of models, for the questions of faculties.

    The setting `models` maps tiers to names of models. What it does not name is the character's own model; but a small
    model of this machine words lines only, and code decides, plans and reflects.
    """
    named = stage.launch.settings.section("models")
    tiers: dict[str, AnyClient] = dict.fromkeys(served_tiers(stage.launch.settings), client)
    if EMBEDDINGS in tiers:
        del tiers[EMBEDDINGS]
        if (embedder := _find_embedder(stage)) is not None:
            tiers[EMBEDDINGS] = embedder
    for tier in TIERS:
        if (model := named.text(tier)) and (other := find_model(stage, model)) is not None:
            tiers[tier] = other
    return tiers


def _find_embedder(stage: "ProcessContext") -> "AnyClient | None":
    """Return the client of the setting `embeddings: endpoint`; its model is the setting `embedding_model`."""
    model = stage.launch.settings.text("embedding_model")
    if not model:
        raise ConfigError("embeddings of an endpoint need the setting embedding_model, the name of its model")
    return stage.played(_found_model(stage, model, api="embeddings"))


def find_client(stage: "ProcessContext", model: str = "", *, api: Api = "chat") -> ModelClient | None:
    """Return the model of `find_model` as a plain client, for characters that ask by themselves."""
    launch, replies = stage.launch, stage.launch.replies
    name = model or launch.settings.text("model") or None
    capabilities = LOCAL if launch.settings.flag("local_model") and not model else Capabilities()
    own = {each.entity_id for each in launch.entities}
    file = None if replies is None else ReplyFile(replies.path, fills=replies.fills, characters=own)

    def keep_replies(transport: Transport | None) -> ReplyTransport:
        keeper = ReplyTransport(file, transport, capabilities=capabilities)
        stage.reply_transports.append(keeper)
        return keeper

    if file is not None and not file.fills:  # there is no model to ask
        return ModelClient(ModelConfig(model=name or PLAYED), keep_replies(None))
    if launch.gateway_url:
        key = stage.secrets.get(GATEWAY_KEY)
        config = load_gateway_config(
            url=launch.gateway_url,
            api_key=key,
            model=name,
            env=stage.env,
            capabilities=capabilities,
            api=api,
            tls=launch.tls,
        )
        return GatewayClient(config, session=launch.session, wrap=keep_replies)
    if stage.env.get("LLM_BASE_URL"):
        key = stage.secrets.get(API_KEY)
        given = {} if api == "chat" else {"api": api}  # else as the environment says
        config = load_model_config(api_key=key, model=name, env=stage.env, capabilities=capabilities, **given)
        return ModelClient(config, keep_replies(make_transport(config)))
    return None
