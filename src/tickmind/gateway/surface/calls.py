"""The endpoints of model calls, session heartbeats and agents' defers."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from tickmind.base import get_logger
from tickmind.base.telemetry.tracing import installed_tracer
from tickmind.gateway.call import Call
from tickmind.gateway.call_options import CallOptions
from tickmind.gateway.fairness.defer import DEFAULT_DEFER_MS
from tickmind.gateway.http.exchange import Handler, Request, Responder
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.settings.config import Surface
from tickmind.gateway.surface.documents import name_of, number, parse_object, refuse, session_of
from tickmind.gateway.surface.embeddings import EmbeddingsForm, read_embeddings
from tickmind.gateway.surface.generate import Generate, GenerateForm, read_generate
from tickmind.gateway.surface.openai import OpenAIForm, read_chat, read_responses
from tickmind.gateway.surface.routes import JSON, Routes, cors, reply_refusal
from tickmind.gateway.traced_call import new_call

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway
    from tickmind.gateway.routing.plan import Plan

_OPENAI = OpenAIForm()
_EMBEDDINGS = EmbeddingsForm()
_GENERATE = GenerateForm()
_MODEL_PATH = "/v1/models/"
_log = get_logger(__name__)
_Read = Callable[[bytes], tuple[str, bool, int, int]]


class CallEndpoints:
    """Reads requests into calls."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway

    def add_to(self, routes: Routes) -> None:
        """Register all endpoints."""
        routes.add("POST", "/v1/chat/completions", self.openai(read_chat, "chat"))
        routes.add("POST", "/v1/responses", self.openai(read_responses, "responses"))
        routes.add("POST", "/v1/embeddings", self.openai(read_embeddings, "embeddings"))
        routes.add("GET", "/v1/models", self.models)
        routes.add("GET", f"{_MODEL_PATH}*", self.model)
        routes.add("POST", "/api/llm/generate", self.generate)
        routes.add("POST", "/api/llm/heartbeat", self.heartbeat)
        routes.add("POST", "/api/llm/defer", self.defer)

    def openai(self, read: _Read, surface: Surface) -> Handler:
        """Return the handler of one of the OpenAI request forms."""
        gateway = self._gateway
        form = _EMBEDDINGS if surface == "embeddings" else _OPENAI
        plan_of = gateway.router.plan

        def serve(request: Request, responder: Responder) -> None:
            body, head = request.body, request.head
            try:
                call_options = head.call_options or gateway.call_options(request)
                model, streamed, prompt_tokens, reply_tokens = read(body)
                plan = plan_of(model, surface)
            except RefusedError as exc:
                gateway.tally.refused(exc.refusal.code)
                reply_refusal(responder, exc.refusal, cors(request))
                return
            extra_headers = cors(request) if head.cors is None else head.cors
            call = (
                Call(gateway, responder, form, body, model, streamed, extra_headers)
                if installed_tracer() is None
                else new_call(gateway, request, responder, form, body, model, streamed, extra_headers)
            )
            gateway.submit(call, plan, call_options, request.peer, prompt_tokens, reply_tokens)

        return serve

    def generate(self, request: Request, responder: Responder) -> None:
        """`POST /api/llm/generate`."""
        gateway = self._gateway
        try:
            call_options = gateway.call_options(request)
            generation = read_generate(request.body)
            call_options = _prefer(call_options, generation)
            if generation.custom is None:
                plan = gateway.router.plan(generation.model, "chat")
        except RefusedError as exc:
            gateway.tally.refused(exc.refusal.code)
            self._refuse(request, responder, exc)
            return
        call = new_call(
            gateway,
            request,
            responder,
            _GENERATE,
            orjson.dumps(generation.body),
            generation.model,
            False,
            cors(request),
        )
        if generation.custom is None:
            gateway.submit(call, plan, call_options, request.peer, generation.prompt_tokens, generation.reply_tokens)
            return
        custom = generation.custom
        planning = gateway.router.custom_plan(custom.base_url, custom.api_key, custom.model, "chat", custom.headers)
        gateway.spawn(self._submit_custom(call, planning, call_options, request, generation))

    async def _submit_custom(
        self,
        call: Call,
        planning: "Coroutine[Any, Any, Plan]",
        call_options: CallOptions,
        request: Request,
        generation: Generate,
    ) -> None:
        gateway = self._gateway
        began_s, timeout_s = gateway.clock.monotonic(), gateway.timeout_of(call_options)
        timeout = asyncio.timeout(timeout_s)
        try:
            async with timeout:
                plan = await planning
        except RefusedError as exc:
            gateway.tally.refused(exc.refusal.code)
            self._refuse(request, call.responder, exc)
            return
        except Exception as exc:  # noqa: BLE001 - the caller must get an answer
            refusal = Refusal(Code.DEADLINE, "the endpoint's name did not resolve within the request's deadline")
            if not (isinstance(exc, TimeoutError) and timeout.expired()):
                _log.exception("resolving a caller's own endpoint failed")
                refusal = Refusal(Code.INTERNAL, "internal error of the gateway; see its log")
            gateway.tally.refused(refusal.code)
            self._refuse(request, call.responder, RefusedError(refusal))
            return
        if call.responder.open:
            took_s = gateway.clock.monotonic() - began_s
            drop_after_s = None if call_options.drop_after_s is None else call_options.drop_after_s - took_s
            left = replace(call_options, timeout_s=timeout_s - took_s, drop_after_s=drop_after_s)
            gateway.submit(call, plan, left, request.peer, generation.prompt_tokens, generation.reply_tokens)

    def models(self, request: Request, responder: Responder) -> None:
        """`GET /v1/models`."""
        try:
            self._gateway.call_options(request)
        except RefusedError as exc:
            reply_refusal(responder, exc.refusal, cors(request))
            return
        models = [_model(entry.id, entry.provider) for entry in self._gateway.router.models()]
        responder.reply(200, JSON + cors(request), orjson.dumps({"object": "list", "data": models}))

    def model(self, request: Request, responder: Responder) -> None:
        """`GET /v1/models/{id}`: any valid name, whether it is listed or not."""
        router = self._gateway.router
        try:
            self._gateway.call_options(request)
            name = _name_in(request)
            try:
                plan = router.plan(name, "chat")
            except RefusedError:
                plan = router.plan(name, "responses")
        except RefusedError as exc:
            reply_refusal(responder, exc.refusal, cors(request))
            return
        body = orjson.dumps(_model(name, plan.targets[0].provider.name))
        responder.reply(200, JSON + cors(request), body)

    def heartbeat(self, request: Request, responder: Responder) -> None:
        """`POST /api/llm/heartbeat`: keep a session alive."""
        gateway = self._gateway
        try:
            call_options = gateway.call_options(request)
            gateway.session(call_options, request.peer, session_of(parse_object(request.body)))
        except RefusedError as exc:
            self._refuse(request, responder, exc)
            return
        body = {"success": True, "activeGames": len(gateway.sessions)}
        responder.reply(200, JSON + cors(request), orjson.dumps(body))

    def defer(self, request: Request, responder: Responder) -> None:
        """`POST /api/llm/defer`: hold an agent's requests for a time that it chose."""
        gateway = self._gateway
        try:
            call_options = gateway.call_options(request)
            document = parse_object(request.body)
            session_id = session_of(document)
            agent = name_of(document, "agentId") or call_options.agent
            duration_ms = number(document, "durationMs", most=1e12)
            session = gateway.session(call_options, request.peer, session_id)
            deferred = gateway.defers.defer(session, agent, DEFAULT_DEFER_MS if duration_ms is None else duration_ms)
        except RefusedError as exc:
            self._refuse(request, responder, exc)
            return
        until_ms = int(1000 * (gateway.clock.wall() + deferred.left_s))
        body = {"success": True, "agentId": agent, "deferredMs": int(1000 * deferred.left_s), "resumesAt": until_ms}
        responder.reply(200, JSON + cors(request), orjson.dumps(body))

    @staticmethod
    def _refuse(request: Request, responder: Responder, exc: RefusedError) -> None:
        responder.reply(exc.refusal.status, JSON + cors(request), _GENERATE.refusal(exc.refusal, b""))


def _model(name: str, provider: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": provider}


def _name_in(request: Request) -> str:
    """Return the model's name at the end of a path, including slashes."""
    try:
        return unquote(request.path[len(_MODEL_PATH) :].decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        raise refuse("the model's name in the path is not percent-encoded UTF-8") from None


def _prefer(call_options: CallOptions, generation: Generate) -> CallOptions:
    """Return the options with the body's values before the headers'."""
    return CallOptions(
        session=generation.session_id or call_options.session,
        agent=generation.agent_id,
        priority=call_options.priority if generation.priority is None else generation.priority,
        timeout_s=call_options.timeout_s if generation.timeout_s is None else generation.timeout_s,
        drop_after_s=call_options.drop_after_s if generation.drop_after_s is None else generation.drop_after_s,
        replace_older=call_options.replace_older if generation.replace_older is None else generation.replace_older,
        caller=call_options.caller,
    )
