"""What callers see: the gateway's own endpoints, the OpenAI-compatible ones, statistics and pages."""
