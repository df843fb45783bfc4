"""Phrases: the parts of lines of the phrasebook, in many forms, since all characters of a world share them.

A part may name others in braces; `{name}`, `{place}`, `{news}` and the like are given.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tickmind.mind.talk.phrases.meeting import MEETING
from tickmind.mind.talk.phrases.telling import TELLING

PARTS: Mapping[str, Sequence[str]] = MappingProxyType({**MEETING, **TELLING})

__all__ = ["PARTS"]
