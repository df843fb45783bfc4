"""`Body`: the senses, memory, voice and legs of a character, and one intent a tick."""

from collections.abc import Mapping
from typing import Any

from tickmind.agent.knowledge import Speech, Surroundings, Thing, Tile, direction_to, distance, find_path
from tickmind.agent.minds import Start
from tickmind.ai import Blackboard, Status
from tickmind.base import Limit
from tickmind.mind.embeddings import AskedEmbeddings, find_embeddings
from tickmind.mind.memory import EntryKind, Memory
from tickmind.protocol import Intent, Interact, Move, Observation, SelfState, Wait, WorldTime, ZoneInfo

NO_WAY_TICKS = 10  # before it looks again for a way where there was none
PASSAGE_TICKS = 6  # that it waits for others that stand in the only way
MAX_NO_WAYS = Limit("number of goals that a character knows to be out of reach", 200)
_WAIT = Wait()


class Body:
    """A character without a mind: it processes observations and turns actions into intents.

    Everything that it knows comes from its own observations: `surroundings` (tiles, people, things), `speech` (what
    was said) and `memory` (what it noted); and from what its world says of itself: `persona`,
    `setting`, `kinds`, `items` and `goals`. With the setting `embeddings: words` it also remembers by meaning;
    with `embeddings: endpoint`, by that of a model, if its kind has the faculty `EMBED`.
    """

    def __init__(self, start: Start) -> None:
        self.entity_id = start.entity_id
        self.settings = start.settings
        self.random = start.random
        self.persona = start.persona
        self.setting = start.setting
        self.kinds = start.kinds
        self.items = start.items
        self.goals = start.goals
        self.tokens_per_day = start.settings.whole("tokens_per_day", -1)  # -1: as its kind says
        self.name = start.settings.text("name") or start.persona.name or start.entity_id
        self.blackboard = Blackboard()
        self.surroundings = Surroundings(
            start.floors, passing=(kind.name for kind in start.kinds if kind.comes_and_goes)
        )
        embed = find_embeddings(start.settings.text("embeddings"))
        self.meanings = embed if isinstance(embed, AskedEmbeddings) else None
        self.memory = Memory(
            day_ticks=start.setting.calendar.day_ticks,
            interests=(*start.persona.goals, *start.persona.fears),
            embed=embed,
        )
        self._losses_shown = 0  # `losses` of its memory when what it still has was put onto the Blackboard
        self.speech = Speech(start.entity_id, (self.name,))
        self._observation: Observation | None = None
        self._me: SelfState | None = None  # from that observation
        self._time: WorldTime | None = None  # of this tick, once it is asked for
        self._intent: Intent | None = None
        self._way: list[Tile] = []  # the steps to come, the next one last
        self._way_key: tuple[Tile, bool] | None = None
        self._refused_builds: dict[object, int] = {}  # a kind, or with tile and direction -> when it tries again
        self._passage: tuple[tuple[Tile, bool], int, int] = (
            ((0, 0), False),
            -1,
            -1,
        )  # in which way it waits for others, since when, and when it did so last
        self._no_way: dict[tuple[Tile, bool], int] = {}  # (goal, beside) -> the tick in which to look again

    # Senses

    @property
    def observation(self) -> Observation:
        """The observation of this tick."""
        if self._observation is None:
            raise RuntimeError("the character has no observation before its first tick; read it in or after a tick")
        return self._observation

    @property
    def me(self) -> SelfState:
        """Its own state."""
        return self._me or self.observation.me

    @property
    def tick(self) -> int:
        """The world's tick."""
        return (self._observation or self.observation).tick_id

    @property
    def at(self) -> Tile:
        """The tile where it is."""
        me = self._me or self.observation.me
        return me.x, me.y

    @property
    def time(self) -> WorldTime:
        """The time in the world."""
        if self._time is None:
            self._time = self.setting.calendar.at(self.tick)
        return self._time

    @property
    def zone(self) -> ZoneInfo | None:
        """The zone that it is in; None outside of all."""
        return self.setting.zone_at(*self.at)

    def carries(self, item: str) -> int:
        """Return how many items of a kind it has."""
        return sum(stack.quantity for stack in self.me.inventory if stack.kind == item)

    def take_in(self, observation: Observation) -> None:
        """Process an observation: see, hear and remember; called once at the start of each tick."""
        self._observation, self._me = observation, observation.me
        self._intent = self._time = None
        self.surroundings.take_in(observation)
        self.speech.listen(observation)
        self.remember()
        if self.memory.losses != self._losses_shown:
            self._losses_shown = self.memory.losses
            self.blackboard.set("remembers", self.memory.held().packed())

    def remember(self) -> None:
        """Note whom it met, and what was said to it. Override to note more."""
        tick, place = self.tick, self.zone.name if self.speech.heard_now and self.zone else ""
        for line in self.speech.heard_now:
            if line.to_me:
                who = line.speaker_id
                if not self.speech.talked_before(line):
                    self.memory.note(tick, f"I met {who}.", importance=0.5, about=who, place=place)
                said = f"{who} said to me: {line.text}"
                self.memory.note(tick, said, kind=EntryKind.HEARD, about=who, place=place, told_by=who)

    def kept(self) -> dict[str, Any]:
        """Return what its mind has besides its memory and must outlive a crash, as JSON can hold it."""
        return {}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what `kept` returned before a crash; errors of a malformed mapping are reported."""

    # One intent a tick

    def do(self, intent: Intent) -> Status:
        """Choose this tick's intent. There is one a tick: a second one has to wait, and this returns `RUNNING`."""
        if self._intent is not None:
            return Status.RUNNING
        self._intent = intent
        return Status.SUCCESS

    @property
    def intent(self) -> Intent:
        """The chosen intent; `Wait` if none was chosen."""
        return self._intent or _WAIT

    @property
    def decided(self) -> bool:
        """Whether this tick's intent is chosen."""
        return self._intent is not None

    # Legs

    def walk(self, goal: Tile, *, beside: bool = False) -> Status:
        """Go one step towards a tile: `RUNNING` on the way, `SUCCESS` there, `FAILURE` if no way is known.

        Opens closed doors on the way; walks around others that stand in it.
        """
        if self.at == goal or (beside and distance(self.at, goal) <= 1):
            return Status.SUCCESS
        step = self._next_step(goal, beside=beside)
        if step is None:
            return self._let_pass(goal, beside=beside)
        door = self.surroundings.obstacle_at(*step)
        self.do(Interact(door.seen.object_id, "open") if door else Move(direction_to(self.at, step)))
        return Status.RUNNING

    def walk_to(self, thing: Thing, *, beside: bool = False) -> Status:
        """Go one step towards a thing, by the nearest of its tiles to which a way is known."""
        for tile in thing.tiles_from(self.at):
            status = self.walk(tile, beside=beside)
            if status is not Status.FAILURE:
                return status
        return Status.FAILURE

    def _next_step(self, goal: Tile, *, beside: bool) -> Tile | None:
        key = (goal, beside)
        if self._way_key == key and self._way:
            if self._way[-1] == self.at:
                self._way.pop()
            if self._way and self._can_step(self._way[-1]):
                return self._way[-1]
        if self._no_way.get(key, 0) > self.tick:
            return None
        way = self._find_way(goal, beside=beside)
        if not way and (not_yet := self._find_way_through(goal, beside=beside)):
            if not_yet[0] not in self.surroundings.occupied:
                way = not_yet  # who stands in it may have gone on by then
            elif self._is_patient(key):
                return None
        if not way:
            if not MAX_NO_WAYS.allows(len(self._no_way) + 1):
                self._no_way.clear()
            self._no_way[key] = self.tick + NO_WAY_TICKS
            return None
        self._way, self._way_key = way[::-1], key
        return self._way[-1]

    def _find_way_through(self, goal: Tile, *, beside: bool) -> list[Tile] | None:
        """Return a way on which others stand; none if one stands on the goal itself."""
        around = self.surroundings
        if not beside and goal in around.occupied:
            return None
        return find_path(around.tiles, self.at, goal, beside=beside, doors=around.doors, costs=around.floor_costs)

    def _is_patient(self, key: tuple[Tile, bool]) -> bool:
        """Return whether it waits for others in its way, and has not done so for too long."""
        known, since, last = self._passage
        since = since if known == key and last >= self.tick - 1 else self.tick
        self._passage = key, since, self.tick
        return self.tick - since < PASSAGE_TICKS

    def _let_pass(self, goal: Tile, *, beside: bool) -> Status:
        """Wait if others stand in the only way, and it is patient; else fail."""
        key = goal, beside
        if self._passage[0] != key or self._passage[2] != self.tick or self._no_way.get(key, 0) > self.tick:
            return Status.FAILURE
        self.do(_WAIT)
        return Status.RUNNING

    def _can_step(self, step: Tile) -> bool:
        """Return whether the next step of a way that was found earlier is still possible."""
        (x, y), (to_x, to_y) = self.at, step
        if distance(self.at, step) != 1 or step in self.surroundings.occupied:
            return False
        tiles = self.surroundings.tiles
        if x != to_x and y != to_y and not (tiles.can_walk(to_x, y) and tiles.can_walk(x, to_y)):
            return False
        return tiles.can_walk(to_x, to_y) or self._is_door(to_x, to_y)

    def _find_way(self, goal: Tile, *, beside: bool) -> list[Tile] | None:
        occupied = self.surroundings.occupied - {goal} if beside else self.surroundings.occupied
        around = self.surroundings
        return find_path(
            around.tiles,
            self.at,
            goal,
            avoid=occupied,
            beside=beside,
            doors=around.doors,
            costs=around.floor_costs,
        )

    def _is_door(self, x: int, y: int) -> bool:
        thing = self.surroundings.obstacle_at(x, y)
        return thing is not None and "open" in thing.seen.verbs

    def reachable(self, thing: Thing) -> bool:
        """Return whether nothing is known to block the way to a thing."""
        return not self._no_way or any(
            max(self._no_way.get((tile, beside), 0) for beside in (False, True)) <= self.tick
            for tile in thing.seen.tiles
        )
