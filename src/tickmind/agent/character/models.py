"""Find the model of a thinking character from the settings of its process."""

from typing import TYPE_CHECKING

from tickmind.llm import CallConfig, GatewayClient, ModelClient, load_gateway_config, load_model_config
from tickmind.llm.transport import Capabilities
from tickmind.strategy import GatewayAdapter, ModelAdapter
from tickmind.strategy.queries.pace import MOST_PATIENCE_S

if TYPE_CHECKING:
    from tickmind.agent.running import ProcessContext
    from tickmind.strategy.clients.client import AnyClient

MAX_TOKENS = 600
LOCAL = Capabilities(output="grammar", tools=False)
API_KEY, GATEWAY_KEY = "LLM_API_KEY", "LLM_GATEWAY_KEY"  # names of secrets


def find_model(stage: "ProcessContext") -> "AnyClient | None":
    """Return a client of the launch's gateway, else of `LLM_BASE_URL`, else None: the character lives without a model.

    The setting `model` names the model, `local_model: true` says that it is a llama.cpp server of this machine:
    grammars constrain it to short forms. Keys come from the secrets of the process.
    """
    client = find_client(stage)
    max_tokens = stage.launch.settings.whole("max_tokens", MAX_TOKENS)
    call = CallConfig(max_tokens=max_tokens, timeout_s=MOST_PATIENCE_S)  # the strategic layer learns its own timeout
    if isinstance(client, GatewayClient):
        return GatewayAdapter(client, call, agent_name=lambda eid: stage.characters[eid].entity_id)
    return None if client is None else ModelAdapter(client, call)


def find_client(stage: "ProcessContext") -> ModelClient | None:
    """Return the model of `find_model` as a plain client, for characters that ask by themselves."""
    launch = stage.launch
    model = launch.settings.text("model") or None
    capabilities = LOCAL if launch.settings.flag("local_model") else Capabilities()
    if launch.gateway_url:
        key = stage.secrets.get(GATEWAY_KEY)
        config = load_gateway_config(
            url=launch.gateway_url, api_key=key, model=model, env=stage.env, capabilities=capabilities
        )
        return GatewayClient(config, session=launch.session)
    if stage.env.get("LLM_BASE_URL"):
        key = stage.secrets.get(API_KEY)
        return ModelClient(load_model_config(api_key=key, model=model, env=stage.env, capabilities=capabilities))
    return None
