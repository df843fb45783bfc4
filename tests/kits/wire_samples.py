"""Random values of `protocol` types, all of them legal; the same seed gives the same ones."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tickmind.base import Secret
from tickmind.protocol import (
    Accept,
    Ack,
    Acted,
    ActionInfo,
    ActionResult,
    ActionType,
    ActorStatus,
    AgentState,
    AgentStatus,
    BoardEntry,
    Build,
    Buy,
    CalendarInfo,
    ContainerInfo,
    Decline,
    Direction,
    Drop,
    Effect,
    Entered,
    EntityInfo,
    Event,
    FestivalInfo,
    FloorInfo,
    Give,
    GoalInfo,
    GroundInfo,
    Heard,
    Insight,
    Intent,
    Interact,
    ItemInfo,
    ItemStack,
    KindInfo,
    Lease,
    Left,
    LifecycleEvent,
    LifecycleKind,
    MemoryNote,
    Move,
    Moved,
    ObjectInfo,
    Observation,
    Offer,
    OpenOffer,
    Persona,
    Pickup,
    Put,
    Reason,
    RunInfo,
    Say,
    SeasonInfo,
    SelfState,
    Sell,
    Sleep,
    Take,
    Thought,
    ThoughtReport,
    TickEvent,
    TreeLine,
    Use,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
    Wait,
    Wake,
    WorldInfo,
    WorldSetting,
    ZoneInfo,
)
from tickmind.protocol.reports import TurnCode, encode_turns
from tickmind.wire.messages.frames import (
    Closed,
    ControlAck,
    ControlDown,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    ControlUp,
    KeepAlive,
    Release,
)
from tickmind.wire.messages.placements import PlacementOutcome, PlacementRequest
from tickmind.wire.messages.requests import (
    AcquireRequest,
    EntitiesRequest,
    InsightsRequest,
    ObservationsRequest,
    StatusRequest,
    SubmitRequest,
    ThoughtRequest,
)
from tickmind.wire.messages.viewing import Region, ViewerEventType, ViewFilter

T = TypeVar("T")
LETTERS = "abcxyz:_-019 éß名🙂"
AGENT_SETTINGS = ("", "bold", True, False, 0, 7, -(2**53), 0.25, (), ("bread", "名"))
FAILURES = [reason for reason in Reason if reason]


class Samples:
    """Makes one value after another from a source of chance."""

    def __init__(self, seed: int | random.Random = 0) -> None:
        self.rng = seed if isinstance(seed, random.Random) else random.Random(seed)

    def name(self) -> str:
        """A name; some are as long as they can be."""
        length = self.rng.choice((1, 3, 8, 8, 8, 100))
        return "".join(self.rng.choices(LETTERS, k=length))

    def text(self, longest: int = 500) -> str:
        """A text, with line ends in some."""
        return "".join(self.rng.choices(LETTERS + "\n\t", k=self.rng.choice((0, 5, 40, longest))))

    def speech(self) -> str:
        """A text that may be said."""
        return f"o{self.text(499)}"

    def secret(self) -> Secret:
        """A lease's secret."""
        return Secret("".join(self.rng.choices("abcXYZ019_-", k=32)))

    def several(self, make: Callable[[], T], most: int = 4) -> tuple[T, ...]:
        """None to `most` of something."""
        return tuple(make() for _ in range(self.rng.randint(0, most)))

    def number(self, high: int, low: int = 0) -> int:
        """A number; the ends of the range come often."""
        return self.rng.choice((low, high, self.rng.randint(low, high)))

    def side(self) -> int:
        """A place on one axis of the largest map."""
        return self.number(4095)

    def maybe(self, make: Callable[[], str]) -> str:
        """Something, or an empty text."""
        return make() if self.rng.random() < 0.5 else ""

    def direction(self) -> Direction:
        """A direction."""
        return self.rng.choice(tuple(Direction))

    def status(self) -> ActorStatus:
        """A status."""
        return ActorStatus(self.rng.randrange(8))

    def intent(self) -> Intent:
        """An intent of any kind."""
        amount = self.number(2_000_000_000, 1)
        return self.rng.choice(
            (
                Wait(),
                Move(self.direction()),
                Pickup(self.name(), amount, self.maybe(self.name)),
                Use(self.name(), amount, self.maybe(self.name)),
                Use("", amount, self.name()),
                Say(self.speech()),
                Interact(self.name(), self.maybe(self.name)),
                Drop(self.name(), amount, self.maybe(self.name)),
                Give(self.name(), self.name(), amount, self.maybe(self.name)),
                Put(self.name(), self.name(), amount),
                Take(self.name(), self.name(), amount),
                Buy(self.name(), self.name(), amount),
                Sell(self.name(), self.name(), amount),
                Offer(self.name(), self.name(), amount),
                Offer(self.name(), self.name(), amount, self.name(), self.number(2_000_000_000, 1)),
                Accept(self.name()),
                Decline(self.name()),
                Build(self.name(), self.direction()),
                Sleep(),
                Wake(),
            )
        )

    def ack(self) -> Ack:
        """An acknowledgement."""
        return Ack(True) if self.rng.random() < 0.5 else Ack(False, self.rng.choice(FAILURES))

    def effect(self) -> Effect:
        """An effect."""
        return Effect(self.name(), self.number(2**63 - 1, -(2**63)))

    def result(self) -> ActionResult:
        """What became of an intent."""
        reason = self.rng.choice(tuple(Reason))
        action = self.rng.choice(tuple(ActionType))
        target = self.maybe(self.name)
        return ActionResult(self.name(), action, not reason, reason, target, self.several(self.effect))

    def event(self) -> Event:
        """An event."""
        x, y = self.side(), self.side()
        return self.rng.choice(
            (
                Entered(self.name(), x, y),
                Left(self.name(), x, y),
                Moved(self.name(), x, y, self.direction()),
                Acted(self.result()),
                Heard(self.name(), self.name(), self.text(), x, y),
            )
        )

    def stack(self) -> ItemStack:
        """Some items."""
        return ItemStack(self.name(), self.number(2_000_000_000), self.maybe(self.name))

    def tiles(self) -> VisibleTiles:
        """A window of tiles."""
        radius = self.rng.choice((0, 1, 3, 12, 31))
        tiles = (2 * radius + 1) ** 2
        visible = self.rng.getrandbits(tiles)
        walkable = visible & self.rng.getrandbits(tiles)
        size = (tiles + 7) // 8
        masks = visible.to_bytes(size, "little"), walkable.to_bytes(size, "little")
        return VisibleTiles(radius, self.side(), self.side(), *masks, self.rng.choice((b"", self.rng.randbytes(tiles))))

    def visible_entity(self) -> VisibleEntity:
        """An actor in sight."""
        tags = self.several(self.name)
        place = self.side(), self.side()
        return VisibleEntity(self.name(), *place, self.maybe(self.name), tags, self.status(), self.direction())

    def visible_object(self) -> VisibleObject:
        """An object in sight."""
        items, verbs = self.several(self.stack), self.several(self.name)
        place, work = (self.side(), self.side()), self.number(2**31 - 1)
        state, owner = self.maybe(self.name), self.maybe(self.name)
        return VisibleObject(self.name(), self.name(), *place, state, work, items, verbs, owner, self.size())

    def observation(self) -> Observation:
        """An observation."""
        me = SelfState(
            self.name(),
            self.side(),
            self.side(),
            self.status(),
            self.direction(),
            self.several(self.stack),
            self.number(1000),
            self.number(1000),
            self.several(lambda: (self.name(), self.number(1000)), 8),
        )
        return Observation(
            self.number(2**63 - 1),
            self.number(86_400_000),
            me,
            self.tiles(),
            self.several(self.visible_entity),
            self.several(self.visible_object),
            self.several(self.event),
            self.rng.choice((None, self.result())),
            self.number(2**63 - 1),
            self.number(2**63 - 1),
            self.several(self.open_offer),
        )

    def open_offer(self) -> OpenOffer:
        """An offer that stands."""
        amounts = self.number(2_000_000_000, 1), self.number(2_000_000_000)
        return OpenOffer(self.name(), self.name(), amounts[0], self.maybe(self.name), amounts[1])

    def entity(self) -> EntityInfo:
        """An actor."""
        persona = self.persona() if self._coin() else None
        return EntityInfo(self.name(), self.maybe(self.name), self.several(self.name), self.number(2**63 - 1), persona)

    def lifecycle(self) -> LifecycleEvent:
        """Something that happened to an actor."""
        kind = self.rng.choice(tuple(LifecycleKind))
        return LifecycleEvent(self.number(2**63 - 1), kind, self.entity())

    def world(self) -> WorldInfo:
        """All that never changes of a small world."""
        width, height = self.rng.randint(1, 20), self.rng.randint(1, 20)
        floors = tuple(self._floor() for _ in range(self.rng.randint(1, 4)))
        actors = {actor.entity_id: actor for actor in self.several(self.entity, 12)}
        items = self.several(self.item)
        return WorldInfo(
            name=self.maybe(self.name),
            world_version=self.maybe(self.name),
            width=width,
            height=height,
            sight_radius=self.number(31),
            hearing_radius=self.number(255),
            tick_duration_ms=self.number(86_400_000),
            intent_deadline_ms=self.number(86_400_000),
            floors=floors,
            floor_codes=bytes(self.rng.randrange(len(floors)) for _ in range(width * height)),
            item_kinds=tuple(item.name for item in items),
            verbs=("", *self.several(self.name)),
            kinds=self.several(self._kind),
            objects=self.several(lambda: self._object(width, height), 8),
            actors=tuple(actors.values()),
            ground=self.several(lambda: self._heap(width, height), 4),
            setting=self.setting(),
            own_needs=tuple(dict.fromkeys(self.several(self.name, 8))),
            items=items if self._coin() else (),
            goals=self.several(self._goal),
        )

    def item(self) -> ItemInfo:
        """A kind of item."""
        return ItemInfo(self.name(), self._changes(), self.number(2**31 - 1), self.several(self._amount))

    def _changes(self) -> tuple[tuple[str, int], ...]:
        return self.several(lambda: (self.name(), self.number(1000, -1000)), 10)

    def _heap(self, width: int, height: int) -> GroundInfo:
        x, y = self.rng.randrange(width), self.rng.randrange(height)
        return GroundInfo(x, y, self.name(), self.number(2_000_000_000, 1))

    def _goal(self) -> GoalInfo:
        return GoalInfo(
            self.name(),
            self.number(2**40, -(2**40)),
            self._coin(),
            self.several(self.name),
            self.several(self.name),
            self.several(self.name),
            self.maybe(self.name),
            self.maybe(self.name),
            tuple((self.name(), self.number(100, 1)) for _ in range(self.number(2))),
            self.maybe(self.name),
            self.maybe(self.name),
            self.number(2**63 - 1),
        )

    def _floor(self) -> FloorInfo:
        changes = self.number(1000, -1000), self.number(1000, -1000)
        return FloorInfo(
            self.name(),
            self._coin(),
            self._coin(),
            self.several(self.name),
            *changes,
            self.number(100, 1),
            self._changes(),
        )

    def _coin(self) -> bool:
        return self.rng.random() < 0.5

    def size(self) -> tuple[int, int]:
        """The size of an object."""
        return self.rng.choice(((1, 1), (1, 1), (self.number(16, 1), self.number(16, 1))))

    def _kind(self) -> KindInfo:
        states = self.several(self.name)
        flags = tuple(self._coin() for _ in states), tuple(self._coin() for _ in states)
        actions = tuple(self.several(self._action) for _ in states)
        tags, stock_item = self.several(self.name), self.maybe(self.name)
        container = self._container() if self._coin() else None
        each_tick = tuple(self._changes() for _ in states) if self._coin() else ()
        each_tick = each_tick if any(each_tick) else ()
        build, most = (self._action(), self.number(1_000_000, 1)) if self._coin() else (None, 0)
        kind = KindInfo(self.name(), states, *flags, actions, tags, stock_item, container)
        doubling = self.number(1_000_000) if self._coin() else 0
        built = replace(kind, each_tick=each_tick, build=build, most_built=most, size=self.size())
        return replace(built, doubling_ticks=doubling)

    def _container(self) -> ContainerInfo:
        sells, buys = self.several(self._price), self.several(self._price)
        return ContainerInfo(self.number(2_000_000_000, 1), sells, buys, self._hours())

    def _price(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        return self.name(), self.several(self._amount)

    def _hours(self) -> tuple[int, int] | None:
        return (self.number(1439), self.number(1439)) if self._coin() else None

    def _action(self) -> ActionInfo:
        needs, consumes, yields, wears = (self.several(self._amount) for _ in range(4))
        hours = self._hours()
        work = self.number(2**31 - 1, 1)
        times = self.several(self.name), self.several(self.name)
        recipe = work, needs, consumes, yields, hours, *times, wears
        return ActionInfo(self.name(), self.maybe(self.name), *recipe, self._coin())

    def _amount(self) -> tuple[str, int]:
        return self.name(), self.number(2_000_000_000, 1)

    def _object(self, width: int, height: int) -> ObjectInfo:
        x, y = self.rng.choice(((self.rng.randrange(width), self.rng.randrange(height)), (-1, -1)))
        state, owner = self.maybe(self.name), self.maybe(self.name)
        return ObjectInfo(self.name(), self.name(), x, y, state, self.number(2**31 - 1), owner)

    def lease(self) -> Lease:
        """A lease."""
        return Lease(self.secret(), self.name(), self.name(), self.number(2**63 - 1), self.number(86_400_000, 1))

    def refusal(self) -> Closed:
        """Why there is no lease."""
        return Closed(self.rng.choice(FAILURES), self.number(86_400_000))

    def tick(self) -> TickEvent:
        """The beginning of a tick."""
        times = self.number(2**63 - 1), self.number(2**63 - 1)
        return TickEvent(self.number(2**63 - 1), *times, self.number(86_400_000), self.maybe(self.name))

    def thought_report(self) -> ThoughtReport:
        """A thought and whose it was."""
        thought = Thought(
            entity_id=self.number(2**63 - 1),
            asked_tick=self.number(2**63 - 1),
            answered_tick=self.number(2**63 - 1),
            system_prompt=self.text(),
            user_message=self.text(),
            reply=self.text(),
            thinking=self.text(),
            directives=self.rng.choice(({}, {self.name(): [1, 2.5, None, True, {"deep": self.text()}]})),
            client=self.maybe(self.name),
            model=self.text(),
            prompt_tokens=self.rng.choice((None, self.number(2**63 - 1))),
            completion_tokens=self.rng.choice((None, 0, 7)),
            latency_s=self.rng.random() * 100,
            cost_usd=self.rng.choice((None, 0.0, self.rng.random())),
            provider=self.rng.choice(("", "groq")),
            attempts=self.rng.randrange(4),
            queued_s=self.rng.choice((None, 0.0, self.rng.random())),
            error_type=self.maybe(self.name),
            error=self.text(),
        )
        return ThoughtReport(self.name(), self.number(2**63 - 1), thought)

    def agent_status(self) -> AgentStatus:
        """How an agent is doing."""
        names = ("observations", "intents", "refused", "thoughts", "failed_thoughts", "dropped_reports")
        numbers = {name: self.number(2**63 - 1) for name in names}
        state = self.rng.choice(tuple(AgentState))
        turns = encode_turns(self.rng.choices(tuple(TurnCode), k=self.rng.randrange(6)))
        return AgentStatus(
            self.name(), self.number(2**63 - 1), state, self.text(), turns=turns, program=self.text(), **numbers
        )

    def insight(self) -> Insight:
        """What an agent shows of a mind."""
        whole = self._coin()
        values = ("null", "1.5", '"word"', '{"deep":[1,true]}')
        board = {self.text()[:200]: self.rng.choice(values) for _ in range(self.rng.randrange(4))}
        return Insight(
            entity_id=self.name(),
            tick_id=self.number(2**63 - 1),
            whole=whole,
            tree=self.several(lambda: TreeLine(self.number(9), self.text()[:200])) if whole else (),
            node_statuses=self.rng.choice((None, b"", bytes((0, 1, 2, 3)))),
            board=tuple(BoardEntry(key, value) for key, value in board.items()),
            gone_keys=self.several(lambda: self.text()[:200]),
            memories=self.several(lambda: MemoryNote(self.number(2**63 - 1), self.text(), "", self.rng.random())),
        )

    def up(self) -> ControlUp:
        """A frame from an agent."""
        previous = self.rng.choice((None, self.secret()))
        return self.rng.choice(
            (
                ControlOpen(self.name(), self.name(), previous, self._coin(), self._coin()),
                ControlIntent(self.number(2**63 - 1), self.intent()),
                KeepAlive(),
                Release(),
            )
        )

    def down(self) -> ControlDown:
        """A frame from the world."""
        return self.rng.choice(
            (
                self.opened(),
                self.observation(),
                ControlAck(self.number(2**63 - 1), self.ack()),
                Closed(self.rng.choice(tuple(Reason)), self.number(86_400_000)),
            )
        )

    def run(self) -> RunInfo:
        """A run."""
        return RunInfo(self.rng.choice(("", self.name())), self.number(2**63 - 1), self.number(1000))

    def opened(self) -> ControlOpened:
        """The first frame from the world, with all that a single controller gets."""
        lease = self.lease()
        personas = {lease.entity_id: self.persona()} if self._coin() else {}
        goals = {lease.entity_id: made} if (made := self.several(self._goal)) else {}
        run = replace(self.run(), setting=self.setting(), personas=personas, floors=self.several(self._floor))
        return ControlOpened(lease, replace(run, items=self.several(self.item), goals=goals))

    def setting(self) -> WorldSetting:
        """The places and the calendar of a world."""
        calendar = CalendarInfo(
            self.number(2**31 - 1, 1),
            self.number(1439),
            self.several(self._season),
            self.several(self._weather),
            self.number(2**32 - 1),
            self.several(self._festival),
            self._hours(),
        )
        return WorldSetting(self.several(self._zone), calendar)

    def _season(self) -> SeasonInfo:
        return SeasonInfo(self.name(), self.number(2**31 - 1, 1), self.several(self._weather))

    def _weather(self) -> tuple[str, int]:
        return self.name(), self.number(2**31 - 1, 1)

    def _festival(self) -> FestivalInfo:
        day, every = self.number(2**31 - 1, 1), self.number(2**31 - 1)
        return FestivalInfo(self.name(), day, every, self._hours(), self.maybe(self.name), self.maybe(self.name))

    def _zone(self) -> ZoneInfo:
        regions = (self._region(), *self.several(self._region))
        areas = tuple((region.min_x, region.min_y, region.max_x, region.max_y) for region in regions)
        return ZoneInfo(self.name(), areas, self.maybe(self.name), self.maybe(self.name))

    def persona(self) -> Persona:
        """Who an actor is."""
        words: dict[str, Any] = {
            name: self.several(self.name) for name in ("traits", "goals", "fears", "knows", "habits")
        }
        for name in ("name", "backstory", "voice", "home", "work", "colour", "team", "secret"):
            words[name] = self.maybe(self.name)
        relations = self.several(lambda: (self.name(), self.name()))
        words["sprite"] = self.rng.choice(("", "A", "🐕"))
        agent = self.several(lambda: (self.name(), self.rng.choice(AGENT_SETTINGS)))
        return Persona(age=self.number(1000), relations=relations, agent=agent, **words)

    def view(self) -> ViewFilter:
        """What to show."""
        return ViewFilter(
            self.several(self.name),
            self.several(self._region),
            self.several(lambda: self.rng.choice(tuple(ViewerEventType))),
        )

    def _region(self) -> Region:
        x, y = sorted((self.side(), self.side())), sorted((self.side(), self.side()))
        return Region(x[0], y[0], x[1], y[1])

    def submit(self) -> SubmitRequest:
        """An intent with the right to have it."""
        return SubmitRequest(self.secret(), self.name(), self.number(2**63 - 1), self.intent())

    def acquire(self) -> AcquireRequest:
        """Who wants to control what."""
        return AcquireRequest(self.name(), self.name(), self.rng.choice((None, self.secret())))

    def placement_request(self, *, leaves: bool) -> PlacementRequest:
        """An operator's order."""
        at = None if leaves or self._coin() else (self.side(), self.side())
        return PlacementRequest(self.name(), at, leaves=leaves)

    def placement_outcome(self) -> PlacementOutcome:
        """What became of an operator's order."""
        at = self.rng.choice((None, (self.side(), self.side())))
        return PlacementOutcome(self.rng.choice(list(Reason)), self.number(2**63 - 1), at)

    def observations_request(self) -> ObservationsRequest:
        """Whose observations are asked for."""
        return ObservationsRequest(self.secret(), self.name(), self._coin())

    def entities_request(self) -> EntitiesRequest:
        """Which actors to list."""
        return EntitiesRequest(self._coin(), self.number(10_000), self.maybe(self.name))

    def thought_request(self) -> ThoughtRequest:
        """A thought with the right to report it."""
        return ThoughtRequest(self.secret(), self.thought_report())

    def status_request(self) -> StatusRequest:
        """A status with the right to report it."""
        return StatusRequest(self.secret(), self.agent_status())

    def insights_request(self) -> InsightsRequest:
        """Insights with the right to report them."""
        return InsightsRequest(self.secret(), (self.insight(), *self.several(self.insight, 2)))
