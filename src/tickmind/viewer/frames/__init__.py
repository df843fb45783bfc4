"""The frames that the page reads, live and replayed: `layout` is the format, `tick` the changes of each tick.

Pure functions make them from `protocol` types, so a record and a live world give the same bytes.
"""

from tickmind.viewer.frames.hello import hello, names_of
from tickmind.viewer.frames.layout import Frame, FrameKind, Tag, unpack
from tickmind.viewer.frames.notes import holding, notes, thought_mark, whole_thought
from tickmind.viewer.frames.tick import Happened, Names, Scene, keyframe, tick

__all__ = [
    "Frame",
    "FrameKind",
    "Happened",
    "Names",
    "Scene",
    "Tag",
    "hello",
    "holding",
    "keyframe",
    "names_of",
    "notes",
    "thought_mark",
    "tick",
    "unpack",
    "whole_thought",
]
