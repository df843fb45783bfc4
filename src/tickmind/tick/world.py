"""`World`: the ECS store, with the living entities and their components."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar, cast, overload

from tickmind.tick.codec import ComponentTypes, Migration
from tickmind.tick.errors import DeadEntityError, MissingComponentError
from tickmind.tick.filters import AnyOf, Not, QueryTerm
from tickmind.tick.hooks import call_all, checked, raise_first, without
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
ComponentHook: TypeAlias = Callable[["World", int, Any], None]
RestoreHook: TypeAlias = Callable[["World"], None]
HookTable: TypeAlias = dict[type, list[ComponentHook]]  # component type -> hooks, in the order of adding

H = TypeVar("H", bound=ComponentHook)
R = TypeVar("R", bound=RestoreHook)
K = TypeVar("K", bound=type)


class World:
    """Entities and their components. Ids start at 1, only grow and are never reused.

    Every change takes effect at once. One thread at a time may use a world; give other threads data, not the world.

        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Position:
        ...     x: int
        >>> world = World()
        >>> wolf = world.spawn(Position(3))
        >>> [(eid, position.x) for eid, (position,) in world.query(Position)]
        [(1, 3)]

    A component class that is redefined, as when a cell of a notebook runs again, replaces the old one: it has the
    same module and qualified name, and was not made inside a function. See `register_component`.
    """

    def __init__(self) -> None:
        self._alive: dict[int, None] = {}  # entity id -> None; a dict because it keeps order
        self._next_id = 1
        self._stores: dict[type, Store] = {}  # a class that was replaced shares the store of its successor
        self._queries: dict[tuple[QueryTerm, ...], Query] = {}
        self._watchers: dict[type, list[Query]] = defaultdict(list)  # component type -> queries that mention it
        self._bare_watchers: list[Query] = []  # queries that an entity without components can match
        self._attach_hooks: HookTable = defaultdict(list)
        self._detach_hooks: HookTable = defaultdict(list)
        self._removing_hooks: HookTable = defaultdict(list)
        self._removing: set[tuple[int, type]] = set()  # entity id and type whose removing hooks are running
        self._restore_hooks: list[RestoreHook] = []
        self._types = ComponentTypes()
        self._current = self._types.current

    def __repr__(self) -> str:
        kinds = sum(1 for kind, store in self._stores.items() if store and kind in self._current)
        return f"<World of {len(self._alive)} entities, {kinds} component types>"

    # Entities

    def spawn(self, *components: Any) -> int:
        """Make an entity, with these components if given, and return its id.

        If a component is refused or an attach hook raises, the entity is despawned again; its id stays used.
        """
        for component in components:
            if type(component) not in self._current:
                self._admit(type(component))  # before anything else, so that a refusal changes nothing
        entity_id = self._next_id
        self._next_id += 1
        self._alive[entity_id] = None
        for query in self._bare_watchers:
            query.refresh(entity_id)
        try:
            for component in components:
                self.attach(entity_id, component)
        except BaseException as error:  # noqa: BLE001  raised again, after the entity is gone
            raise_first([error, *call_all([self.despawn], entity_id)])
        return entity_id

    def despawn(self, entity_id: int) -> None:
        """End an entity; detach hooks run for each of its components. Does nothing if it is gone already.

        All hooks run, also after one has raised; then the first error is raised.
        """
        if entity_id not in self._alive:
            return
        errors: list[BaseException] = []
        if self._removing_hooks:
            for kind in tuple(self._removing_hooks):
                component = self._store(kind).get(entity_id)
                if component is not None and kind in self._current:
                    errors += self._run_removing(kind, entity_id, component)
            if entity_id not in self._alive:  # a hook has despawned it
                raise_first(errors)
                return
        del self._alive[entity_id]
        lost = [(kind, store.pop(entity_id)) for kind, store in self._stores.items() if entity_id in store]
        for query in self._queries.values():
            query.remove(entity_id)
        for kind, component in lost:
            if kind in self._detach_hooks:
                errors += call_all(self._detach_hooks[kind], self, entity_id, component)
        if errors:
            raise_first(errors)

    def alive(self, entity_id: int) -> bool:
        """Return whether the entity lives."""
        return entity_id in self._alive

    def entities(self) -> frozenset[int]:
        """Return all living entities."""
        return frozenset(self._alive)

    # Components

    def attach(self, entity_id: int, component: Any) -> None:
        """Add a component to an entity; one of the same type is replaced. Attach hooks run after the change.

        All hooks run, also after one has raised; then the first error is raised, and the component stays. Raises
        `DeadEntityError` if the entity is not alive.
        """
        kind = type(component)
        if entity_id not in self._alive:
            raise DeadEntityError(entity_id, f"{kind.__qualname__} can't be attached to it")
        if kind not in self._current:
            kind = self._admit(kind)
            if kind is not type(component):
                component = self._types.renew(component)
        errors = self._replacing(kind, entity_id, component) if kind in self._removing_hooks else None
        store = self._stores.get(kind)
        if store is None:
            store = self._store(kind)
        store[entity_id] = component
        for query in self._watchers.get(kind, ()):
            query.refresh(entity_id)
        if errors or kind in self._attach_hooks:
            raise_first((errors or []) + call_all(self._attach_hooks[kind], self, entity_id, component))

    def detach(self, entity_id: int, component_type: type) -> None:
        """Remove a component, if it is there. Detach hooks run after the change.

        All hooks run, also after one has raised; then the first error is raised.
        """
        store = self._store(component_type)
        if entity_id not in store:
            return
        errors: list[BaseException] = []
        if component_type in self._removing_hooks:
            errors += self._run_removing(component_type, entity_id, store[entity_id])
        if entity_id in store:  # else a hook has detached it
            component = store.pop(entity_id)
            for query in self._watchers.get(component_type, ()):
                query.refresh(entity_id)
            if component_type in self._detach_hooks:
                errors += call_all(self._detach_hooks[component_type], self, entity_id, component)
        raise_first(errors)

    def get(self, entity_id: int, component_type: type[T]) -> T:
        """Return the entity's component; raises `DeadEntityError` or `MissingComponentError`."""
        try:
            return cast("T", self._stores[component_type][entity_id])
        except KeyError:
            if entity_id in self._store(component_type):
                return cast("T", self._stores[component_type][entity_id])
            if entity_id not in self._alive:
                raise DeadEntityError(entity_id, f"it has no {component_type.__qualname__}") from None
            raise MissingComponentError(entity_id, component_type) from None

    def find(self, entity_id: int, component_type: type[T]) -> T | None:
        """Return the entity's component, or None if the entity is gone or has none."""
        try:
            return self._stores[component_type].get(entity_id)
        except KeyError:
            return self._store(component_type).get(entity_id)

    def has(self, entity_id: int, component_type: type) -> bool:
        """Return whether the entity lives and has such a component."""
        try:
            return entity_id in self._stores[component_type]
        except KeyError:
            return entity_id in self._store(component_type)

    def _store(self, kind: type) -> Store:
        """Return the components of a type; the first time, check whether it redefines a known class."""
        if kind not in self._stores:
            self._meet(kind)
        return self._stores.setdefault(kind, {})

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
        """Return how many entities match, without visiting them."""
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
                raise TypeError(f"the terms of a query must be component types, Not or AnyOf, not {term!r}")
        query = self._queries[terms] = Query(terms, self._store, self._alive)
        for kind in kinds:
            self._watchers[kind].append(query)
        if query.takes_bare_entities:
            self._bare_watchers.append(query)
        return query

    # Hooks; each on_... returns the hook, and without one it is a decorator: `@world.on_attach(Position)`

    @overload
    def on_attach(self, component_type: type, hook: H) -> H: ...
    @overload
    def on_attach(self, component_type: type) -> Callable[[H], H]: ...

    def on_attach(self, component_type: type, hook: H | None = None) -> H | Callable[[H], H]:
        """Call `hook(world, entity_id, component)` after each attach of this type, replacements included."""
        return self._hooked(self._attach_hooks, component_type, hook)

    @overload
    def on_detach(self, component_type: type, hook: H) -> H: ...
    @overload
    def on_detach(self, component_type: type) -> Callable[[H], H]: ...

    def on_detach(self, component_type: type, hook: H | None = None) -> H | Callable[[H], H]:
        """Call `hook(world, entity_id, component)` after each detach of this type, by despawning too."""
        return self._hooked(self._detach_hooks, component_type, hook)

    @overload
    def on_removing(self, component_type: type, hook: H) -> H: ...
    @overload
    def on_removing(self, component_type: type) -> Callable[[H], H]: ...

    def on_removing(self, component_type: type, hook: H | None = None) -> H | Callable[[H], H]:
        """Call `hook(world, entity_id, component)` before a component of this type is removed, with all still there.

        That is when it is detached or replaced, or its entity despawned. A hook that raises does not stop the removal.
        """
        return self._hooked(self._removing_hooks, component_type, hook)

    def on_restore(self, hook: R) -> R:
        """Call `hook(world)` after each restore, which runs no hooks of components.

        If a hook raises, the restore is undone and all restore hooks run once more, for the state that came back.
        """
        self._restore_hooks.append(checked(hook, "the restore hook"))
        return hook

    def off_attach(self, component_type: type, hook: ComponentHook) -> None:
        """Undo `on_attach`; ignores an unknown hook."""
        self._attach_hooks[component_type][:] = without(self._attach_hooks[component_type], hook)

    def off_detach(self, component_type: type, hook: ComponentHook) -> None:
        """Undo `on_detach`; ignores an unknown hook."""
        self._detach_hooks[component_type][:] = without(self._detach_hooks[component_type], hook)

    def off_removing(self, component_type: type, hook: ComponentHook) -> None:
        """Undo `on_removing`; ignores an unknown hook."""
        self._removing_hooks[component_type][:] = without(self._removing_hooks[component_type], hook)

    def off_restore(self, hook: RestoreHook) -> None:
        """Undo `on_restore`; ignores an unknown hook."""
        self._restore_hooks = without(self._restore_hooks, hook)

    def _hooked(self, hooks: HookTable, kind: type, hook: H | None) -> H | Callable[[H], H]:
        self._store(kind)

        def add(hook: H) -> H:
            hooks[kind].append(checked(hook, "the hook"))
            return hook

        return add if hook is None else add(hook)

    def _replacing(self, kind: type, entity_id: int, component: Any) -> list[BaseException]:
        """Run the removing hooks of a component that is being replaced."""
        old = self._store(kind).get(entity_id)
        if old is None or old is component:
            return []
        errors = self._run_removing(kind, entity_id, old)
        if entity_id not in self._alive:
            raise_first([*errors, DeadEntityError(entity_id, f"{kind.__qualname__} can't be attached to it")])
        return errors

    def _run_removing(self, kind: type, entity_id: int, component: Any) -> list[BaseException]:
        key = entity_id, kind
        if key in self._removing:  # a hook removes what is being removed
            return []
        self._removing.add(key)
        try:
            return call_all(self._removing_hooks[kind], self, entity_id, component)
        finally:
            self._removing.discard(key)

    # Snapshots

    def register_component(self, component_type: K, *, name: str | None = None, migrate: Migration | None = None) -> K:
        """Make a type known to `restore`, and with it the dataclasses and enums in its fields; a decorator too.

        Attaching registers too, so this is for a fresh process that restores before it spawns. `name` is what
        snapshots call it (by default the class's own name); `migrate` turns the fields of an old snapshot, a
        `dict[str, Any]`, into today's.

        A class of the same module and qualified name as a registered one redefines that class: from then on
        queries, hooks and snapshots that name either mean the new one, and the components in the world become
        instances of it. Fields keep their values, new ones get their defaults, removed ones are dropped, and
        `migrate` decides instead if it is given. Raises `ConfigError`, with nothing changed, for a new field without
        default, and for two different classes of one name.
        """
        self._register(component_type, name, migrate)
        return component_type

    def component_type(self, name: str) -> type | None:
        """Return the registered type of this name; None if there is none."""
        return self._types.by_name(name)

    def _meet(self, kind: type) -> None:
        """Register a class that is used before it is attached, if it redefines a known one."""
        if self._types.replaced_by(kind) is not None:
            self._register(kind)

    def _admit(self, kind: type) -> type:
        """Register a class that is about to be attached; return its successor if it was replaced itself."""
        newest = self._types.newest(kind)
        if newest is kind:
            self._register(kind)
        return newest

    def _register(self, kind: type, name: str | None = None, migrate: Migration | None = None) -> None:
        before = self._types.save()
        try:
            replaced = self._types.add(kind, name=name, migrate=migrate)
            renewed = [
                {entity_id: self._types.renew(component) for entity_id, component in self._store(old).items()}
                for old, _ in replaced
            ]
        except BaseException:
            self._types.put_back(before)
            raise
        for (old, new), components in zip(replaced, renewed, strict=True):
            self._stores[new] = self._stores[old]
            self._stores[old].update(components)
            self._watchers[new] = self._watchers[old]
            for hooks in (self._attach_hooks, self._detach_hooks, self._removing_hooks):
                if old in hooks:
                    hooks[new] = hooks[old]
            for query in self._watchers[old]:
                for entity_id in components:
                    query.refresh(entity_id)

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data for `json.dumps`. The world must hold registered dataclasses only."""
        stores = {kind: store for kind, store in self._stores.items() if kind in self._current}
        return write_world(self._alive, self._next_id, stores, self._types)

    def restore(self, data: dict[str, Any]) -> None:
        """Replace the world by a snapshot; on an error, also of a restore hook, the world stays as it was.

        Loops that are running end.
        """
        alive, next_id, stores = read_world(data, self._types)
        before = dict(self._alive), self._next_id, {kind: dict(store) for kind, store in self._stores.items()}
        self._become(alive, next_id, stores)
        errors = call_all(self._restore_hooks, self)
        if errors:
            self._become(*before)
            raise_first(errors + call_all(self._restore_hooks, self))

    def _become(self, alive: Iterable[int], next_id: int, stores: dict[type, Store]) -> None:
        self._alive.clear()
        self._alive.update(dict.fromkeys(alive))
        self._next_id = next_id
        for store in self._stores.values():
            store.clear()
        for kind, store in stores.items():
            self._store(kind).update(store)
        for query in self._queries.values():
            query.reset(self._alive)
