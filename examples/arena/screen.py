"""The arena in the terminal: the land on the left, figures and one predator's mind on the right."""

import io
import re
from collections import Counter, deque
from itertools import groupby
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.layout import Layout
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from arena.land import PREDATOR, PREY, WIDTH, Body, Land
from tickmind.ai import AIManager, BehaviorTree
from tickmind.tick import Engine, SignalBus, TickContext, World

GRASS = tuple(f"on rgb({24 - 3 * n},{44 + 14 * n},{26 - 2 * n})" for n in range(4))  # the more, the brighter
WATER = "rgb(120,170,230) on rgb(24,60,130)"
LOOKS = {PREDATOR: ("▲", "bold rgb(255,95,85)"), PREY: ("●", "bold rgb(250,220,110)")}
DOING_LOOKS = {
    "flees": "bold bright_white",
    "drinks": "bold bright_cyan",
    "rests": "rgb(190,90,90)",
    "lurks": "bold rgb(230,130,255)",
}


class Framed:
    """Coloured cells in a frame, as segments at once: text in a panel would be taken apart and put together again."""

    def __init__(self, cells: list[list[tuple[str, str]]]) -> None:
        self.cells = cells  # row, column -> mark and look

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        green, edge = Style.parse("green"), "─" * (len(self.cells[0]) + 2)
        yield Segment(f"╭{edge}╮\n", green)
        for line in self.cells:
            yield Segment("│ ", green)
            for look, run in groupby(line, key=lambda cell: cell[1]):
                yield Segment("".join(mark for mark, _ in run), Style.parse(look))
            yield Segment(" │\n", green)
        yield Segment(f"╰{edge}╯\n", green)


class Screen:
    """Draws the arena and keeps the news."""

    def __init__(self, engine: Engine, land: Land, ai: AIManager, bus: SignalBus) -> None:
        self.engine = engine
        self.land = land
        self.ai = ai
        self.news: deque[str] = deque(maxlen=5)
        self.counts: Counter[str] = Counter()
        self.history: deque[tuple[int, int]] = deque(maxlen=36)  # prey and predators, now and then
        for signal in ("eaten", "died", "born", "came"):
            bus.subscribe(signal, self.note)

    def note(self, signal: str, data: dict[str, object]) -> None:
        """Remember what happened."""
        self.counts[signal] += 1
        match signal:
            case "eaten":
                self.news.append(f"{data['by']} caught {data['who']}")
            case "died":
                self.news.append(f"{data['kind']} {data['who']} died of {data['why']}")
            case "born":
                self.news.append(f"{data['kind']} {data['who']} was born")
            case _:
                self.news.append(f"{data['kind']} {data['who']} came from outside")

    def remember(self, _world: World, ctx: TickContext) -> None:
        """A system that notes now and then how many there are."""
        if ctx.tick_number % 20 == 1:
            now = self.population()
            self.history.append((now[PREY], now[PREDATOR]))

    def population(self) -> Counter[str]:
        """How many of each kind there are."""
        return Counter(body.kind for _, (body,) in self.engine.world.query(Body))

    def draw_land(self) -> RenderableType:
        """The map with everybody on it."""
        cells = [
            [("~", WATER) if wet else (" ", GRASS[int(grass * 3.99)]) for wet, grass in zip(*rows, strict=True)]
            for rows in zip(self.land.wet, self.land.grass, strict=True)
        ]
        for _, (body,) in self.engine.world.query(Body):
            mark, look = LOOKS[body.kind]
            place = cells[round(body.y)]
            ground = place[round(body.x)][1].partition("on ")[2]
            place[round(body.x)] = (mark, f"{DOING_LOOKS.get(body.doing, look)} on {ground}")
        return Framed(cells)

    def draw_figures(self) -> RenderableType:
        """Numbers, and how they changed."""
        now = self.population()
        statistics = self.engine.statistics()
        table = Table.grid(padding=(0, 1))
        table.add_row("tick", f"{self.engine.tick_number}  ({self.engine.tps:g} per second)")
        table.add_row(Text("● prey", "bright_yellow"), f"{now[PREY]:3} {_line([prey for prey, _ in self.history])}")
        table.add_row(Text("▲ predators", "bright_red"), f"{now[PREDATOR]:3} {_line([p for _, p in self.history])}")
        table.add_row("caught", f"{self.counts['eaten']}   born {self.counts['born']}   died {self.counts['died']}")
        late = (
            f"{statistics.overruns} (worst {statistics.worst_overrun_s * 1000:.0f} ms)"
            if statistics.overruns
            else "none"
        )
        table.add_row("late ticks", late)
        return table

    def draw_mind(self) -> RenderableType:
        """The oldest predator's tree, with what each node said last tick."""
        for eid, (body, tree) in self.engine.world.query(Body, BehaviorTree):
            if body.kind == PREDATOR:
                drawing = Text(no_wrap=True, overflow="crop")
                for line in self.ai.draw(tree).splitlines():
                    look = "green" if "✓" in line else "yellow" if "…" in line else "red" if "✗" in line else "dim"
                    drawing.append(line + "\n", style=look)
                title = f"predator {eid} {body.doing}: energy {body.energy:.0f}, water {body.water:.0f}"
                return Panel(drawing, title=title, title_align="left", border_style="dim")
        return Panel("no predator is left", border_style="dim")

    def draw(self) -> RenderableType:
        """The whole screen."""
        side = Group(
            Panel(self.draw_figures(), title="arena", title_align="left"),
            self.draw_mind(),
            Panel(Text("\n".join(self.news) or "nothing yet"), title="news", title_align="left", border_style="dim"),
        )
        layout = Layout()
        layout.split_row(Layout(self.draw_land(), size=WIDTH + 4), Layout(side))
        return layout


def _line(values: list[int]) -> str:
    """A small chart of some numbers."""
    if not values:
        return ""
    top = max(*values, 1)
    return "".join("▁▂▃▄▅▆▇█"[min(7, value * 7 // top)] for value in values)


def save_picture(screen: RenderableType, title: str, target: Path, *, height: int = 30) -> None:
    """Write a screen as an SVG file that needs no font from elsewhere."""
    console = Console(
        record=True, width=140, height=height, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(screen, height=height)
    target.write_text(re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=title), flags=re.DOTALL))
