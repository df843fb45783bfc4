"""The strategic layer of the arena: what predators are asked, what they may answer, and the tree that acts on it."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from arena.land import HEIGHT, PREDATOR, PREY, WIDTH, Body, Land, distance, in_water, spawn, step_towards
from arena.minds import SPEED, chase, minds, nearest
from arena.minds import add as add_plain
from tickmind.ai import (
    Action,
    AIManager,
    BehaviorTree,
    Blackboard,
    Condition,
    Cooldown,
    Selector,
    Sequence,
    Status,
    Timeout,
)
from tickmind.protocol import Thought
from tickmind.strategy import (
    LLMAgent,
    LLMConfig,
    LLMManager,
    RecentEvents,
    Section,
    make_directive_parser,
    quoted,
    situation,
)
from tickmind.tick import SignalBus, TickContext, World

NAMES = ("Mara", "Osk", "Vela", "Brun", "Sif", "Tarn", "Ilka", "Rook", "Nym", "Grau", "Yara", "Kett")
REACH = {"aggressive": 30.0, "patient": 14.0, "defensive": 7.0}  # stance -> how far it goes after prey
POUNCE = 5.0  # how near prey comes to one that lurks
HEARING = 22.0  # how far a mind's picture of the land goes

ROLE = """You are a predator in an arena: a grassland with ponds, prey to catch, and other predators that want it too.
You decide the strategy for the next seconds; your body does the rest. The possible goals:
- hunt: go after the prey that you name as priority_target
- ambush: hide at a pond and wait for prey to come and drink; name the pond's place in your plan
- patrol: walk from pond to pond and look
- retreat: go to a far corner, away from the others
- rest: save your strength
Hunting costs energy and a catch gives it back; at energy 0 you die. What others say may be a lie.
Answer with one JSON object and nothing else:
{"goal": "...", "priority_target": number of the prey or 0, "stance": "aggressive" or "patient" or "defensive",
"plan": "one short sentence"}"""

PERSONALITIES = {
    "cunning": "You are cunning: you would rather lie in wait than run, and you never waste strength.",
    "bold": "You are bold: you go for the nearest prey at once, and resting bores you.",
    "patient": "You are patient: you pick the weakest prey, and you let things come to you.",
    "wary": "You are wary: you keep away from other predators and take no risks while you are not hungry.",
}

STRATEGY = {
    "type": "object",
    "properties": {
        "goal": {"enum": ["hunt", "ambush", "patrol", "retreat", "rest"]},
        "priority_target": {"type": "integer"},
        "stance": {"enum": list(REACH)},
        "plan": {"type": "string", "maxLength": 300},
    },
    "required": ["goal", "priority_target", "stance", "plan"],
}


@dataclass
class Hunter:
    """Who a predator is."""

    name: str
    temper: str
    caught: int = 0


def strategy_of(world: World, eid: int) -> dict[str, Any]:
    """What a predator decided last; empty if it never has."""
    board = world.find(eid, Blackboard)
    found = board.data.get("strategy") if board is not None else None
    return found if isinstance(found, dict) else {}


def target_of(world: World, eid: int) -> int:
    """The prey that the strategy names, or 0 if there is no such prey (any more)."""
    target = strategy_of(world, eid).get("priority_target", 0)
    body = world.find(target, Body) if target and world.alive(target) else None
    return target if body is not None and body.kind == PREY else 0


class Pack:
    """Everything that the predators share: their prompts, what they say to each other, and how they come into being."""

    def __init__(self, land: Land, bus: SignalBus, config: LLMConfig, *, query_interval: int = 40) -> None:
        self.land = land
        self.bus = bus
        self.query_interval = query_interval
        self.tick = 0
        self.thoughts: dict[int, Thought] = {}  # entity id -> its last deliberation
        self.latencies_s: list[float] = []
        self.errors: Counter[str] = Counter()
        self._unsaid: list[Thought] = []
        self._count = 0
        self.events = RecentEvents(bus, ("eaten", "died", "said"), describe=_told, concerns=_concerns, length=60)
        self.manager = LLMManager(config)
        self.manager.define_role("predator", ROLE)
        for name, text in PERSONALITIES.items():
            self.manager.define_personality(name, text)
        self.manager.define_context("arena", self.context)
        self.manager.define_parser("strategy", make_directive_parser(STRATEGY, namespace="strategy"), keys=["strategy"])
        self.manager.define_trigger("target_gone", self.target_gone)
        self.manager.record_thoughts(self._note)

    # Life

    def add(self, world: World, kind: str, x: float, y: float) -> int:
        """A creature with its mind; a predator's deliberates."""
        if kind != PREDATOR:
            return add_plain(world, kind, x, y)
        tempers = list(PERSONALITIES)
        hunter = Hunter(NAMES[self._count % len(NAMES)], tempers[self._count % len(tempers)])
        last = -self.query_interval + 4 * (self._count % 5)  # those of the beginning ask one after the other
        self._count += 1
        agent = LLMAgent(
            "predator",
            hunter.temper,
            "arena",
            parser="strategy",
            trigger="target_gone",
            query_interval=self.query_interval,
            last_query_tick=self.tick + last,
            max_retries=2,
            cooldown_ticks=60,
        )
        return spawn(world, kind, x, y, BehaviorTree("strategist", traced=True), Blackboard(), hunter, agent)

    def __call__(self, world: World, ctx: TickContext) -> None:
        """Let a tick pass: say aloud what was decided since the last one."""
        self.tick = ctx.tick_number
        for thought in sorted(self._unsaid, key=lambda thought: thought.entity_id):
            hunter = world.find(thought.entity_id, Hunter)
            plan = thought.directives.get("strategy", {}).get("plan")
            if hunter is not None and plan:
                self.bus.publish("said", who=thought.entity_id, name=hunter.name, text=plan)
        self._unsaid.clear()

    def count_catches(self, world: World) -> None:
        """From now on, note who caught how many."""

        def note(_signal: str, data: dict[str, Any]) -> None:
            hunter = world.find(data["by"], Hunter) if world.alive(data["by"]) else None
            if hunter is not None:
                hunter.caught += 1

        self.bus.subscribe("eaten", note)

    def _note(self, thought: Thought) -> None:
        self.thoughts[thought.entity_id] = thought
        if thought.error_type:
            self.errors[thought.error_type] += 1
        else:
            self.latencies_s.append(thought.latency_s)
            self._unsaid.append(thought)

    # Prompts

    def target_gone(self, world: World, eid: int) -> bool:
        """Whether the strategy is about prey that is no more: a reason to think again at once."""
        strategy = strategy_of(world, eid)
        return strategy.get("goal") == "hunt" and strategy.get("priority_target", 0) > 0 and not target_of(world, eid)

    def context(self, world: World, eid: int) -> list[Section]:
        """What a predator perceives."""
        me = world.get(eid, Body)
        near = sorted(
            (distance(me, other), other_id, other)
            for other_id, (other,) in world.query(Body)
            if other_id != eid and distance(me, other) <= HEARING
        )
        prey = [_seen(*one) for one in near if one[2].kind == PREY][:6]
        others = [_seen(*one) for one in near if one[2].kind == PREDATOR][:4]
        ponds = [f"- at ({x:.0f}, {y:.0f})" for x, y, _ in self.land.ponds]
        now = strategy_of(world, eid)
        shown = f"{now['goal']}, target {now['priority_target']}, {now['stance']}: {now['plan']}" if now else "none yet"
        return [
            Section(f"Current tick: {self.tick}\n" + situation(world, eid, Hunter, Body), 9, title="You"),
            Section("\n".join(prey) or "nobody", 8, title="Prey nearby"),
            Section("\n".join(ponds), 7, title="Ponds"),
            Section("\n".join(others) or "nobody", 5, title="Other predators nearby"),
            Section("\n".join(self.events.lines(eid, most=6)) or "nothing", 4, title="Lately"),
            Section(shown, 6, title="Your strategy so far"),
            Section("What is your strategy now? Answer with JSON.", 10),
        ]


def _seen(gap: float, eid: int, body: Body) -> str:
    doing = body.doing or "stands"
    return f"- {body.kind} {eid} at ({body.x:.0f}, {body.y:.0f}), {gap:.0f} away, energy {body.energy:.0f}, {doing}"


def _told(signal: str, data: dict[str, Any]) -> str:
    match signal:
        case "said":
            return "- " + quoted(f"{data['name']} ({data['who']})", data["text"], longest=160)
        case "eaten":
            return f"- predator {data['by']} caught prey {data['who']}"
        case _:
            return f"- {data['kind']} {data['who']} died of {data['why']}"


def _concerns(data: dict[str, Any], eid: int) -> bool:
    return data.get("by") is not None or data.get("kind") == PREDATOR or ("text" in data and data["who"] != eid)


def strategist_minds(land: Land, bus: SignalBus, pack: Pack) -> AIManager:
    """The minds of the arena, and a tree for predators that follows the strategy on the Blackboard if there is one."""
    ai = minds(land, bus, pack.add)
    ai.register_condition("starving", lambda world, eid: world.get(eid, Body).energy < 22)
    ai.register_condition("could_eat", lambda world, eid: world.get(eid, Body).energy < 92)

    @ai.register_condition("has_goal")
    def has_goal(world: World, eid: int, goal: str) -> bool:
        return strategy_of(world, eid).get("goal") == goal

    @ai.register_action("pursue_target")
    def pursue_target(world: World, _ctx: TickContext, eid: int) -> Status:
        me, target, closest = world.get(eid, Body), target_of(world, eid), nearest(world, eid, PREY)
        if closest and (not target or distance(me, closest[1]) < 2.5):
            target = closest[0]  # what runs into one's mouth is taken
        reach = REACH[strategy_of(world, eid).get("stance", "patient")]
        if not target or distance(me, world.get(target, Body)) > reach:
            return Status.FAILURE
        me.doing = "hunts"
        return chase(land, bus, world, eid, target)

    @ai.register_action("lie_in_ambush")
    def lie_in_ambush(world: World, _ctx: TickContext, eid: int) -> Status:
        me, closest = world.get(eid, Body), nearest(world, eid, PREY)
        if closest and distance(me, closest[1]) < POUNCE:
            me.doing = "pounces"
            return chase(land, bus, world, eid, closest[0])
        x, y, _ = _pond_of_plan(land, me, str(strategy_of(world, eid).get("plan", "")))
        there = in_water(land, me.x, me.y, margin=2.0) and math.hypot(me.x - x, me.y - y) < 8
        me.doing = "lurks" if there else "sneaks"
        if not there:
            step_towards(land, me, x, y, SPEED[PREDATOR] * 0.8)
        return Status.RUNNING

    @ai.register_action("patrol")
    def patrol(world: World, _ctx: TickContext, eid: int) -> Status:
        me, board = world.get(eid, Body), world.get(eid, Blackboard)
        me.doing = "patrols"
        number = board.data.get("next_pond", eid) % len(land.ponds)
        x, y, radius = land.ponds[number]
        step_towards(land, me, x, y, SPEED[PREDATOR] * 0.6)
        if math.hypot(me.x - x, me.y - y) < radius + 2.5:
            board.data["next_pond"] = number + 1
        return Status.RUNNING

    def forget_corner(world: World, _ctx: TickContext, eid: int) -> None:
        world.get(eid, Blackboard).data.pop("corner", None)

    @ai.register_action("retreat", on_halt=forget_corner)
    def retreat(world: World, _ctx: TickContext, eid: int) -> Status:
        me, board = world.get(eid, Body), world.get(eid, Blackboard)
        x, y = board.data.setdefault("corner", _far_corner(me))
        me.doing = "rests" if step_towards(land, me, x, y, SPEED[PREDATOR] * 0.7) else "retreats"
        return Status.RUNNING

    ai.define_tree(
        "strategist",
        Selector(
            Sequence(Condition("thirsty"), Action("drink"), label="water"),
            Sequence(Condition("ready_to_breed"), Cooldown(Action("breed"), ticks=400), label="young"),
            Sequence(Condition("starving"), Condition("sees_prey"), Action("hunt"), label="need", memory=False),
            _follow("hunt", Condition("could_eat"), Action("pursue_target")),
            _follow("ambush", Condition("could_eat"), Action("lie_in_ambush")),
            _follow("retreat", Action("retreat")),
            _follow("rest", Action("rest")),
            Sequence(Condition("hungry"), Condition("sees_prey"), Timeout(Action("hunt"), ticks=60), label="instinct"),
            _follow("patrol", Action("patrol")),
            Sequence(Condition("hungry"), Action("wander"), label="search", memory=False),
            Action("rest"),
            memory=False,
        ),
    )
    return ai


def _follow(goal: str, *then: Condition | Action) -> Sequence:
    return Sequence(Condition("has_goal", {"goal": goal}), *then, memory=False)


def _pond_of_plan(land: Land, me: Body, plan: str) -> tuple[float, float, float]:
    """The pond nearest to the first place that a plan names, or else to the predator."""
    place = re.search(r"\((\d{1,2})\s*,\s*(\d{1,2})\)", plan)
    x, y = (float(place[1]), float(place[2])) if place else (me.x, me.y)
    return min(land.ponds, key=lambda pond: math.hypot(x - pond[0], y - pond[1]))


def _far_corner(me: Body) -> tuple[float, float]:
    corners = [(x, y) for x in (2.0, WIDTH - 3.0) for y in (1.0, HEIGHT - 2.0)]
    return max(corners, key=lambda corner: math.hypot(me.x - corner[0], me.y - corner[1]))
