"""Doubles for tests and trials: scripted and seeded models, faults, cassettes, and a provider on this machine."""

from tickmind.llm.cassettes.cassette import CassettePlayer, CassetteRecorder, CassetteStatistics, open_cassette
from tickmind.llm.cassettes.format import request_key
from tickmind.llm.scripted.pieces import Cut, cut_reply, cut_text, join_pieces
from tickmind.llm.scripted.sampling import sample_json
from tickmind.llm.scripted.transport import Reply, Script, ScriptedCall, ScriptedTransport, last_user_text
from tickmind.llm.testing.behaviours import (
    BadJson,
    BadUtf8,
    Behaviour,
    Break,
    Drip,
    EchoHeaders,
    EmptyReply,
    ErrorBeside,
    ErrorLine,
    Hang,
    HtmlPage,
    HugeBody,
    Late,
    Redirect,
    Refuse,
    Respond,
    Step,
    UnframedError,
    WrongType,
)
from tickmind.llm.testing.faults import Fault, FaultStatistics, FaultyTransport
from tickmind.llm.testing.provider import FakeProvider, SeenRequest
from tickmind.llm.testing.seeded import SeededTransport

__all__ = [
    "BadJson",
    "BadUtf8",
    "Behaviour",
    "Break",
    "CassettePlayer",
    "CassetteRecorder",
    "CassetteStatistics",
    "Cut",
    "Drip",
    "EchoHeaders",
    "EmptyReply",
    "ErrorBeside",
    "ErrorLine",
    "FakeProvider",
    "Fault",
    "FaultStatistics",
    "FaultyTransport",
    "Hang",
    "HtmlPage",
    "HugeBody",
    "Late",
    "Redirect",
    "Refuse",
    "Reply",
    "Respond",
    "Script",
    "ScriptedCall",
    "ScriptedTransport",
    "SeededTransport",
    "SeenRequest",
    "Step",
    "UnframedError",
    "WrongType",
    "cut_reply",
    "cut_text",
    "join_pieces",
    "last_user_text",
    "open_cassette",
    "request_key",
    "sample_json",
]
