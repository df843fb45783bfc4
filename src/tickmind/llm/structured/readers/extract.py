"""Find where in a reply an object can stand: cut away thinking, separate fences from the prose between them."""

import html
import re
from dataclasses import dataclass
from typing import Literal

from tickmind.llm.streaming.thinking import ThinkSplitter

_SPECIAL = re.compile(r"<\|[\w ]{1,40}\|>|</?s>|\[/?INST\]|[\ufeff\u200b\u200e\u200f\x00]")
_NEXT_TURN = re.compile(
    r"<\|im_start\|>user|<\|user\|>|\[INST\]|^(?:User|Human|\#\#\# (?:Instruction|User|Human)):", re.MULTILINE
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_FENCE = re.compile(r"[ \t>]*+(`{3,}|~{3,})[ \t]*([\w+#.-]{0,20})[ \t]*(.*)$")
_EXAMPLE = re.compile(r"\b(?:examples?|for instance|e\.g\.|template|sample)\b", re.IGNORECASE)
_DATA_LANGUAGES = frozenset(
    {"", "json", "json5", "jsonc", "yaml", "yml", "text", "txt", "plaintext", "markdown", "md", "toml", "ini"}
)
_LOOK_BACK = 120


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a reply that may hold an object."""

    text: str
    start: int
    source: Literal["fence", "prose"]
    language: str = ""
    example: bool = False
    closed: bool = True  # False for the last one, unless its fence was closed

    @property
    def is_data(self) -> bool:
        """Whether its fence is for data; a program's lines are not `key: value` pairs."""
        return self.language in _DATA_LANGUAGES


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A reply without its thinking; `unclosed` is thinking that never ended."""

    text: str
    unclosed: str = ""


def clean(reply: str) -> Cleaned:
    """Cut away thinking and chat markers. What stands before a lone `</think>` is thinking too."""
    text = _without_next_turn(html.unescape(reply) if "&quot;" in reply else reply)
    text = _SPECIAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    if "<" not in text:
        return Cleaned(text)
    splitter = ThinkSplitter()
    splitter.feed(text)
    splitter.finish()
    return Cleaned(splitter.content, splitter.unclosed)


def _without_next_turn(text: str) -> str:
    """Cut off the questions that some models go on to ask themselves."""
    turn = _NEXT_TURN.search(text)
    if turn is None or not text[: turn.start()].strip():
        return text
    return text[: turn.start()]


def blocks(text: str) -> list[Block]:
    """Split a text into fenced blocks and the prose between them, in order; an unclosed fence goes on to the end."""
    out: list[Block] = []
    buffer: list[str] = []
    mark, language = "", ""
    start = pos = 0

    def close(source: Literal["fence", "prose"], end: int, *, closed: bool = True) -> None:
        nonlocal start
        body = "\n".join(buffer)
        if body.strip():
            out.append(Block(body, start, source, language, follows_example(text, start), closed))
        buffer.clear()
        start = end

    for line in text.split("\n"):
        end = pos + len(line) + 1
        fence = _FENCE.match(line)
        if fence is not None and not mark:
            close("prose", pos)
            mark, language = fence[1], fence[2].lower()
            rest = fence[3]
            if language and rest[:1] in {":", "="}:  # ```action: flee
                rest, language = fence[2] + rest, ""
            if rest.rstrip().endswith(mark):
                buffer.append(rest.rstrip()[: -len(mark)])
                close("fence", end)
                mark = language = ""
            elif rest:
                buffer.append(rest)
        elif mark and fence is not None and not fence[2] and not fence[3]:
            close("fence", end)
            mark = language = ""
        elif mark and line.rstrip().endswith(mark):
            buffer.append(line.rstrip()[: -len(mark)])
            close("fence", end)
            mark = language = ""
        elif mark and fence is not None:  # the next fence opens though this one was never closed
            close("fence", pos)
            mark, language = fence[1], fence[2].lower()
            if fence[3]:
                buffer.append(fence[3])
        else:
            buffer.append(line)
        pos = end
    close("fence" if mark else "prose", pos, closed=False)
    return out


def follows_example(text: str, start: int) -> bool:
    """Return whether the words right before this place (its line, or the line above) call it an example."""
    before = text[max(0, start - _LOOK_BACK) : start].rstrip()
    return _EXAMPLE.search(before[before.rfind("\n") + 1 :]) is not None


def without_fences(text: str) -> str:
    """Return the text with its fence lines made blank, for reading it as one piece."""
    return "\n".join("" if _FENCE.match(line) else line for line in text.split("\n"))
