"""Who answers the predators: a mock that makes sense, a model, and a plug that can be pulled on either."""

import asyncio
import json
import random
import re
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from tickmind.base import Clock
from tickmind.strategy import AsyncLLMClient, LLMClient, MockClient, Question
from tickmind.strategy.clients.client import Deliberation
from tickmind.tick import TickContext, World

LATENCY_S = (0.2, 1.5)
HANG_S = 8.0  # how long a call hangs that nobody will answer

_SEEN = re.compile(r"- (prey|predator) (\d+) at \((\d+), (\d+)\), (\d+) away, energy (\d+)")
_POND = re.compile(r"^- at \((\d+), (\d+)\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Seen:
    """A creature, as a prompt tells of it."""

    number: int
    x: int
    y: int
    away: int
    energy: int


class Oracle:
    """Reads a predator's prompt and answers as a sensible model would, after a while: chance, but by the seed."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self._seed = seed
        self._clock = clock

    def __call__(self, system_prompt: str, user_message: str) -> str:
        """The reply; once in a while one that nobody can use."""
        chance = random.Random(f"{self._seed}\n{system_prompt}\n{user_message}")
        self._clock.sleep(chance.uniform(*LATENCY_S))
        if chance.random() < 0.03:
            return "I would rather not say."
        strategy = json.dumps(self._decide(system_prompt, user_message, chance))
        return strategy if chance.random() < 0.7 else f"Let me think.\n```json\n{strategy}\n```"

    def _decide(self, system_prompt: str, message: str, chance: random.Random) -> dict[str, Any]:
        temper = next((word for word in ("cunning", "bold", "patient", "wary") if f"are {word}" in system_prompt), "")
        found = re.search(r"energy ([\d.]+)", message)
        energy = float(found[1]) if found else 50.0
        prey = [Seen(*map(int, one[1:])) for one in _SEEN.findall(message) if one[0] == "prey"]
        rivals = [Seen(*map(int, one[1:])) for one in _SEEN.findall(message) if one[0] == "predator"]
        ponds = [(int(x), int(y)) for x, y in _POND.findall(message)]
        if energy > {"bold": 101, "patient": 84}.get(temper, 94):
            return _strategy("rest", 0, "defensive", "I have eaten well; I lie down and save my strength.")
        if energy > 80 and temper == "bold":
            return _strategy("patrol", 0, "aggressive", "I am not hungry, but I want to know who is at the ponds.")
        if temper == "wary" and rivals and energy > 45:
            near = rivals[0]
            return _strategy("retreat", 0, "defensive", f"Predator {near.number} is only {near.away} away; I give way.")
        if not prey:
            return _strategy("patrol", 0, "patient", "Nothing near; I look at the ponds one by one.")
        weakest = min(prey, key=lambda one: (one.energy, one.number))
        if temper in ("cunning", "patient") and energy > 35 and prey[0].away > 2 and ponds and chance.random() < 0.8:
            x, y = min(ponds, key=lambda pond: abs(pond[0] - prey[0].x) + abs(pond[1] - prey[0].y))
            plan = f"Prey {prey[0].number} will want to drink: I hide at the pond at ({x}, {y}) and wait."
            return _strategy("ambush", prey[0].number, "patient", plan)
        if temper in ("patient", "wary") and weakest.away <= 12:
            plan = f"Prey {weakest.number} is weak, energy {weakest.energy}; I wear it out."
            return _strategy("hunt", weakest.number, "patient", plan)
        plan = f"Prey {prey[0].number} is {prey[0].away} away at ({prey[0].x}, {prey[0].y}); I take it now."
        return _strategy("hunt", prey[0].number, "aggressive", plan)


def _strategy(goal: str, target: int, stance: str, plan: str) -> dict[str, Any]:
    return {"goal": goal, "priority_target": target, "stance": stance, "plan": plan}


def mock_model(seed: int, clock: Clock) -> MockClient:
    """The model that everybody has."""
    return MockClient(Oracle(seed, clock), seed=seed)


# The plug


class Plug:
    """Says whether the model can be reached; as a system it is pulled in some ticks."""

    def __init__(self, outage: range) -> None:
        self.outage = outage
        self.pulled = False

    def __call__(self, _world: World, ctx: TickContext) -> None:
        """Let a tick pass."""
        self.pulled = ctx.tick_number in self.outage


class PluggedClient:
    """A blocking client behind a plug: while it is pulled, calls are refused, or hang and are refused much later."""

    def __init__(self, client: LLMClient, plug: Plug, clock: Clock) -> None:
        self._client, self._plug, self._clock = client, plug, clock

    def query(self, system_prompt: str, user_message: str) -> str:
        """Ask, if that is possible."""
        if self._plug.pulled:
            if _hangs(user_message):
                self._clock.sleep(HANG_S)
            raise ConnectionError("the model can't be reached")
        return self._client.query(system_prompt, user_message)


class PluggedAsyncClient:
    """The same for a client that is async."""

    def __init__(self, client: AsyncLLMClient, plug: Plug) -> None:
        self._client, self._plug = client, plug

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Ask, if that is possible."""
        return self._fail(question) if self._plug.pulled else self._client.answer(question)

    async def _fail(self, question: Question) -> Deliberation:
        if _hangs(question.user_message):
            await asyncio.sleep(HANG_S)
        raise ConnectionError("the model can't be reached")


def _hangs(user_message: str) -> bool:
    return random.Random(user_message).random() < 0.4
