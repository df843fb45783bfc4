"""The arena with minds: who is thinking, what each predator decided, latency, errors and cooldowns."""

import statistics
from collections import deque
from typing import Any

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.panel import Panel
from rich.text import Text

from arena.land import PREDATOR, WIDTH, Body, Land
from arena.oracle import Plug
from arena.screen import Screen
from arena.strategist import Hunter, Pack, strategy_of
from tickmind.ai import AIManager
from tickmind.strategy import LLMAgent, LLMSystem
from tickmind.tick import Engine, SignalBus

MOST_SHOWN = 9  # predators
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
GOAL_LOOKS = {
    "hunt": "bold bright_red",
    "ambush": "bold rgb(230,130,255)",
    "patrol": "bold bright_cyan",
    "retreat": "bold bright_yellow",
    "rest": "bold bright_green",
}


class StrategistScreen(Screen):
    """Draws the arena with the panel of minds."""

    def __init__(
        self, engine: Engine, land: Land, ai: AIManager, bus: SignalBus, pack: Pack, system: LLMSystem, plug: Plug
    ) -> None:
        super().__init__(engine, land, ai, bus)
        self.pack = pack
        self.system = system
        self.plug = plug
        self.model = "the mock"
        self.width = 60  # of what is in the panel of minds
        self.said: deque[str] = deque(maxlen=5)
        self.news = deque(maxlen=6)
        bus.subscribe("said", self.note)

    def note(self, signal: str, data: dict[str, Any]) -> None:
        """Remember what happened, with names."""
        match signal:
            case "said":
                self.said.append(f"{data['name']}: {' '.join(data['text'].split())}")
            case "eaten":
                self.counts[signal] += 1
                self.news.append(f"{self._name(data['by'])} caught prey {data['who']}")
            case _:
                super().note(signal, data)

    def _name(self, eid: int) -> str:
        hunter = self.engine.world.find(eid, Hunter) if self.engine.world.alive(eid) else None
        return f"{hunter.name} {eid}" if hunter else f"predator {eid}"

    def draw(self) -> RenderableType:
        """The whole screen."""
        news = Text("\n".join(self.news) or "nothing yet", no_wrap=True, overflow="ellipsis")
        said = Text("\n".join(self.said) or "nothing yet", "italic dim", no_wrap=True, overflow="ellipsis")
        left = Group(self.draw_land(), Panel(news, title="news", title_align="left", border_style="dim", height=8))
        side = Group(
            Panel(self.draw_figures(), title="arena", title_align="left"),
            self.draw_minds(),
            Panel(said, title="said aloud, for others to believe or not", title_align="left", border_style="dim"),
        )
        layout = Layout()
        layout.split_row(Layout(left, size=WIDTH + 4), Layout(side))
        return layout

    def draw_minds(self) -> RenderableType:
        """Who is thinking, who decided what."""
        thinking = self.system.thinking()
        lines: list[Text] = []
        hunters = list(self.engine.world.query(Body, Hunter, LLMAgent))
        for eid, (body, hunter, agent) in hunters[:MOST_SHOWN]:
            who = Text.assemble(
                ("▲ ", "bright_red"),
                (f"{hunter.name} {eid}", "bold"),
                (f"  {hunter.temper}, {body.doing or 'wakes up'}, {body.energy:.0f}%", "dim"),
            )
            state = self._state(eid, agent, thinking.get(eid))
            who.truncate(self.width - len(state) - 1, pad=True)
            lines += [Text.assemble(who, " ", state), self._decision(eid)]
        if len(hunters) > MOST_SHOWN:
            lines.append(Text(f"and {len(hunters) - MOST_SHOWN} more", "dim"))
        title = f"minds · {self.model}"
        if self.plug.pulled:
            title = f"minds · OUTAGE until tick {self.plug.outage.stop}: the model can't be reached"
        return Panel(
            Group(self.draw_totals(), Text("─" * self.width, "dim"), *lines),
            title=Text(title, "bold white on red" if self.plug.pulled else "bold"),
            title_align="left",
            border_style="red" if self.plug.pulled else "magenta",
        )

    def draw_totals(self) -> Text:
        """Asked, answered, failed and how long it takes, in one line."""
        total = self.system.statistics()
        middle = statistics.median(self.pack.latencies_s) if self.pack.latencies_s else 0.0
        return Text.assemble(
            (f"thinking {total.in_flight}", "bright_yellow" if total.in_flight else ""),
            f"  asked {total.asked}  answered {total.answered}  ",
            (f"failed {total.failed}", "bold red" if total.failed else ""),
            f"  p50 {middle:.2f} s",
        )

    def _state(self, eid: int, agent: LLMAgent, since: int | None) -> Text:
        if since is not None:
            spin = SPINNER[self.engine.tick_number // 3 % len(SPINNER)]
            return Text(f"{spin} thinking since {since}", "bright_yellow")
        if agent.cooldown_until > self.engine.tick_number:
            return Text(f"cooldown until {agent.cooldown_until}", "bold red")
        thought = self.pack.thoughts.get(eid)
        if thought is None:
            return Text("not asked yet", "dim")
        if thought.error_type:
            return Text(f"{thought.error_type} ({agent.consecutive_errors} of {agent.max_retries})", "red")
        return Text(f"decided at {thought.answered_tick} in {thought.latency_s:.2f} s", "green")

    def _decision(self, eid: int) -> Text:
        strategy = strategy_of(self.engine.world, eid)
        if not strategy:
            return Text("  no strategy yet: instinct", "dim")
        target = f" → {strategy['priority_target']}" if strategy["priority_target"] else ""
        plan = " ".join(str(strategy["plan"]).split())
        line = Text.assemble(
            "  ", (strategy["goal"], GOAL_LOOKS[strategy["goal"]]), f"{target}  ", (plan, "italic dim")
        )
        line.truncate(self.width, overflow="ellipsis")
        return line

    def summary(self) -> str:
        """What came of it, in a few lines."""
        total, now = self.system.statistics(), self.population()
        errors = ", ".join(f"{kind} {count}" for kind, count in sorted(self.pack.errors.items())) or "none"
        middle = statistics.median(self.pack.latencies_s) if self.pack.latencies_s else 0.0
        best = sorted(
            ((hunter.caught, hunter.name, hunter.temper) for _, (hunter,) in self.engine.world.query(Hunter)),
            key=lambda one: (-one[0], one[1]),
        )[:3]
        hunters = ", ".join(f"{name} ({temper}) {caught}" for caught, name, temper in best)
        return (
            f"thoughts: asked {total.asked}, answered {total.answered}, failed {total.failed}; p50 {middle:.2f} s\n"
            f"errors: {errors}\n"
            f"catches: {self.counts['eaten']}; best alive: {hunters or 'none'}\n"
            f"alive: {now['prey']} prey, {now[PREDATOR]} predators"
        )
