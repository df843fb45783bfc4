"""Worlds whose characters think with language models: the world ticks on time, thoughts arrive when they arrive."""

__version__ = "0.1.0"
