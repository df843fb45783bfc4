"""Parts of a prompt: sections within a token budget, recent signals, and quoted speech."""

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.base import TickmindError
from tickmind.llm import estimate_tokens
from tickmind.tick import SignalBus

if TYPE_CHECKING:
    from tickmind.tick import World

TokenCount: TypeAlias = Callable[[str], int]

CUT_NOTE = "[cut here: the rest does not fit]"
LEFT_OUT_NOTE = "[{number} less important sections left out: they do not fit]"
LONGEST_NAME_CHARS = 80  # of a speaker
DEEPEST_SHOWN = 6  # levels of a value that are shown item by item
SMALLEST_WRITTEN_OUT, LARGEST_WRITTEN_OUT = 1e-6, 1e15  # numbers outside of these have an exponent
_WORD = re.compile(r"\S+")
_PLAIN_NAME = re.compile(r"[^\W_](?:[\w '()#-]*[\w)])?")
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\u2033\uff02\u00ab\u00bb', "'"))


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a user message. Over the budget, the lowest priority goes first; equal ones from the end."""

    text: str
    priority: int = 0
    title: str = ""

    def __str__(self) -> str:
        return f"{self.title}:\n{self.text}" if self.title else self.text


Context: TypeAlias = "str | Iterable[Section | str]"
ContextFn: TypeAlias = Callable[["World", int], Context]


class PromptTooLongError(TickmindError, ValueError):
    """A prompt of which nothing useful fits the token budget; it is not sent."""


def assemble(context: Context, *, budget: int | None, count: TokenCount = estimate_tokens) -> str:
    """Join the sections of a context, in their order, as far as the budget goes.

    If they don't all fit, whole sections go, from the lowest priority up; a note says how many, if there is room.
    A section that does not fit by itself is cut between words and ends with a note. Raises `PromptTooLongError` if not
    even that fits.
    """
    if isinstance(context, str):
        if budget is None:
            return context
        sections = [Section(context)]
    else:
        sections = [Section(part) if isinstance(part, str) else part for part in context]
        for part in sections:
            if not isinstance(part, Section):
                raise TypeError(f"a context must be a text, or Sections and texts, not a {type(part).__name__}")
    return _joined(sections) if budget is None else _within(sections, budget, count)


def _joined(sections: Iterable[Section]) -> str:
    return "\n\n".join(str(section) for section in sections)


def _within(sections: list[Section], budget: int, count: TokenCount) -> str:
    """Drop sections from the lowest priority up, equal ones from the end, until the rest fits."""
    sizes = [count(str(section)) + 1 for section in sections]
    left = sum(sizes)
    order = sorted(range(len(sections)), key=lambda place: (sections[place].priority, -place))
    dropped: set[int] = set()
    for place in order[:-1]:
        if left <= budget:
            break
        dropped.add(place)
        left -= sizes[place]
    kept = [section for place, section in enumerate(sections) if place not in dropped]
    if left > budget and count(_joined(kept)) > budget:
        return _cut(str(kept[0]), budget, count)
    noted = f"{_joined(kept)}\n\n{LEFT_OUT_NOTE.format(number=len(dropped))}"
    return noted if dropped and count(noted) <= budget else _joined(kept)


def _cut(text: str, budget: int, count: TokenCount) -> str:
    """Return the longest beginning of a text that ends with a word and fits a budget together with the note."""
    ends = [match.end() for match in _WORD.finditer(text)]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count(f"{text[: ends[middle - 1]]} {CUT_NOTE}") <= budget:
            low = middle
        else:
            high = middle - 1
    if not low:
        raise PromptTooLongError(
            f"the context takes {count(text)} tokens, and token_budget leaves {budget} for it; shorten it or raise that"
        )
    return f"{text[: ends[low - 1]]} {CUT_NOTE}"


def quoted(speaker: str, text: str, *, longest: int = 500) -> str:
    """Mark another character's words as speech, on one line, so that they are not read as an instruction.

    Neither the text nor the speaker's name can leave its quotes; a plain name stands without them.
    """
    name = one_line(speaker).translate(_QUOTES)[:LONGEST_NAME_CHARS]
    if not _PLAIN_NAME.fullmatch(name):
        name = f'"{name}"'
    return f"{name} said: {in_quotes(text, longest=longest)}"


def in_quotes(text: str, *, longest: int = 500) -> str:
    """Return a text on one line in quotes that it can't leave."""
    flat = one_line(text).translate(_QUOTES)
    return f'"{flat if len(flat) <= longest else flat[:longest] + "..."}"'


def one_line(text: str) -> str:
    """Return a text without line breaks and invisible characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def situation(world: "World", entity_id: int, *components: type, names: Mapping[type, str] | None = None) -> str:
    """Describe an entity's components plainly, one line for each."""
    lines: list[str] = []
    for kind in components:
        component: Any = world.find(entity_id, kind)
        if component is None:
            continue
        title = (names or {}).get(kind, kind.__name__)
        lines.append(f"{title}: {_fields(component) if is_dataclass(component) else shown(component)}")
    return "\n".join(lines)


def _fields(value: Any, depth: int = 0) -> str:
    return ", ".join(f"{item.name} {shown(getattr(value, item.name), depth)}" for item in fields(value))


def shown(value: Any, depth: int = 0) -> str:
    """Write a value in words: numbers as people write them, texts on one line, collections item by item."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return one_line(value)
    if depth < DEEPEST_SHOWN:
        inner = depth + 1
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{shown(key, inner)}: {shown(item, inner)}" for key, item in value.items()) + "}"
        if isinstance(value, tuple):
            return "(" + ", ".join(shown(item, inner) for item in value) + ")"
        if isinstance(value, list | set | frozenset | deque):
            return "[" + ", ".join(shown(item, inner) for item in value) + "]"
        if is_dataclass(value) and not isinstance(value, type):
            return f"{type(value).__name__}({_fields(value, inner)})"
    return one_line(str(value))


def _number(value: float) -> str:
    """Write three significant digits, or all before the point; no exponent for everyday numbers."""
    if not math.isfinite(value) or abs(value) >= LARGEST_WRITTEN_OUT:
        return f"{value:.3g}"
    size = abs(value)
    if size < SMALLEST_WRITTEN_OUT:
        return "0" if size == 0 else f"{value:.3g}"
    places = max(0, 2 - math.floor(math.log10(size)))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


class RecentEvents:
    """Keep the newest signals of some names for prompts: subscribe it to a bus and read `lines`.

    `describe(name, data)` makes a line of a signal, or None to leave it out; `concerns(data, entity_id)` says whether
    it concerns an entity. With `tick`, such as `lambda: engine.tick_number`, each line begins with the tick in which
    the signal was delivered; a signal's own `tick` counts instead.
    """

    def __init__(
        self,
        bus: SignalBus,
        signals: Iterable[str],
        *,
        describe: Callable[[str, dict[str, Any]], str | None] | None = None,
        concerns: Callable[[dict[str, Any], int], bool] | None = None,
        length: int = 50,
        tick: Callable[[], int] | None = None,
    ) -> None:
        self._events: deque[tuple[int | None, str, dict[str, Any]]] = deque(maxlen=length)  # tick, signal, data
        self._describe = describe or _described
        self._concerns = concerns or _names
        self._tick = tick
        self._bus = bus
        self._signals = tuple(signals)
        for signal in self._signals:
            bus.subscribe(signal, self._note)

    def _note(self, signal: str, data: dict[str, Any]) -> None:
        tick = data.get("tick")
        if type(tick) is not int:
            tick = self._tick() if self._tick is not None else None
        self._events.append((tick, signal, data))

    def unsubscribe(self) -> None:
        """Stop receiving signals; earlier ones stay."""
        for signal in self._signals:
            self._bus.unsubscribe(signal, self._note)

    def lines(self, entity_id: int | None = None, *, most: int = 10, since_tick: int | None = None) -> list[str]:
        """Return the newest lines, oldest first; only those that concern an entity, or from a tick on, if given."""
        lines: list[str] = []
        for tick, signal, data in reversed(self._events):
            if len(lines) == most:
                break
            if since_tick is not None and tick is not None and tick < since_tick:
                continue
            if entity_id is None or self._concerns(data, entity_id):
                line = self._describe(signal, data)
                if line is not None:
                    lines.append(line if tick is None else f"Tick {tick}: {line}")
        return lines[::-1]


def _described(signal: str, data: dict[str, Any]) -> str:
    return f"{signal}: " + ", ".join(f"{name} {shown(value)}" for name, value in data.items() if name != "tick")


def _names(data: dict[str, Any], entity_id: int) -> bool:
    """Return whether some value of a signal is the entity's id; True is not entity 1."""
    return any(type(value) is int and value == entity_id for name, value in data.items() if name != "tick")
