"""The HTTP surface: the gateway's own endpoints, the OpenAI-compatible ones, statistics and pages."""
