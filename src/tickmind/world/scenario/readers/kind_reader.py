"""The parts of a scenario file that name things: rules, floors, items and kinds of objects."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from tickmind.base import Limit
from tickmind.protocol.entity import ContainerInfo, Prices
from tickmind.protocol.observation import GROUND
from tickmind.protocol.setting import Hours, minute_of
from tickmind.world.scenario.kinds import (
    Change,
    FloorKind,
    ItemKind,
    Items,
    ObjectAction,
    ObjectKind,
    ObjectState,
    Stock,
)
from tickmind.world.scenario.limits import (
    MAX_DECAYED,
    MAX_GROUND,
    MAX_HEARING,
    MAX_INVENTORY,
    MAX_ITEM_CHARS,
    MAX_KINDS,
    MAX_OBJECT_SIDE,
    MAX_OBJECTS,
    MAX_PRICES,
    MAX_RADIUS,
    MAX_RECIPE_ITEMS,
    MAX_STATES,
    MAX_TAGS,
    MAX_TEXT_CHARS,
    MAX_TICKS,
    MAX_VERBS,
)
from tickmind.world.scenario.readers.need_reader import WorldNeeds, read_changes, read_needs
from tickmind.world.scenario.settings import SIGHT_RULES, Rules
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, NodePosition, YamlMapping, leaf, many, table

_OF_A_STATE = ("walkable", "opaque", "actions", "light", "each_tick")  # what a kind with one state may say itself
_OF_A_CONTAINER = ("sells", "buys", "hours")


def read_rules(node: Node | None) -> Rules:
    """The section `rules`; what it leaves out has a default."""
    if node is None:
        return Rules()
    given = table(node)
    given.nothing_but(
        "world_version",
        "tick_duration_ms",
        "intent_deadline_ms",
        "sight_radius",
        "hearing_radius",
        "inventory_limit",
        "text_limit_chars",
        "rest_tag",
        "needs",
        "offer_ticks",
        "gifts_need_consent",
        "night_sight_radius",
    )
    usual = Rules()
    duration_ms = given.integer("tick_duration_ms", usual.tick_duration_ms, 1, 3_600_000)
    needs = given.get("needs")
    sight_radius = given.integer("sight_radius", usual.sight_radius, 1, MAX_RADIUS)
    is_dark = "night_sight_radius" in given.entries
    return Rules(
        world_version=given.one_of("world_version", usual.world_version, *SIGHT_RULES),
        tick_duration_ms=duration_ms,
        intent_deadline_ms=given.integer("intent_deadline_ms", (duration_ms + 1) // 2, 1, duration_ms),
        sight_radius=sight_radius,
        hearing_radius=given.integer("hearing_radius", usual.hearing_radius, 0, MAX_HEARING),
        inventory_limit=given.integer("inventory_limit", usual.inventory_limit, 1, MAX_INVENTORY),
        text_limit_chars=given.integer("text_limit_chars", usual.text_limit_chars, 1, MAX_TEXT_CHARS),
        rest_tag=given.name("rest_tag", usual.rest_tag),
        needs=given.place.source.part(None, read_needs, needs) if needs else None,
        offer_ticks=given.integer("offer_ticks", usual.offer_ticks, 1, MAX_TICKS),
        gifts_need_consent=given.truth("gifts_need_consent", usual.gifts_need_consent),
        night_sight_radius=given.integer("night_sight_radius", 0, 0, sight_radius) if is_dark else None,
    )


def read_floors(given: YamlMapping, needs: WorldNeeds) -> tuple[FloorKind, ...]:
    """The section `floors`, in the order of the file; in a world without needs no floor changes them."""
    _few(given)
    floors = [place.source.part(FloorKind(name), _read_floor, name, node, needs) for name, place, node in given.named()]
    if not floors:
        given.place.fail("expected at least one kind of floor")
    return tuple(floors)


def _read_floor(name: str, node: Node, needs: WorldNeeds) -> FloorKind:
    given = table(node)
    given.nothing_but("walkable", "opaque", "hazards", "each_tick", "step_ticks")
    walkable, opaque = given.truth("walkable", default=True), given.truth("opaque", default=False)
    changes = dict(needs.read_each_tick(given))
    if "each_tick" in given.entries and not walkable:
        place = given.keys["each_tick"]
        place.note(f"no actor can stand on {name!r}, so 'each_tick' does nothing; say `walkable: true`")
    return FloorKind(
        name,
        walkable,
        opaque,
        read_tags(given, "hazards"),
        energy=changes.pop("energy", 0),
        hunger=changes.pop("hunger", 0),
        step_ticks=given.integer("step_ticks", 1, 1, MAX_TICKS),
        own_needs=tuple(changes.items()),
    )


def read_items(section: Node | None, needs: WorldNeeds) -> tuple[ItemKind, ...]:
    """The section `items`, in the order of names; none if it is left out."""
    if section is None:
        return ()
    given = table(section)
    _few(given)
    found = []
    for name, place, node in given.named():
        if not MAX_ITEM_CHARS.allows(len(name)):
            place.note(f"expected a name of 1 to {MAX_ITEM_CHARS.maximum} characters for an item")
        found.append(place.source.part(ItemKind(name), _read_item, name, node, given.entries, needs))
    _check_decay(given, found)
    return tuple(sorted(found, key=lambda item: item.name))


def _read_item(name: str, node: Node, items: Collection[str], needs: WorldNeeds) -> ItemKind:
    given = table(node)
    given.nothing_but("use", "lasts", "becomes")
    changes = dict(read_changes(given, "use", needs.names))
    lasts = given.integer("lasts", 0, 1, MAX_TICKS) if "lasts" in given.entries else 0
    becomes = read_amounts(given.get("becomes"), items)
    if becomes and not lasts:
        given.keys["becomes"].note(f"{name!r} never decays; say how many ticks it lasts with `lasts: 200`")
    if not MAX_RECIPE_ITEMS.allows(len(becomes)):
        given.keys["becomes"].note(f"more than {MAX_RECIPE_ITEMS.maximum} kinds of items")
    hunger, energy = changes.pop("hunger", 0), changes.pop("energy", 0)
    return ItemKind(name, hunger, energy, tuple(changes.items()), lasts, becomes)


def _check_decay(given: YamlMapping, items: Iterable[ItemKind]) -> None:
    """Note items that become themselves again, or too many others: what decays must come to an end."""
    becomes = {item.name: item.becomes for item in items}
    totals: dict[str, int] = {}  # item -> how many items one is in the end

    def total(name: str, path: tuple[str, ...]) -> int:
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            given.keys[path[0]].fail(f"{name!r} becomes itself again: {circle}")
        if name not in totals:
            totals[name] = max(1, sum(amount * total(item, (*path, name)) for item, amount in becomes[name]))
            if not MAX_DECAYED.allows(totals[name]):
                given.keys[name].fail(f"one {name!r} becomes more than {MAX_DECAYED.maximum:,} items in the end")
        return totals[name]

    for name in becomes:
        with given.place.source.noting():
            total(name, ())


def read_kinds(
    section: Node | None, items: Collection[str], inventory_limit: int, needs: WorldNeeds
) -> tuple[ObjectKind, ...]:
    """The section `kinds`, in the order of names; none if it is left out."""
    if section is None:
        return ()
    given = table(section)
    _few(given)
    found = [
        place.source.part(ObjectKind(name), _read_kind, name, place, node, items, needs)
        for name, place, node in given.named()
    ]
    _check_recipes(given, found, inventory_limit)
    return tuple(sorted(found, key=lambda kind: kind.name))


def _check_recipes(given: YamlMapping, kinds: Iterable[ObjectKind], inventory_limit: int) -> None:
    """Note recipes and prices that take more than an actor carries, and too many verbs."""
    verbs = {action.verb for kind in kinds for state in kind.states for action in state.actions}
    if not MAX_VERBS.allows(len(verbs)):
        given.place.note(f"all kinds together have {len(verbs)} verbs; {MAX_VERBS.maximum} are allowed")
    for kind in kinds:
        prices = (*kind.container.sells, *kind.container.buys) if kind.container is not None else ()
        for item, price in prices:
            count = sum(amount for _, amount in price)
            if count > inventory_limit:
                given.keys[kind.name].note(
                    f"one {item!r} costs {count} items, and an actor carries at most {inventory_limit}"
                )
        builds = () if kind.build is None else (kind.build,)
        for action in (*builds, *(action for state in kind.states for action in state.actions)):
            count = sum(amount for _, amount in action.takes)
            if count > inventory_limit:
                given.keys[kind.name].note(
                    f"{action.verb!r} takes {count} items, and an actor carries at most {inventory_limit}"
                )


def _read_kind(name: str, place: NodePosition, node: Node, items: Collection[str], needs: WorldNeeds) -> ObjectKind:
    given = table(node)
    if name == GROUND:
        place.fail(f"{GROUND!r} is what items on the ground are called; choose another name")
    given.nothing_but("states", "tags", "stock", "holds", "build", "size", *_OF_A_CONTAINER, *_OF_A_STATE)
    states, own = given.get("states"), [key for key in _OF_A_STATE if key in given.entries]
    if states is None:
        entries, keys = {key: given.entries[key] for key in own}, {key: given.keys[key] for key in own}
        only = YamlMapping(given.place, entries, keys)
        read: tuple[ObjectState, ...] = (_read_state("plain", place, only, ("plain",), items, needs),)
    else:
        if own:
            place.note(f"{name!r} has states, so {' and '.join(own)} belong to each of them")
        read = _read_states(table(states), items, needs)
    stock, container = given.get("stock"), _read_container(given, items)
    if container is not None and any(state.walkable for state in read):
        place.fail(f"{name!r} holds items, so no actor can step on it: say `walkable: false` in each of its states")
    grows = _read_stock(table(stock), items) if stock else None
    build, most = _read_build(given.get("build"), read[0].name, items)
    return ObjectKind(
        name, read, read_tags(given, "tags"), grows, container, build, most, _read_size(given.get("size"))
    )


def _read_size(node: Node | None) -> tuple[int, int]:
    if node is None:
        return 1, 1
    sides = many(node)
    if len(sides.items) != 2:
        sides.place.fail("expected a size as [2, 1]: tiles from west to east, and from north to south")
    width, height = (leaf(side).integer(1, MAX_OBJECT_SIDE) for side in sides.items)
    return width, height


def _read_build(node: Node | None, state: str, items: Collection[str]) -> tuple[ObjectAction | None, int]:
    """What building an object takes, and how many can be built; it begins in the first state."""
    if node is None:
        return None, 0
    given = table(node)
    given.nothing_but("most", "needs", "consumes", "wears", "hours", "seasons", "weather")
    most = leaf(given.need("most")).integer(1, int(MAX_OBJECTS.maximum))
    return _read_recipe("build", given, state, items), most


def _read_container(given: YamlMapping, items: Collection[str]) -> ContainerInfo | None:
    """What a kind holds, buys and sells; None if it holds nothing."""
    holds, hours = given.get("holds"), given.get("hours")
    if holds is None:
        for key in _OF_A_CONTAINER:
            if key in given.entries:
                given.keys[key].note(f"{key!r} is for kinds that hold items; say how many with `holds: 50`")
        return None
    if hours is not None and not ("sells" in given.entries or "buys" in given.entries):
        given.keys["hours"].note("'hours' are those of its trade, and this kind has neither `sells` nor `buys`")
    return ContainerInfo(
        holds=leaf(holds).integer(1, int(MAX_GROUND.maximum)),
        sells=_read_prices(given.get("sells"), items),
        buys=_read_prices(given.get("buys"), items),
        hours=None if hours is None else read_hours(many(hours)),
    )


def _read_prices(node: Node | None, items: Collection[str]) -> Prices:
    if node is None:
        return ()
    given = table(node)
    if not MAX_PRICES.allows(len(given.entries)):
        given.place.fail(f"more than {MAX_PRICES.maximum} prices")
    found = []
    for item, place, price in given.named():
        known(Leaf(place, item, plain=True), items, "item")
        amounts = () if isinstance(price, Leaf) else read_amounts(price, items)
        if not amounts or any(name == item for name, _ in amounts):
            price.place.fail(f"expected the price of one {item!r} in other items, such as {{coin: 2}}")
        if not MAX_RECIPE_ITEMS.allows(len(amounts)):
            price.place.fail(f"more than {MAX_RECIPE_ITEMS.maximum} kinds of items")
        found.append((item, amounts))
    return tuple(sorted(found))


def _read_states(given: YamlMapping, items: Collection[str], needs: WorldNeeds) -> tuple[ObjectState, ...]:
    if not given.entries or not MAX_STATES.allows(len(given.entries)):
        given.place.fail(f"expected 1 to {MAX_STATES.maximum} states")
    found = []
    for name, place, node in given.named():
        found.append(place.source.part(ObjectState(name), _read_state, name, place, node, given.entries, items, needs))
    return tuple(found)


def _read_state(
    name: str,
    place: NodePosition,
    node: Node,
    states: Collection[str],
    items: Collection[str],
    needs: WorldNeeds,
) -> ObjectState:
    given = table(node)
    given.nothing_but("walkable", "opaque", "actions", "change", "light", "each_tick")
    actions, read = given.get("actions"), []
    for verb, at, action in table(actions).named() if actions else ():
        with at.source.noting():
            read.append(_read_action(verb, table(action), name, states, items))
    if sum(one.work > 1 for one in read) > 1:
        place.note(f"in state {name!r} more than one action takes several ticks; one can")
    change = given.get("change")
    walkable, opaque = given.truth("walkable", default=True), given.truth("opaque", default=False)
    light = given.integer("light", 0, 1, MAX_RADIUS) if "light" in given.entries else 0
    lasts = _read_change(table(change), states) if change else None
    return ObjectState(name, walkable, opaque, tuple(read), lasts, light, needs.read_each_tick(given))


def _read_action(
    verb: str, given: YamlMapping, state: str, states: Collection[str], items: Collection[str]
) -> ObjectAction:
    given.nothing_but("to", "work", "needs", "consumes", "yields", "wears", "hours", "seasons", "weather", "removes")
    to, removes = given.get("to"), given.truth("removes", default=False)
    if removes and to is not None:
        given.keys["removes"].note(
            f"after {verb!r} the object is gone, so it has no state; leave out 'to' or 'removes'"
        )
    after = state if to is None else known(to, states, "state of this kind")
    return replace(_read_recipe(verb, given, after, items), removes=removes)


def _read_recipe(verb: str, given: YamlMapping, to: str, items: Collection[str]) -> ObjectAction:
    """What an action takes and yields, and when it can be done."""
    hours = given.get("hours")
    for part in ("needs", "consumes", "yields", "wears"):
        items_node = given.get(part)
        if items_node is not None and not MAX_RECIPE_ITEMS.allows(len(table(items_node).entries)):
            items_node.place.fail(f"more than {MAX_RECIPE_ITEMS.maximum} kinds of items")
    consumes, wears = (read_amounts(given.get(part), items) for part in ("consumes", "wears"))
    for tool in {name for name, _ in consumes} & {name for name, _ in wears}:
        given.keys["wears"].note(f"{tool!r} is consumed each time, so it can't wear; leave it out of one of them")
    return ObjectAction(
        verb=verb,
        to=to,
        work=given.integer("work", 1, 1, MAX_TICKS),
        needs=read_amounts(given.get("needs"), items),
        yields=read_amounts(given.get("yields"), items),
        consumes=consumes,
        hours=None if hours is None else read_hours(many(hours)),
        seasons=given.names("seasons"),
        weather=given.names("weather"),
        wears=wears,
    )


def read_hours(given: Many) -> Hours:
    """Two times of the day, of which the second may be on the next day."""
    if len(given.items) != 2:
        given.place.fail('expected two times of the day as ["08:00", "18:00"]')
    first, last = (read_minute(leaf(item)) for item in given.items)
    if first == last:
        given.place.fail("these hours are empty; leave `hours` out if there are none")
    return first, last


def read_minute(given: Leaf) -> int:
    """A time of the day as a minute of it."""
    try:
        return minute_of(given.text)
    except ValueError:
        given.place.fail(f'expected a time of the day as "07:00", in quotes; found {given.text[:20]!r}')


def _read_change(given: YamlMapping, states: Collection[str]) -> Change:
    given.nothing_but("to", "ticks", "spread")
    to = known(given.need("to"), states, "state of this kind")
    ticks = leaf(given.need("ticks")).integer(1, MAX_TICKS)
    return Change(to, ticks, given.integer("spread", 0, 0, MAX_TICKS))


def _read_stock(given: YamlMapping, items: Collection[str]) -> Stock:
    given.nothing_but("item", "most", "ticks", "spread", "doubles")
    item = known(given.need("item"), items, "item")
    most = leaf(given.need("most")).integer(1, MAX_INVENTORY)
    ticks, doubles = given.integer("ticks", 0, 0, MAX_TICKS), given.truth("doubles", default=False)
    if doubles and not ticks:
        given.place.fail("a stock that doubles needs `ticks`, in which what is left doubles")
    return Stock(item, most, ticks, given.integer("spread", 0, 0, MAX_TICKS), doubles)


def read_amounts(node: Node | None, items: Collection[str], most: Limit = MAX_INVENTORY) -> Items:
    """A mapping of item kinds to amounts."""
    found = []
    for name, place, amount in table(node).named() if node is not None else ():
        known(Leaf(place, name, plain=True), items, "item")
        found.append((name, leaf(amount).integer(1, most)))
    return tuple(sorted(found))


def read_tags(given: YamlMapping, key: str) -> tuple[str, ...]:
    """A list of tags, empty if it is not there."""
    names = given.names(key)
    if not MAX_TAGS.allows(len(names)):
        given.entries[key].place.note(f"more than {MAX_TAGS.maximum} of them")
    return names


def known(node: Node, names: Collection[str], what: str) -> str:
    """A name that must stand somewhere else in the file; the complaint lists those that do."""
    name = leaf(node).name()
    if name not in names:
        there = ", ".join(sorted(names)[:20]) or "none"
        node.place.fail(f"there is no {what} {name!r}; there are: {there}")
    return name


def _few(given: YamlMapping) -> None:
    if not MAX_KINDS.allows(len(given.entries)):
        given.place.fail(f"more than {MAX_KINDS.maximum} kinds")
