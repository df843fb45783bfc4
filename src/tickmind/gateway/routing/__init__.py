"""Routing: the chain of targets for a model, and the endpoints that callers may name."""
