"""What goes into a prompt: sections that give way to a token budget, news from signals, and quoted speech."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.llm import estimate_tokens
from tickmind.tick import SignalBus

if TYPE_CHECKING:
    from tickmind.tick import World

TokenCount: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a user message. If the budget is short, the lowest priority goes first; equal ones from the end."""

    text: str
    priority: int = 0
    title: str = ""

    def __str__(self) -> str:
        return f"{self.title}:\n{self.text}" if self.title else self.text


Context: TypeAlias = "str | Iterable[Section]"
ContextFn: TypeAlias = Callable[["World", int], Context]


def assemble(context: Context, *, budget: int | None, count: TokenCount = estimate_tokens) -> str:
    """The user message: all sections that the budget has room for, in their order."""
    sections = [Section(context)] if isinstance(context, str) else list(context)
    if budget is not None:
        sections = _within(sections, budget, count)
    return "\n\n".join(str(section) for section in sections)


def _within(sections: list[Section], budget: int, count: TokenCount) -> list[Section]:
    order = sorted(range(len(sections)), key=lambda place: (-sections[place].priority, place))
    kept: dict[int, Section] = {}
    left = budget
    for place in order:
        section = sections[place]
        size = count(str(section)) + 1
        if size <= left:
            kept[place] = section
            left -= size
        elif not kept:
            kept[place] = Section(_cut(str(section), left, count), section.priority)
            break
    return [kept[place] for place in sorted(kept)]


def _cut(text: str, budget: int, count: TokenCount) -> str:
    """The longest beginning of a text that fits a budget."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def quoted(speaker: str, text: str, *, longest: int = 500) -> str:
    """What somebody else said, marked as such, so that it is read as speech and not as an instruction."""
    flat = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    shown = flat if len(flat) <= longest else flat[:longest] + "..."
    name = " ".join(speaker.split())[:80]
    return f'{name} said: "{shown.replace(chr(34), chr(39))}"'


def situation(world: "World", entity_id: int, *components: type, names: Mapping[type, str] | None = None) -> str:
    """A plain report of an entity's components, one line for each field."""
    lines: list[str] = []
    for kind in components:
        component: Any = world.find(entity_id, kind)
        if component is None:
            continue
        title = (names or {}).get(kind, kind.__name__)
        if is_dataclass(component):
            values = ", ".join(f"{item.name} {_shown(getattr(component, item.name))}" for item in fields(component))
            lines.append(f"{title}: {values}")
        else:
            lines.append(f"{title}: {component}")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


class RecentEvents:
    """The newest signals of some names, for prompts: subscribe it to a bus and ask for lines.

    `describe(name, data)` makes a line of a signal, or None to leave it out; `concerns(data, entity_id)` says whose
    business it is.
    """

    def __init__(
        self,
        bus: SignalBus,
        signals: Iterable[str],
        *,
        describe: Callable[[str, dict[str, Any]], str | None] | None = None,
        concerns: Callable[[dict[str, Any], int], bool] | None = None,
        length: int = 50,
    ) -> None:
        self._events: deque[tuple[str, dict[str, Any]]] = deque(maxlen=length)
        self._describe = describe or (lambda name, data: f"{name}: " + ", ".join(f"{k} {v}" for k, v in data.items()))
        self._concerns = concerns or (lambda data, entity_id: entity_id in data.values())
        for signal in signals:
            bus.subscribe(signal, self._note)

    def _note(self, signal: str, data: dict[str, Any]) -> None:
        self._events.append((signal, data))

    def lines(self, entity_id: int | None = None, *, most: int = 10) -> list[str]:
        """The newest lines, oldest first; of one entity's business if given."""
        found: list[str] = []
        for signal, data in reversed(self._events):
            if len(found) == most:
                break
            if entity_id is None or self._concerns(data, entity_id):
                line = self._describe(signal, data)
                if line is not None:
                    found.append(line)
        return found[::-1]
