"""Talk: sessions with turns and an end, what lines mean, and words for them."""

from tickmind.mind.talk.phrasebook import Act
from tickmind.mind.talk.sessions import Talk, TalkEnd, TalkLine, Talks
from tickmind.mind.talk.talker import Remark, Talker, TalkScene

__all__ = ["Act", "Remark", "Talk", "TalkEnd", "TalkLine", "TalkScene", "Talker", "Talks"]
