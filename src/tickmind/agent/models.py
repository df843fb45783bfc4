"""Which model a thinking character asks, as the process was told."""

from typing import TYPE_CHECKING

from tickmind.base import Secret
from tickmind.llm import CallConfig, GatewayClient, ModelClient, ModelConfig, load_model_config
from tickmind.strategy import GatewayAnswers, ModelAnswers

if TYPE_CHECKING:
    from tickmind.agent.running import Stage
    from tickmind.strategy.clients import AnyClient

MAX_TOKENS = 600
API_KEY = "LLM_API_KEY"


def find_model(stage: "Stage") -> "AnyClient | None":
    """A client of the gateway that the launch names; else of `LLM_BASE_URL`; else None, and the character lives without.

    The setting `model` says which model to ask for. Keys come from the secrets of the process.
    """
    client = find_client(stage)
    call = CallConfig(max_tokens=stage.launch.settings.whole("max_tokens", MAX_TOKENS))
    if isinstance(client, GatewayClient):
        return GatewayAnswers(client, call)
    return None if client is None else ModelAnswers(client, call)


def find_client(stage: "Stage") -> ModelClient | None:
    """The same, as a plain client for those who ask by themselves."""
    launch = stage.launch
    model = launch.settings.text("model") or None
    key = stage.secrets.get(API_KEY)
    if launch.gateway_url:
        config = ModelConfig(base_url=launch.gateway_url, api_key=key or Secret(""), model=model or "default")
        return GatewayClient(config, session=launch.session)
    if stage.env.get("LLM_BASE_URL"):
        return ModelClient(load_model_config(api_key=key, model=model, env=stage.env))
    return None
