"""`GatewayEndpoint`: the gateway's address, its chat transport and its own small calls. Loaded on first use."""

from collections.abc import Mapping
from dataclasses import replace

from tickmind.llm.config import MAX_CONNECTIONS, MAX_REPLY_BYTES, ModelConfig, parse_base_url
from tickmind.llm.errors import LLMConfigError, LLMResponseError
from tickmind.llm.gateway_client.calls import Generated, told_timeout
from tickmind.llm.gateway_contract import SESSION_HEADER, TIMEOUT_HEADER
from tickmind.llm.http.client import HttpClient, HttpReply
from tickmind.llm.safety import is_loopback
from tickmind.llm.served import Served, read_cooldown, read_served
from tickmind.llm.transport import Transport
from tickmind.llm.transports.chat import ChatForm
from tickmind.llm.transports.union_tools import UnionToolsTransport
from tickmind.llm.transports.wire import (
    Json,
    OnServed,
    WireTransport,
    as_count,
    as_text,
    dump_body,
    parse_object,
)

NOTICE_TIMEOUT_S = 10.0  # of heartbeats, deferrals and reports


class GatewayForm(ChatForm):
    """Chat Completions at a gateway."""

    path = "/v1/chat/completions"


def _form(config: ModelConfig) -> ChatForm:
    if config.api == "embeddings":
        from tickmind.llm.transports.embeddings import EmbeddingForm  # NumPy, which others do without

        class GatewayEmbeddingForm(EmbeddingForm):
            """Embeddings at a gateway."""

            path = "/v1/embeddings"

        return GatewayEmbeddingForm()
    return GatewayForm(config.capabilities, max_tokens_field=config.max_tokens_field or "max_tokens")


def _in_clear(url: str) -> str:
    """Return why keys must not be sent to a gateway, with what to do; empty if they may."""
    parts = parse_base_url(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or is_loopback(host):
        return ""
    return f"{host} is not on this machine; serve the gateway with --tls, and name it as https://{parts.netloc}"


class GatewayEndpoint:
    """One gateway, as one session sees it. All calls share their connections."""

    def __init__(self, config: ModelConfig, session: str, on_served: OnServed) -> None:
        self._in_clear = _in_clear(config.base_url)
        if self._in_clear and config.api_key:
            raise LLMConfigError(f"the key of the gateway would travel in the clear: {self._in_clear}")
        plain = replace(
            config,
            base_url=config.base_url.removesuffix("/v1"),
            headers={**config.headers, SESSION_HEADER: session},
        )
        form = _form(config)
        self._session = session
        self._headers = {**form.headers(config.api_key), **plain.headers}
        self._http = HttpClient(
            plain.base_url,
            max_reply_bytes=MAX_REPLY_BYTES.at(config.max_reply_bytes),
            max_connections=MAX_CONNECTIONS.at(config.max_connections),
            trust_proxy_env=config.trust_proxy_env,
            tls=config.tls,
        )
        wire = WireTransport(plain, form, http=self._http, on_served=on_served)
        self.transport: Transport = wire if config.capabilities.tools else UnionToolsTransport(wire)
        self.origin = self._http.origin

    async def generate(self, fields: Json, headers: Mapping[str, str], *, timeout_s: float) -> Generated:
        """Post one prompt and return the generated text."""
        custom = fields.get("customConfig")
        if self._in_clear and isinstance(custom, dict) and custom.keys() & {"apiKey", "customHeaders"}:
            raise LLMConfigError(f"the key of the agent's own endpoint would travel in the clear: {self._in_clear}")
        body = dump_body({"sessionId": self._session, **fields})
        sent = {**self._headers, TIMEOUT_HEADER: told_timeout(timeout_s), **headers}
        return _read_generated(await self._http.post("/api/llm/generate", sent, body, timeout_s=timeout_s))

    async def defer(self, agent_id: str, duration_ms: int) -> None:
        """Report that an agent waits."""
        await self._post("/api/llm/defer", {"agentId": agent_id, "durationMs": duration_ms})

    async def heartbeat(self) -> int:
        """Report that the session is alive and return how many sessions are."""
        return as_count((await self._post("/api/llm/heartbeat", {})).get("activeGames")) or 0

    async def report(self, name: str) -> Json:
        """Return one of the gateway's own reports."""
        reply = await self._http.get(f"/api/llm/{name}", self._headers, timeout_s=NOTICE_TIMEOUT_S)
        return _object(reply)

    async def _post(self, path: str, fields: Json) -> Json:
        body = dump_body({"sessionId": self._session, **fields})
        return _object(await self._http.post(path, self._headers, body, timeout_s=NOTICE_TIMEOUT_S))


def _object(reply: HttpReply) -> Json:
    try:
        return parse_object(reply.body or b"{}")
    except LLMResponseError:
        raise LLMResponseError("the reply does not come from a tickmind gateway; check LLM_GATEWAY_URL") from None


def _read_generated(reply: HttpReply) -> Generated:
    """Read a reply; the provider and the cooldown in its body win over those in the headers."""
    body = _object(reply)
    text = body.get("text")
    if type(text) is not str:
        raise LLMResponseError("the gateway's reply has no text; check LLM_GATEWAY_URL")
    headed = read_served(reply.headers) or Served()
    served = replace(
        headed,
        provider=as_text(body.get("provider")) or headed.provider,
        cooldown=read_cooldown(body.get("cooldown")) or headed.cooldown,
    )
    return Generated(
        text,
        as_text(body.get("model")),
        as_count(body.get("tokensUsed")),
        served,
        as_text(body.get("thinking")),
        as_text(body.get("finishReason")),
    )
