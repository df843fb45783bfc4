"""What is said to a model and by it, in a form that belongs to no provider."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tickmind.llm.errors import LLMConfigError

Role = Literal["system", "user", "assistant", "tool"]
ImageDetail = Literal["auto", "low", "high"]

_HALF_LETTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text. A half letter (a lone surrogate), which no endpoint takes, becomes the mark for such."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.isascii():
            try:
                self.text.encode()
            except UnicodeEncodeError:
                object.__setattr__(self, "text", _HALF_LETTER.sub("\ufffd", self.text))


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by address (`https:` or `data:`)."""

    url: str
    detail: ImageDetail = "auto"

    @classmethod
    def from_bytes(cls, data: bytes, *, media_type: str = "image/png", detail: ImageDetail = "auto") -> "Image":
        """A picture from its file's bytes."""
        return cls(f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}", detail)


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound, from its file's bytes."""

    data: bytes
    format: str = "wav"


Part = Text | Image | Audio


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to use a tool. `arguments` is the JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """Reasoning as a provider gave it. Some refuse a turn whose earlier thinking is not sent back with its tool calls.

    `wire` names the wire form that it came through; it goes back through the same one only. `signature` is the
    provider's seal on it, and `data` is reasoning that came encrypted.
    """

    text: str
    wire: str = ""
    signature: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. Build it with `system`, `user`, `assistant` or `tool`."""

    role: Role
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    thinking: tuple[ThinkingBlock, ...] = ()

    @classmethod
    def system(cls, text: str) -> "Message":
        """Instructions that frame the conversation."""
        return cls("system", (Text(text),))

    @classmethod
    def user(
        cls,
        text: str | Sequence[str] = (),
        *,
        images: Iterable[str | bytes | Image] = (),
        audio: Iterable[bytes | Audio] = (),
        image_detail: ImageDetail = "auto",
        audio_format: str = "wav",
    ) -> "Message":
        """What a person or the game says: texts, then pictures, then sounds."""
        texts = (text,) if isinstance(text, str) else tuple(text)
        parts: list[Part] = [Text(item) for item in texts if item]
        for picture in images:
            if isinstance(picture, Image):
                parts.append(picture)
            elif isinstance(picture, bytes):
                parts.append(Image.from_bytes(picture, detail=image_detail))
            else:
                parts.append(Image(picture, image_detail))
        parts.extend(sound if isinstance(sound, Audio) else Audio(sound, audio_format) for sound in audio)
        return cls("user", tuple(parts))

    @classmethod
    def assistant(
        cls, text: str = "", *, tool_calls: Iterable[ToolCall] = (), thinking: Iterable[ThinkingBlock] = ()
    ) -> "Message":
        """What the model said, with the tools that it asked for and the thinking that came before."""
        return cls("assistant", (Text(text),) if text else (), tuple(tool_calls), thinking=tuple(thinking))

    @classmethod
    def tool(cls, call: ToolCall, text: str) -> "Message":
        """What a tool answered."""
        return cls("tool", (Text(text),), tool_call_id=call.id, name=call.name)

    @property
    def text(self) -> str:
        """All texts of this turn, one below the other."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


MessageLike = Message | Mapping[str, Any] | str
MessagesLike = str | Iterable[MessageLike]


def as_messages(messages: MessagesLike) -> tuple[Message, ...]:
    """Accept what people write: one string, `{"role": ..., "content": ...}` mappings, or messages."""
    if isinstance(messages, str):
        return (Message.user(messages),)
    return tuple(_as_message(item) for item in messages)


def instructed(turns: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    """Instructions go to the end of the system message, where they can be cached with it."""
    if turns and turns[0].role == "system":
        return (replace(turns[0], parts=(*turns[0].parts, Text(instructions))), *turns[1:])
    return (Message.system(instructions), *turns)


def _as_message(item: MessageLike) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, str):
        return Message.user(item)
    role, content = item.get("role"), item.get("content")
    if role == "system" and isinstance(content, str):
        return Message.system(content)
    if role == "user" and isinstance(content, str):
        return Message.user(content)
    if role == "assistant" and isinstance(content, str):
        return Message.assistant(content)
    raise LLMConfigError(
        "a message is {'role': 'system' | 'user' | 'assistant', 'content': '...'}; for pictures, sounds and tools "
        f"build it with tickmind.llm.Message (got role {role!r} and content of type {type(content).__name__})"
    )
