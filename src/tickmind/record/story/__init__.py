"""The chronicle of a run in plain sentences, made from its record alone.

with store.open(run_id) as reader:
    told = chronicle(read_story(reader))
"""

from tickmind.record.story.chronicle import Chronicle, ChronicleDay, ChroniclePart, ChronicleSentence, chronicle
from tickmind.record.story.events import RunStory, StoryEvent, StoryKind
from tickmind.record.story.formats import address, as_json, as_markdown
from tickmind.record.story.phrases import listed
from tickmind.record.story.reading import read_story

__all__ = [
    "Chronicle",
    "ChronicleDay",
    "ChroniclePart",
    "ChronicleSentence",
    "RunStory",
    "StoryEvent",
    "StoryKind",
    "address",
    "as_json",
    "as_markdown",
    "chronicle",
    "listed",
    "read_story",
]
