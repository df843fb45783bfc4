"""The terminal face: the only place where parts are wired together."""

from tickmind.cli.app import main

__all__ = ["main"]
