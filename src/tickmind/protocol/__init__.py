"""Frozen types that cross packages, and the ports through which they travel."""

from tickmind.protocol.thought import Thought, ThoughtSink

__all__ = ["Thought", "ThoughtSink"]
