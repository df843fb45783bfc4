"""Write messages as plain JSON values and read them back, for files such as cassettes and agent states.

A message is `{"role": ..., "parts": [...], "tool_calls": [...], "tool_call_id": ..., "name": ..., "thinking": [...]}`;
a part is `{"text"}`, `{"image", "detail"}` or `{"audio", "format"}`. Fields with nothing in them are left out.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tickmind.base import ConfigError
from tickmind.llm.messages import Audio, Image, Message, Part, Text, ThinkingBlock, ToolCall

_LONGEST_URL = 256  # longer ones are pictures themselves, of which a brief form keeps the digest


def message_form(message: Message, *, brief: bool = False) -> dict[str, Any]:
    """Write a message; `read_message` reads it back the same.

    A `brief` form is for comparing messages and can't be read back: it has media by their digest and thinking as
    text only.
    """
    blocks = [block.text if brief else filled(asdict(block)) for block in message.thinking]
    form = {
        "parts": [_part_form(part, brief=brief) for part in message.parts],
        "tool_calls": [asdict(call) for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
        "name": message.name,
        "thinking": blocks,
    }
    return {"role": message.role} | filled(form)


def read_message(form: Mapping[str, Any]) -> Message:
    """Read a message that `message_form` wrote; raises `ConfigError` or `LookupError` if it is none."""
    role = form["role"]
    if role not in ("system", "user", "assistant", "tool"):
        raise ConfigError(f"{role!r} is no role of a message; use system, user, assistant or tool")
    return Message(
        role,
        tuple(_read_part(part) for part in form.get("parts", ())),
        tuple(ToolCall(**call) for call in form.get("tool_calls", ())),
        str(form.get("tool_call_id", "")),
        str(form.get("name", "")),
        tuple(ThinkingBlock(**{"text": "", **block}) for block in form.get("thinking", ())),
    )


def filled(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that hold something."""
    return {name: value for name, value in form.items() if value not in (None, "", [], {})}


def _part_form(part: Part, *, brief: bool) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Image(url, detail):
            is_kept = not brief or len(url) <= _LONGEST_URL
            return {"image": url if is_kept else _digest(url.encode("utf-8", "surrogatepass")), "detail": detail}
        case Audio(data, sound_format):
            sound = _digest(data) if brief else base64.b64encode(data).decode("ascii")
            return {"audio": sound, "format": sound_format}


def _read_part(form: Mapping[str, Any]) -> Part:
    if "text" in form:
        return Text(str(form["text"]))
    if "image" in form:
        return Image(str(form["image"]), form["detail"])
    if "audio" in form:
        return Audio(base64.b64decode(form["audio"], validate=True), str(form["format"]))
    raise ConfigError(f"{', '.join(form) or 'nothing'} is no part of a message; a part has text, image or audio")


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()} ({len(data)} bytes)"
