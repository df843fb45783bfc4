"""The ECS store: which entities live and which components they have."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar, cast, overload

from tickmind.tick.codec import ComponentTypes, Migration
from tickmind.tick.errors import DeadEntityError, MissingComponentError
from tickmind.tick.filters import AnyOf, Not, QueryTerm
from tickmind.tick.query import Query, Store
from tickmind.tick.rows import Row
from tickmind.tick.snapshot import read_world, write_world

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")

Filter: TypeAlias = Not | AnyOf
Hook: TypeAlias = Callable[["World", int, Any], None]


class World:
    """Entities and their components. Ids start at 1, only grow and are never used twice.

    Every change takes effect at once. One thread at a time may use a world; give other threads data, not the world.
    """

    def __init__(self) -> None:
        self._alive: dict[int, None] = {}  # entity id -> None; a dict because it keeps order
        self._next_id = 1
        self._stores: dict[type, Store] = defaultdict(dict)  # component type -> entity id -> component
        self._queries: dict[tuple[QueryTerm, ...], Query] = {}
        self._watchers: dict[type, list[Query]] = defaultdict(list)  # component type -> queries that mention it
        self._bare_watchers: list[Query] = []  # queries that an entity without components can match
        self._attach_hooks: dict[type, list[Hook]] = defaultdict(list)
        self._detach_hooks: dict[type, list[Hook]] = defaultdict(list)
        self._restore_hooks: list[Callable[[World], None]] = []
        self._types = ComponentTypes()

    def __repr__(self) -> str:
        kinds = sum(1 for store in self._stores.values() if store)
        return f"<World of {len(self._alive)} entities, {kinds} component types>"

    # Entities

    def spawn(self, *components: Any) -> int:
        """Make an entity, with these components if given, and return its id."""
        entity_id = self._next_id
        self._next_id += 1
        self._alive[entity_id] = None
        for query in self._bare_watchers:
            query.refresh(entity_id)
        for component in components:
            self.attach(entity_id, component)
        return entity_id

    def despawn(self, entity_id: int) -> None:
        """End an entity; detach hooks run for each of its components. An entity that is gone already is left alone."""
        if entity_id not in self._alive:
            return
        del self._alive[entity_id]
        lost = [(kind, store.pop(entity_id)) for kind, store in self._stores.items() if entity_id in store]
        for query in self._queries.values():
            query.remove(entity_id)
        for kind, component in lost:
            self._run_hooks(self._detach_hooks, kind, entity_id, component)

    def alive(self, entity_id: int) -> bool:
        """Tell whether the entity lives."""
        return entity_id in self._alive

    def entities(self) -> frozenset[int]:
        """All living entities."""
        return frozenset(self._alive)

    # Components

    def attach(self, entity_id: int, component: Any) -> None:
        """Give an entity a component; one of the same type is replaced. Attach hooks run after the change."""
        kind = type(component)
        if entity_id not in self._alive:
            raise DeadEntityError(entity_id, f"{kind.__qualname__} can't be attached to it")
        if kind not in self._types:
            self._types.add(kind)
        self._stores[kind][entity_id] = component
        for query in self._watchers.get(kind, ()):
            query.refresh(entity_id)
        self._run_hooks(self._attach_hooks, kind, entity_id, component)

    def detach(self, entity_id: int, component_type: type) -> None:
        """Take a component away, if it is there. Detach hooks run after the change."""
        store = self._stores.get(component_type)
        if store is None or entity_id not in store:
            return
        component = store.pop(entity_id)
        for query in self._watchers.get(component_type, ()):
            query.refresh(entity_id)
        self._run_hooks(self._detach_hooks, component_type, entity_id, component)

    def get(self, entity_id: int, component_type: type[T]) -> T:
        """The entity's component; raises if the entity is gone or has none."""
        try:
            return cast("T", self._stores[component_type][entity_id])
        except KeyError:
            if entity_id not in self._alive:
                raise DeadEntityError(entity_id, f"it has no {component_type.__qualname__}") from None
            raise MissingComponentError(entity_id, component_type) from None

    def find(self, entity_id: int, component_type: type[T]) -> T | None:
        """The entity's component, or None if the entity is gone or has none."""
        return self._stores[component_type].get(entity_id)

    def has(self, entity_id: int, component_type: type) -> bool:
        """Tell whether the entity lives and has such a component."""
        return entity_id in self._stores[component_type]

    # Queries

    @overload
    def query(self, a: type[A], /, *filters: Filter) -> Iterator[tuple[int, tuple[A]]]: ...
    @overload
    def query(self, a: type[A], b: type[B], /, *filters: Filter) -> Iterator[tuple[int, tuple[A, B]]]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], /, *filters: Filter
    ) -> Iterator[tuple[int, tuple[A, B, C]]]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], /, *filters: Filter
    ) -> Iterator[tuple[int, tuple[A, B, C, D]]]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], /, *filters: Filter
    ) -> Iterator[tuple[int, tuple[A, B, C, D, E]]]: ...
    @overload
    def query(self, *terms: QueryTerm) -> Iterator[Row]: ...

    def query(self, *terms: QueryTerm) -> Iterator[Any]:
        """Yield `(entity id, components)` of all that match, in ascending id.

        `for eid, (pos, vel) in world.query(Position, Velocity, Not(Frozen)):` visits an entity if it matched when the
        loop began and has matched ever since, so the loop may change the world as it goes.
        """
        query = self._queries.get(terms)
        if query is None:
            query = self._make_query(terms)
        return iter(query)

    def count(self, *terms: QueryTerm) -> int:
        """How many entities match, without visiting them."""
        query = self._queries.get(terms)
        if query is None:
            query = self._make_query(terms)
        return len(query)

    def _make_query(self, terms: tuple[QueryTerm, ...]) -> Query:
        if not terms:
            raise TypeError("query() needs at least one component type or filter; entities() gives all entities")
        kinds: set[type] = set()
        for term in terms:
            if isinstance(term, AnyOf):
                kinds.update(term.component_types)
            elif isinstance(term, Not):
                kinds.add(term.component_type)
            elif isinstance(term, type):
                kinds.add(term)
            else:
                raise TypeError(f"a query takes component types, Not and AnyOf, not {term!r}")
        query = self._queries[terms] = Query(terms, self._stores, self._alive)
        for kind in kinds:
            self._watchers[kind].append(query)
        if query.takes_bare_entities:
            self._bare_watchers.append(query)
        return query

    # Hooks

    def on_attach(self, component_type: type, hook: Hook) -> None:
        """Call `hook(world, entity_id, component)` after each attach of this type, replacements included."""
        self._attach_hooks[component_type].append(hook)

    def on_detach(self, component_type: type, hook: Hook) -> None:
        """Call `hook(world, entity_id, component)` after each detach of this type, by despawning too."""
        self._detach_hooks[component_type].append(hook)

    def off_attach(self, component_type: type, hook: Hook) -> None:
        """Undo `on_attach`; a hook that is not there is left alone."""
        self._attach_hooks[component_type] = [known for known in self._attach_hooks[component_type] if known != hook]

    def off_detach(self, component_type: type, hook: Hook) -> None:
        """Undo `on_detach`; a hook that is not there is left alone."""
        self._detach_hooks[component_type] = [known for known in self._detach_hooks[component_type] if known != hook]

    def on_restore(self, hook: Callable[["World"], None]) -> None:
        """Call `hook(world)` after each restore, which runs no attach or detach hooks."""
        self._restore_hooks.append(hook)

    def _run_hooks(self, hooks: dict[type, list[Hook]], kind: type, entity_id: int, component: Any) -> None:
        if kind in hooks:
            for hook in tuple(hooks[kind]):
                hook(self, entity_id, component)

    # Snapshots

    def register_component(
        self, component_type: type, *, name: str | None = None, migrate: Migration | None = None
    ) -> None:
        """Make a type known to `restore`, and with it the dataclasses and enums in its fields.

        Attaching registers too, so this is for a fresh process that restores before it spawns. `name` is what
        snapshots call it (by default the class's own name); `migrate` turns the fields of an old snapshot, a
        `dict[str, Any]`, into today's.
        """
        self._types.add(component_type, name=name, migrate=migrate)

    def component_type(self, name: str) -> type | None:
        """The registered type of this name."""
        return self._types.by_name(name)

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data that `json.dumps` takes. The world must hold registered dataclasses only."""
        return write_world(self._alive, self._next_id, self._stores, self._types)

    def restore(self, data: dict[str, Any]) -> None:
        """Become what was written; on an error the world stays as it was. Loops that are running end."""
        alive, next_id, stores = read_world(data, self._types)
        self._alive.clear()
        self._alive.update(alive)
        self._next_id = next_id
        for store in self._stores.values():
            store.clear()
        for kind, store in stores.items():
            self._stores[kind].update(store)
        for query in self._queries.values():
            query.reset(self._alive)
        for hook in tuple(self._restore_hooks):
            hook(self)
