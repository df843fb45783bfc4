"""`GET /openapi.json`: the surface as OpenAPI 3.1, for generated clients and contract tests."""

from typing import Any

from tickmind.gateway.refusal import STATUS_OF, Code
from tickmind.gateway.settings.header_rules import HEADER_NAME_PATTERN
from tickmind.llm.gateway_contract import (
    AGENT_HEADER,
    ATTEMPTS_HEADER,
    COOLDOWN_HEADER,
    DROP_AFTER_HEADER,
    MAX_MODEL_CHARS,
    MAX_MS,
    MAX_NAME_CHARS,
    NAME_PATTERN,
    PRIORITIES,
    PRIORITY_HEADER,
    PROVIDER_HEADER,
    REPLACE_HEADER,
    SESSION_HEADER,
    SESSION_PATTERN,
    TIMEOUT_HEADER,
    WAITED_HEADER,
)

_ANY = {"type": "object"}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS.maximum, "pattern": SESSION_PATTERN}
_AGENT = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS.maximum, "pattern": NAME_PATTERN}
_MODEL = {"type": "string", "maxLength": MAX_MODEL_CHARS, "pattern": NAME_PATTERN}
_NAMED_MODEL = {"type": "string", "minLength": 1}
_MS = {"type": "integer", "minimum": 0}
_RATE = {"type": ["number", "null"], "description": "Null where no limit on requests is set."}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow null for a field that may be left out."""
    return {"anyOf": [schema, {"type": "null"}]}


_SCHEMAS: dict[str, Any] = {
    "Cooldown": {
        "type": "object",
        "description": "When the session's next request is expected to be admitted.",
        "required": ["nextAllowedAt", "waitMs", "activeGames", "rateLimit"],
        "properties": {
            "nextAllowedAt": {"type": "integer", "description": "Milliseconds since 1970."},
            "waitMs": _MS,
            "activeGames": {"type": "integer", "description": "Sessions that share the key now."},
            "rateLimit": {
                "type": "object",
                "required": ["requestsPerMinute", "effectiveRPM"],
                "properties": {"requestsPerMinute": _RATE, "effectiveRPM": _RATE},
            },
            "turn": {
                "type": "object",
                "description": "Under overload: the wait is that of this caller's own turn, not of its session.",
                "required": ["needMs"],
                "properties": {"needMs": {**_MS, "description": "How long an answer takes, with a safety margin."}},
            },
        },
    },
    "Attempt": {
        "type": "object",
        "required": ["provider", "model", "result", "status", "waitedMs", "tookMs"],
        "properties": {
            "provider": {"type": "string"},
            "model": {"type": "string"},
            "result": {"type": "string"},
            "status": {"type": "integer"},
            "waitedMs": _MS,
            "tookMs": _MS,
        },
    },
    "GenerateRequest": {
        "type": "object",
        "required": ["agentId", "prompt"],
        "properties": {
            "agentId": _AGENT,
            "prompt": {"type": "string", "minLength": 1},
            "systemPrompt": _or_null({"type": "string"}),
            "sessionId": _or_null(_NAME),
            "model": _or_null(_MODEL),
            "maxTokens": _or_null({"type": "integer", "minimum": 1, "maximum": 1_000_000}),
            "temperature": _or_null({"type": "number", "minimum": 0, "maximum": 10}),
            "priority": {"enum": ["high", "normal", "low", None]},
            "timeoutMs": _or_null({"type": "number", "minimum": 1, "maximum": 3_600_000}),
            "dropAfterMs": _or_null({"type": "number", "minimum": 1, "maximum": 3_600_000}),
            "replaceOlder": _or_null({"type": "boolean"}),
            "customConfig": _or_null(
                {
                    "type": "object",
                    "required": ["baseUrl"],
                    "properties": {
                        "baseUrl": {"type": "string", "minLength": 1, "maxLength": 2048},
                        "apiKey": _or_null({"type": "string", "maxLength": 4096, "pattern": "^[!-~]*$"}),
                        "model": _or_null(_MODEL),
                        "customHeaders": _or_null(
                            {
                                "type": "object",
                                "maxProperties": 16,
                                "propertyNames": {"pattern": HEADER_NAME_PATTERN},
                                "additionalProperties": {"type": "string", "pattern": "^[ -~]*$"},
                            }
                        ),
                    },
                }
            ),
        },
        "anyOf": [  # an endpoint of the caller's own has no default model
            {"properties": {"customConfig": {"type": "null"}}},
            {"properties": {"model": _NAMED_MODEL}, "required": ["model"]},
            {"properties": {"customConfig": {"properties": {"model": _NAMED_MODEL}, "required": ["model"]}}},
        ],
    },
    "GenerateReply": {
        "type": "object",
        "required": ["text", "model", "tokensUsed", "provider", "cooldown", "attempts", "waitedMs"],
        "properties": {
            "text": {"type": "string"},
            "thinking": {"type": "string"},
            "model": {"type": "string"},
            "tokensUsed": {"type": "integer"},
            "provider": {"type": "string"},
            "finishReason": {"type": ["string", "null"]},
            "waitedMs": _MS,
            "attempts": {"type": "array", "items": {"$ref": "#/components/schemas/Attempt"}},
            "cooldown": {"$ref": "#/components/schemas/Cooldown"},
        },
    },
    "Refusal": {
        "type": "object",
        "required": ["error", "message"],
        "properties": {
            "error": {"enum": [code.value for code in Code]},
            "message": {"type": "string"},
            "cooldown": {"$ref": "#/components/schemas/Cooldown"},
        },
    },
    "OpenAIError": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message"],
                "properties": {"message": {"type": "string"}, "type": {"type": "string"}, "code": {}},
            },
            "cooldown": {"$ref": "#/components/schemas/Cooldown"},
        },
    },
    "ChatRequest": {
        "type": "object",
        "description": "As the OpenAI API takes it; other fields pass through.",
        "required": ["messages"],
        "properties": {
            "model": _or_null(_MODEL),
            "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
            "stream": _or_null({"type": "boolean"}),
        },
    },
    "ResponsesRequest": {
        "type": "object",
        "required": ["input"],
        "properties": {
            "model": _or_null(_MODEL),
            "input": {"oneOf": [{"type": "string"}, {"type": "array"}]},
            "stream": _or_null({"type": "boolean"}),
        },
    },
    "EmbeddingsRequest": {
        "type": "object",
        "required": ["model", "input"],
        "properties": {
            "model": {**_MODEL, "minLength": 1},
            "input": {"oneOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1}]},
        },
    },
    "Heartbeat": {"type": "object", "properties": {"sessionId": _or_null(_NAME)}},
    "Defer": {
        "type": "object",
        "required": ["agentId"],
        "properties": {
            "agentId": _AGENT,
            "sessionId": _or_null(_NAME),
            "durationMs": _or_null({"type": "number", "minimum": 0, "maximum": 1e12, "default": 5000}),
        },
    },
}

_HEADERS = [
    (SESSION_HEADER, "The game or run; the unit of fair sharing.", _NAME),
    (AGENT_HEADER, "The character that sends the request.", _AGENT),
    (PRIORITY_HEADER, "The order within a session.", {"enum": list(PRIORITIES)}),
    (TIMEOUT_HEADER, "The total deadline.", {"type": "integer", "minimum": 1, "maximum": MAX_MS}),
    (
        DROP_AFTER_HEADER,
        "The time after which the request expires.",
        {"type": "integer", "minimum": 1, "maximum": MAX_MS},
    ),
    (REPLACE_HEADER, "1: replace the agent's older queued request.", {"enum": ["0", "1"]}),
]


def openapi(version: str, *, keys: bool) -> dict[str, Any]:
    """Return the document; with `keys` callers must send one."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "tickmind gateway",
            "version": version,
            "description": "One gateway to every model: queues, limits, fallback and fair sharing.",
        },
        "paths": {
            "/api/llm/generate": {"post": _post("generate", "Ask a model.", "GenerateRequest", "GenerateReply")},
            "/api/llm/heartbeat": {"post": _post("heartbeat", "Keep a session alive.", "Heartbeat")},
            "/api/llm/defer": {"post": _post("defer", "Hold an agent's requests for a while.", "Defer")},
            "/api/llm/stats": {"get": _get("stats", "Queues and limits by provider.")},
            "/api/llm/sessions": {"get": _get("sessions", "Who shares.")},
            "/api/llm/costs": {"get": _get("costs", "Requests, tokens and money.")},
            "/api/llm/overview": {"get": _get("overview", "All figures of the dashboard.")},
            "/v1/chat/completions": {"post": _openai("chat", "Chat Completions.", "ChatRequest")},
            "/v1/responses": {"post": _openai("responses", "Responses.", "ResponsesRequest")},
            "/v1/embeddings": {"post": _openai("embeddings", "Embeddings.", "EmbeddingsRequest")},
            "/v1/models": {"get": _get("models", "The available models.")},
            "/v1/models/{model}": {
                "get": {
                    **_get("model", "A model and its provider."),
                    "parameters": [
                        {"name": "model", "in": "path", "required": True, "schema": {**_MODEL, "minLength": 1}}
                    ],
                }
            },
            "/healthz": {"get": _get("health", "Whether the gateway takes requests.", open_to_all=True)},
            "/metrics": {"get": _text("metrics", "Figures for Prometheus.", "text/plain")},
            "/": {"get": _text("dashboard", "The dashboard.", "text/html", open_to_all=True)},
        },
        "components": {"schemas": _SCHEMAS},
    }
    if keys:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    return document


def _json(schema: Any, words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _errors(schema: str) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code, status in STATUS_OF.items():
        by_status.setdefault(status, []).append(code.value)
    for status, words in ((408, "the request did not arrive in time"), (414, "the URL is too long"), (431, "headers")):
        by_status.setdefault(status, []).append(words)
    either = {"anyOf": [{"$ref": f"#/components/schemas/{schema}"}, {"$ref": "#/components/schemas/OpenAIError"}]}
    return {str(status): _json(either, ", ".join(codes)) for status, codes in sorted(by_status.items())}


def _post(name: str, words: str, takes: str, gives: str = "") -> dict[str, Any]:
    reply = {"$ref": f"#/components/schemas/{gives}"} if gives else _ANY
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": words,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{takes}"}}},
        },
        "responses": {"200": _json(reply, "Success."), **_errors("Refusal")},
    }
    if gives:
        operation["responses"]["default"] = _json({"$ref": "#/components/schemas/Refusal"}, "The provider's own error.")
    return operation


def _openai(name: str, words: str, takes: str) -> dict[str, Any]:
    operation = _post(name, words, takes)
    operation["parameters"] = [
        {"name": header, "in": "header", "required": False, "description": meaning, "schema": schema}
        for header, meaning, schema in _HEADERS
    ]
    operation["responses"] = {
        "200": {
            "description": "The provider's own reply, whole or as a stream of events.",
            "headers": {
                PROVIDER_HEADER: {"schema": {"type": "string"}},
                COOLDOWN_HEADER: {"schema": {"type": "string"}, "description": "A Cooldown as JSON."},
                ATTEMPTS_HEADER: {"schema": {"type": "string"}, "description": "A list of Attempts as JSON."},
                WAITED_HEADER: {"schema": {"type": "integer"}},
            },
            "content": {
                "application/json": {"schema": _ANY},
                "text/event-stream": {"schema": {"description": "Events."}},
            },
        },
        **_errors("OpenAIError"),
        "default": _json({"$ref": "#/components/schemas/OpenAIError"}, "The provider's own error."),
    }
    return operation


def _get(name: str, words: str, *, open_to_all: bool = False) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": words,
        "responses": {"200": _json(_ANY, "The figures."), **_errors("OpenAIError")},
    }
    if open_to_all:
        operation["security"] = []
    return operation


def _text(name: str, words: str, kind: str, *, open_to_all: bool = False) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": words,
        "responses": {
            "200": {"description": words, "content": {kind: {"schema": {"type": "string"}}}},
            **_errors("OpenAIError"),
        },
    }
    if open_to_all:
        operation["security"] = []
    return operation
