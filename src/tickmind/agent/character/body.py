"""What every character has: senses, a memory, a voice, legs, and one intent a tick."""

from tickmind.agent.knowledge import Memory, Speech, Surroundings, Thing, Tile, direction_to, distance, find_path
from tickmind.agent.minds import Start
from tickmind.ai import Blackboard, Status
from tickmind.base import Limit
from tickmind.protocol import Intent, Interact, Move, Observation, SelfState, Wait

NO_WAY_TICKS = 10  # so long one does not look for a way again where there was none
MAX_NO_WAYS = Limit("number of goals that one knows to be out of reach", 200)
_WAIT = Wait()


class Body:
    """A character without a mind: it takes in observations and turns wishes into intents.

    Everything that it knows comes from its own observations: `surroundings` (tiles, people, things), `speech` (what
    was said) and `memory` (what it took note of).
    """

    def __init__(self, start: Start) -> None:
        self.entity_id = start.entity_id
        self.settings = start.settings
        self.random = start.random
        self.name = start.settings.text("name") or start.entity_id
        self.blackboard = Blackboard()
        self.surroundings = Surroundings()
        self.memory = Memory()
        self.speech = Speech(start.entity_id, (self.name,))
        self._observation: Observation | None = None
        self._me: SelfState | None = None  # of that observation
        self._intent: Intent | None = None
        self._way: list[Tile] = []  # the steps to come, the next one last
        self._way_key: tuple[Tile, bool] | None = None
        self._no_way: dict[tuple[Tile, bool], int] = {}  # goal, beside -> when to look again

    # Senses

    @property
    def observation(self) -> Observation:
        """What it perceives in this tick."""
        if self._observation is None:
            raise RuntimeError("a character perceives nothing before its first tick")
        return self._observation

    @property
    def me(self) -> SelfState:
        """Its own state."""
        return self._me or self.observation.me

    @property
    def tick(self) -> int:
        """The world's tick."""
        return self.observation.tick_id

    @property
    def at(self) -> Tile:
        """Where it is."""
        me = self._me or self.observation.me
        return me.x, me.y

    def carries(self, item: str) -> int:
        """How many items of a kind it has."""
        return sum(stack.quantity for stack in self.me.inventory if stack.kind == item)

    def take_in(self, observation: Observation) -> None:
        """See, hear and remember; called once at the start of each tick."""
        self._observation, self._me = observation, observation.me
        self._intent = None
        self.surroundings.take_in(observation)
        self.speech.listen(observation)
        self.remember()

    def remember(self) -> None:
        """Take note of what is worth it: whom it met, and what was said to it. Override for more."""
        tick = self.tick
        for line in self.speech.heard_now:
            if line.to_me:
                if not self.speech.talked_before(line):
                    self.memory.note(tick, f"I met {line.speaker_id}.", importance=0.5, about=line.speaker_id)
                said = f"{line.speaker_id} said to me: {line.text}"
                self.memory.note(tick, said, importance=0.4, about=line.speaker_id)

    # One intent a tick

    def do(self, intent: Intent) -> Status:
        """Decide on this tick's intent. There is one a tick: a second one has to wait, and is told so by `RUNNING`."""
        if self._intent is not None:
            return Status.RUNNING
        self._intent = intent
        return Status.SUCCESS

    @property
    def intent(self) -> Intent:
        """What was decided on; `Wait` if nothing was."""
        return self._intent or _WAIT

    @property
    def decided(self) -> bool:
        """Whether this tick's intent is given."""
        return self._intent is not None

    # Legs

    def walk(self, goal: Tile, *, beside: bool = False) -> Status:
        """Go one step towards a tile: `RUNNING` on the way, `SUCCESS` there, `FAILURE` if no way is known.

        Closed doors on the way are opened; whoever stands in the way is walked around.
        """
        if self.at == goal or (beside and distance(self.at, goal) <= 1):
            return Status.SUCCESS
        step = self._next_step(goal, beside=beside)
        if step is None:
            return Status.FAILURE
        door = self.surroundings.obstacle_at(*step)
        self.do(Interact(door.seen.object_id, "open") if door else Move(direction_to(self.at, step)))
        return Status.RUNNING

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
        if not way:
            if not MAX_NO_WAYS.allows(len(self._no_way) + 1):
                self._no_way.clear()
            self._no_way[key] = self.tick + NO_WAY_TICKS
            return None
        self._way, self._way_key = way[::-1], key
        return self._way[-1]

    def _can_step(self, step: Tile) -> bool:
        """Whether the next step of a way that was found earlier is still good."""
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
        return find_path(around.tiles, self.at, goal, avoid=occupied, beside=beside, doors=around.doors)

    def _is_door(self, x: int, y: int) -> bool:
        thing = self.surroundings.obstacle_at(x, y)
        return thing is not None and "open" in thing.seen.verbs

    def reachable(self, thing: Thing) -> bool:
        """Whether nothing is known to be in the way to a thing."""
        return max(self._no_way.get((thing.at, beside), 0) for beside in (False, True)) <= self.tick
