"""Built-in settings: the known providers, their limits, and the routes of models.

They have the shape of the configuration file, which is laid over them. Limits are those of the providers' free tiers.
"""

from collections.abc import Mapping
from typing import Any

from tickmind.gateway.settings.config import Limits

ENV_PROVIDER = "default"  # the name of the endpoint that LLM_BASE_URL points to

# provider -> its settings, in the order in which a default model is looked for
BUILT_IN_PROVIDERS: Mapping[str, Mapping[str, Any]] = {
    "groq": {
        "base_url": "https://api.groq.com/openai/v1",
        "keys": [{"key_env": "GROQ_API_KEY"}],
        "default_model": "qwen/qwen3-32b",
        "surfaces": ["chat"],
        "fallback": ["cerebras"],
    },
    "cerebras": {
        "base_url": "https://api.cerebras.ai/v1",
        "keys": [{"key_env": "CEREBRAS_API_KEY"}],
        "default_model": "llama-3.3-70b",
        "surfaces": ["chat"],
        "fallback": ["groq"],
    },
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "keys": [{"key_env": "OPENAI_API_KEY"}],
        "default_model": "gpt-4-turbo",
        "surfaces": ["chat", "responses", "embeddings"],
    },
    "anthropic": {
        "base_url": "https://api.anthropic.com/v1",
        "keys": [{"key_env": "ANTHROPIC_API_KEY"}],
        "default_model": "claude-3-5-sonnet-20241022",
        "surfaces": ["chat"],
    },
    "ollama": {
        "base_url": "http://localhost:11434/v1",
        "keys": [],
        "default_model": "qwen3:4b",
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
    "qwen/qwen3-32b": {"provider": "groq", "fallback": ["cerebras", "openai"]},
    "llama-3.3-70b-versatile": {"provider": "groq", "fallback": ["cerebras"]},
    "llama-3.3-70b": {"provider": "cerebras", "fallback": ["groq"]},
    "gpt-4-turbo": {"provider": "openai", "fallback": []},
    "gpt-4o": {"provider": "openai", "fallback": []},
    "claude-3-5-sonnet-20241022": {"provider": "anthropic", "fallback": []},
    "qwen3:4b": {"provider": "ollama", "fallback": []},
}

BUILT_IN_PATTERNS: tuple[Mapping[str, Any], ...] = (
    {"match": "gpt-*", "provider": "openai"},
    {"match": "text-embedding-*", "provider": "openai"},
    {"match": "claude-*", "provider": "anthropic"},
    {"match": "*llama*", "provider": "groq"},
)
