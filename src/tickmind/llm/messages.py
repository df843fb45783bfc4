"""`Message` and its parts: a conversation with a model in a form that belongs to no provider."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tickmind.llm.errors import LLMConfigError

Role = Literal["system", "user", "assistant", "tool"]
ImageDetail = Literal["auto", "low", "high"]

_HALF_LETTER = re.compile("[\ud800-\udfff]")
_IMAGE_STARTS = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_AUDIO_STARTS = {b"ID3": "mp3", b"\xff\xfb": "mp3", b"\xff\xf3": "mp3", b"OggS": "ogg", b"fLaC": "flac"}
_REASONING_FIELDS = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text. A half letter (a lone surrogate), which no endpoint accepts, becomes U+FFFD."""

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
    def from_bytes(cls, data: bytes, *, media_type: str = "", detail: ImageDetail = "auto") -> "Image":
        """Make a picture from its file's bytes, which show its type: PNG, JPEG, GIF or WebP.

        Raises `LLMConfigError` for other files, unless you give their `media_type`.
        """
        kind = media_type or _image_type(data)
        return cls(f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}", detail)


def _image_type(data: bytes) -> str:
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    for start, kind in _IMAGE_STARTS.items():
        if data.startswith(start):
            return kind
    raise LLMConfigError(
        f"these {len(data)} bytes are no PNG, JPEG, GIF or WebP file; give their type: "
        "Image.from_bytes(data, media_type='image/...')"
    )


def _audio_format(data: bytes) -> str:
    """Return the format of a sound by its first bytes; WAV where they don't show it, since some WAVs have no header."""
    return next((name for start, name in _AUDIO_STARTS.items() if data.startswith(start)), "wav")


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound, from its file's bytes."""

    data: bytes
    format: str = "wav"


Part = Text | Image | Audio


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to use a tool. `arguments` is the JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """Reasoning as a provider sent it. Some refuse a turn whose earlier thinking is not sent back with its tool calls.

    `wire` names the wire form that it came through; it goes back through the same one only. `signature` is the
    provider's signature of it, and `data` is reasoning that came encrypted.
    """

    text: str
    wire: str = ""
    signature: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. Build it with `system`, `user`, `assistant` or `tool`.

    >>> turns = [Message.system("You are a miller."), Message.user("Good morning!")]
    >>> [(turn.role, turn.text) for turn in turns]
    [('system', 'You are a miller.'), ('user', 'Good morning!')]
    """

    role: Role
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    thinking: tuple[ThinkingBlock, ...] = ()

    @classmethod
    def system(cls, text: str) -> "Message":
        """Make a turn of instructions that frame the conversation."""
        return cls("system", (Text(text),))

    @classmethod
    def user(
        cls,
        text: str | Sequence[str] = (),
        *,
        images: Iterable[str | bytes | Image] = (),
        audio: Iterable[bytes | Audio] = (),
        image_detail: ImageDetail = "auto",
        audio_format: str = "",
    ) -> "Message":
        """Make a turn of a person or the game: texts, then pictures, then sounds; bytes show their own type."""
        texts = (text,) if isinstance(text, str) else tuple(text)
        parts: list[Part] = [Text(item) for item in texts if item]
        for picture in images:
            if isinstance(picture, Image):
                parts.append(picture)
            elif isinstance(picture, bytes):
                parts.append(Image.from_bytes(picture, detail=image_detail))
            else:
                parts.append(Image(picture, image_detail))
        for sound in audio:
            if isinstance(sound, Audio):
                parts.append(sound)
            else:
                parts.append(Audio(sound, audio_format or _audio_format(sound)))
        return cls("user", tuple(parts))

    @classmethod
    def assistant(
        cls, text: str = "", *, tool_calls: Iterable[ToolCall] = (), thinking: Iterable[ThinkingBlock] = ()
    ) -> "Message":
        """Make a turn of the model, with the tools that it called and the thinking that came before."""
        return cls("assistant", (Text(text),) if text else (), tuple(tool_calls), thinking=tuple(thinking))

    @classmethod
    def tool(cls, call: ToolCall, text: str) -> "Message":
        """Make a turn with the result of a tool."""
        return cls("tool", (Text(text),), tool_call_id=call.id, name=call.name)

    @property
    def text(self) -> str:
        """All texts of this turn, one below the other."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


MessageLike = Message | Mapping[str, Any] | str
MessagesLike = MessageLike | Iterable[MessageLike]
_ONE_MESSAGE = (str, Message, Mapping)


def as_messages(messages: MessagesLike) -> tuple[Message, ...]:
    """Convert one string, one message, one mapping in OpenAI's form, or a list of these, to messages.

        >>> [turn.role for turn in as_messages("Hi")]
        ['user']
        >>> as_messages({"role": "user", "content": "Hi"}) == as_messages("Hi")
        True
        >>> parts = [{"type": "text", "text": "Hi"}]
        >>> [turn.role for turn in as_messages([Message.system("Be brief."), {"role": "user", "content": parts}])]
        ['system', 'user']

    Mappings may have parts (`text`, `image_url`, `input_audio`), tool calls and results. Raises `LLMConfigError` for
    anything else.
    """
    if not isinstance(messages, list | tuple):  # checked first, because a check for Mapping is slow
        if isinstance(messages, _ONE_MESSAGE):
            return (_as_message(messages),)
        if not isinstance(messages, Iterable):
            raise LLMConfigError(f"messages must be texts, messages or mappings, not {type(messages).__name__}")
    return tuple([_as_message(item) for item in messages])  # faster than a generator


def instructed(turns: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    """Append instructions to the system message, where they can be cached with it."""
    if turns and turns[0].role == "system":
        return (replace(turns[0], parts=(*turns[0].parts, Text(instructions))), *turns[1:])
    return (Message.system(instructions), *turns)


def _as_message(item: MessageLike) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, str):
        return Message.user(item)
    if not isinstance(item, Mapping):
        raise LLMConfigError(f"a message must be a text, a Message or a mapping, not {type(item).__name__}")
    role = item.get("role")
    parts = _read_parts(item.get("content"))
    if role in ("system", "developer"):
        return Message("system", parts)
    if role == "user":
        return Message("user", parts, name=_text_of(item, "name"))
    if role == "tool":
        return Message("tool", parts, tool_call_id=_text_of(item, "tool_call_id"), name=_text_of(item, "name"))
    if role == "assistant":
        calls = item.get("tool_calls") or ()
        if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
            raise LLMConfigError("the tool_calls of a message must be a list")
        return Message("assistant", parts, tuple(map(_read_call, calls)), thinking=_read_thinking(item))
    raise LLMConfigError(
        f"a message is {{'role': 'system' | 'user' | 'assistant' | 'tool', 'content': ...}}; this one has role {role!r}"
    )


def _read_parts(content: Any) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, Mapping) or not isinstance(content, Iterable):
        raise LLMConfigError(f"a message's content must be a text or a list of parts, not {type(content).__name__}")
    return tuple(_read_part(part) for part in content)


def _read_part(part: Any) -> Part:
    if isinstance(part, Text | Image | Audio):
        return part
    if isinstance(part, str):
        return Text(part)
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    if kind in ("text", "input_text", "output_text"):
        return Text(_text_of(part, "text"))
    if kind == "refusal":
        return Text(_text_of(part, "refusal"))
    if kind in ("image_url", "input_image"):
        picture = part.get("image_url")
        form = picture if isinstance(picture, Mapping) else {"url": picture, "detail": part.get("detail")}
        detail = form.get("detail")
        return Image(_text_of(form, "url"), detail if detail in ("low", "high") else "auto")
    if kind == "input_audio" and isinstance(sound := part.get("input_audio"), Mapping):
        try:
            return Audio(base64.b64decode(_text_of(sound, "data"), validate=True), _text_of(sound, "format") or "wav")
        except binascii.Error as error:
            raise LLMConfigError(f"the input_audio of a message is not base64: {error}") from error
    raise LLMConfigError(f"a message's part must be of type 'text', 'image_url' or 'input_audio', not {kind!r}")


def _read_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise LLMConfigError("a tool call must be {'id': ..., 'function': {'name': ..., 'arguments': '...'}}")
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return ToolCall(_text_of(call, "id"), _text_of(function, "name"), arguments)


def _read_thinking(item: Mapping[str, Any]) -> tuple[ThinkingBlock, ...]:
    """Read the reasoning of a turn, which goes back through the wire form that it came through."""
    for name in _REASONING_FIELDS:
        if text := _text_of(item, name):
            return (ThinkingBlock(text, f"chat/{name}"),)
    return ()


def _text_of(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise LLMConfigError(f"the {name} of a message must be a text, not {type(value).__name__}")
    return value
