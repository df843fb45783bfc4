"""Built-in settings: the known providers, their models and limits, and the routes of models.

They have the shape of the configuration file, which is laid over them. Limits are those of the providers' free tiers.
"""

from collections.abc import Mapping
from typing import Any

from tickmind.gateway.settings.config import Limits

ENV_PROVIDER = "default"  # the name of the endpoint that LLM_BASE_URL points to

# provider -> the model that is asked where only the provider is named: as of 2026-11, a current, quick and cheap one
DEFAULT_MODELS: Mapping[str, str] = {
    "groq": "openai/gpt-oss-120b",
    "cerebras": "gpt-oss-120b",
    "openai": "gpt-6-luna",
    "anthropic": "claude-haiku-5-5",
    "ollama": "qwen3:4b",
}

# provider -> its settings, in the order in which a default model is looked for
BUILT_IN_PROVIDERS: Mapping[str, Mapping[str, Any]] = {
    "groq": {
        "base_url": "https://api.groq.com/openai/v1",
        "keys": [{"key_env": "GROQ_API_KEY"}],
        "default_model": DEFAULT_MODELS["groq"],
        "surfaces": ["chat"],
        "fallback": ["cerebras"],
    },
    "cerebras": {
        "base_url": "https://api.cerebras.ai/v1",
        "keys": [{"key_env": "CEREBRAS_API_KEY"}],
        "default_model": DEFAULT_MODELS["cerebras"],
        "surfaces": ["chat"],
        "fallback": ["groq"],
    },
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "keys": [{"key_env": "OPENAI_API_KEY"}],
        "default_model": DEFAULT_MODELS["openai"],
        "surfaces": ["chat", "responses", "embeddings"],
        "request_fields": {
            "*": {"max_tokens": "max_completion_tokens"},
            **{model: {"temperature": None, "top_p": None} for model in ("gpt-5*", "gpt-6*", "o1*", "o3*", "o4*")},
        },
    },
    "anthropic": {
        "base_url": "https://api.anthropic.com/v1",
        "keys": [{"key_env": "ANTHROPIC_API_KEY"}],
        "default_model": DEFAULT_MODELS["anthropic"],
        "surfaces": ["chat"],
        "request_fields": {
            f"claude-{family}-5*": {"temperature": None, "top_p": None, "top_k": None}
            for family in ("haiku", "sonnet", "opus", "fable", "mythos")
        },
    },
    "ollama": {
        "base_url": "http://localhost:11434/v1",
        "keys": [],
        "default_model": DEFAULT_MODELS["ollama"],
    },
}

BUILT_IN_LIMITS: Mapping[str, Limits] = {
    "groq": Limits(requests_per_minute=30, burst=5, concurrency=2),
    "cerebras": Limits(requests_per_minute=60, burst=10, concurrency=2),
    "openai": Limits(requests_per_minute=10, burst=3, concurrency=1),
    "anthropic": Limits(requests_per_minute=50, burst=5, concurrency=1),
    "ollama": Limits(concurrency=4),
}

# model -> its route
BUILT_IN_MODELS: Mapping[str, Mapping[str, Any]] = {
    DEFAULT_MODELS["groq"]: {"provider": "groq", "fallback": ["cerebras", "openai"]},
    DEFAULT_MODELS["cerebras"]: {"provider": "cerebras", "fallback": ["groq"]},
    DEFAULT_MODELS["openai"]: {"provider": "openai", "fallback": []},
    DEFAULT_MODELS["anthropic"]: {"provider": "anthropic", "fallback": []},
    DEFAULT_MODELS["ollama"]: {"provider": "ollama", "fallback": []},
}

BUILT_IN_PATTERNS: tuple[Mapping[str, Any], ...] = (
    {"match": "openai/gpt-oss-*", "provider": "groq"},
    {"match": "gpt-oss-*", "provider": "cerebras"},
    {"match": "gpt-*", "provider": "openai"},
    {"match": "text-embedding-*", "provider": "openai"},
    {"match": "claude-*", "provider": "anthropic"},
    {"match": "*llama*", "provider": "groq"},
)
