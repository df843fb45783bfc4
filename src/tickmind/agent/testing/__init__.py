"""Doubles for tests of characters: observations from drawings, and a world for one character without a server."""

from tickmind.agent.testing.drawing import LEGEND, Drawing, Object, Other, observe
from tickmind.agent.testing.small_world import SmallWorld

__all__ = ["LEGEND", "Drawing", "Object", "Other", "SmallWorld", "observe"]
