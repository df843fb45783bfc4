"""Schemas of kinds: floors, items, objects, and needs of a world's own."""

from tickmind.world.scenario.json_schema.parts import (
    NAMES,
    SIZE,
    Schema,
    amounts,
    hours,
    name,
    named,
    number,
    said,
    table,
    truth,
)
from tickmind.world.scenario.limits import MAX_RADIUS
from tickmind.world.scenario.settings import NEED_MOST


def floor_schema() -> Schema:
    """Return the schema of a kind of floor."""
    return table(
        "A kind of floor.",
        walkable=truth("Whether actors can step there.", default=True),
        opaque=truth("Whether it blocks sight.", default=False),
        step_ticks=number("How many ticks a step onto it takes.", 1),
        hazards=said("Dangers that characters may care about.", NAMES),
        each_tick=_need_changes("What standing there adds in each tick, in a world with needs."),
    )


def item_schema() -> Schema:
    """Return the schema of a kind of item."""
    use = _need_changes("What using one adds; food has a negative hunger.")
    return table(
        "An item that can be carried.",
        use=use,
        lasts=number("It decays: in each tick one of so many, on average.", 1),
        becomes=amounts("What is there instead of one that has decayed; nothing if left out."),
    )


def _need_changes(description: str) -> Schema:
    changes = changes_schema(description)
    changes["properties"] = {
        "hunger": number("To hunger.", -NEED_MOST, NEED_MOST),
        "energy": number("To energy.", -NEED_MOST, NEED_MOST),
    }
    return changes


def own_need_schema() -> Schema:
    """Return the schema of a need of the world's own."""
    return table(
        "A need from 0 to 1000.",
        begins=number("The value with which actors begin; 1000 if left out.", 0, NEED_MOST),
        each_tick=number("What each tick adds.", -NEED_MOST, NEED_MOST),
        at_night=number("What each tick of the night adds besides.", -NEED_MOST, NEED_MOST),
        in_weather=changes_schema("What each tick of a kind of weather adds besides."),
        at_zero=changes_schema("What it adds to own needs in each tick in which it is 0."),
        incapacitates=truth("Whether it incapacitates at 0, as hunger does at 1000.", default=False),
    )


def changes_schema(description: str) -> Schema:
    """Return the schema of what is added to needs, or by kinds of weather."""
    return named(description, number("What is added.", -NEED_MOST, NEED_MOST))


def kind_schema() -> Schema:
    """Return the schema of a kind of object."""
    blocks = {
        "walkable": truth("Whether actors can step there.", default=True),
        "opaque": truth("Whether it blocks sight.", default=False),
        "actions": named("What can be done with it, by verbs.", _action()),
        "light": number("How far it shines when it is dark.", 1, int(MAX_RADIUS.maximum)),
        "each_tick": _need_changes("What it adds in each tick to the needs of those on its tile and beside it."),
    }
    change = table(
        "The state does not last.",
        to=name("The state after it."),
        ticks=number("How long it lasts.", 1),
        spread=number("How many ticks more, by chance.", 0),
    )
    stock = table(
        "Items that can be picked up there, and grow back.",
        item=name("The item."),
        most=number("How many there are at most.", 1),
        ticks=number("Until one more has grown, or what is left has doubled; 0: never.", 0),
        spread=number("How many ticks more, by chance.", 0),
        doubles=truth("Whether what is left doubles instead; of nothing comes nothing.", default=False),
    )
    return table(
        "A kind of object; its first state is the one in which objects begin.",
        states=named("Its states.", table("A state.", **blocks, change=change)),
        tags=said("What else is known of it.", NAMES),
        stock=stock,
        holds=number("How many items it holds; actors put items in and take them out.", 1),
        sells=named("What it sells: items, each with the price of one.", amounts("The price of one.")),
        buys=named("What it buys: items, each with the price of one.", amounts("The price of one.")),
        hours=hours("When it buys and sells"),
        build=_build(),
        size=said("Its tiles from west to east, and from north to south.", SIZE),
        **blocks,
    )


def _action() -> Schema:
    return table(
        "What `Interact` with this verb does.",
        to=name("The state after it; the same if left out."),
        work=number("The number of steps.", 1),
        yields=amounts("What the actor of the last step gets."),
        removes=truth("Whether the object is gone after it.", default=False),
        **_takes(),
    )


def _build() -> Schema:
    most = number("How many more than at the beginning there can be at the same time.", 1)
    return table("What `Build` takes; what is built is in the first state.", most=most, **_takes())


def _takes() -> dict[str, Schema]:
    """What actions take, and when they can be done."""
    return {
        "needs": amounts("What must be carried and is kept."),
        "consumes": amounts("What must be carried and is used up by the last step."),
        "wears": amounts("Tools that must be carried; one breaks with the last step by a chance of 1 in so many."),
        "hours": hours("When it can be done"),
        "seasons": said("The seasons in which it can be done.", NAMES),
        "weather": said("The weather in which it can be done.", NAMES),
    }
