"""The chronicle of a run in plain sentences, made from its record alone.

with store.open(run_id) as reader:
    told = chronicle(read_story(reader))
"""

from tickmind.record.story.chronicle import (
    Chronicle,
    ChronicleDay,
    ChroniclePart,
    ChronicleSentence,
    chronicle,
    highlights,
)
from tickmind.record.story.events import RunStory, StoryEvent, StoryKind
from tickmind.record.story.formats import REPLAY, address, as_json, as_markdown, tick_address
from tickmind.record.story.phrases import listed
from tickmind.record.story.portraits import Portrait, portraits
from tickmind.record.story.reading import read_story

__all__ = [
    "REPLAY",
    "Chronicle",
    "ChronicleDay",
    "ChroniclePart",
    "ChronicleSentence",
    "Portrait",
    "RunStory",
    "StoryEvent",
    "StoryKind",
    "address",
    "as_json",
    "as_markdown",
    "chronicle",
    "highlights",
    "listed",
    "portraits",
    "read_story",
    "tick_address",
]
