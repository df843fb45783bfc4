"""The schema of a whole scenario file."""

from collections.abc import Mapping
from typing import Any

from tickmind.world.scenario.json_schema.kinds import (
    changes_schema,
    floor_schema,
    item_schema,
    kind_schema,
    own_need_schema,
)
from tickmind.world.scenario.json_schema.parts import (
    LINES,
    NAMES,
    PLACE,
    RECTANGLE,
    TEXT,
    Schema,
    amounts,
    hours,
    listed,
    name,
    named,
    number,
    prose,
    said,
    table,
    truth,
)
from tickmind.world.scenario.json_schema.people import actor_schema, persona_schema
from tickmind.world.scenario.limits import MAX_OWN_NEEDS, MAX_RADIUS, MAX_SCORE, MAX_SEED, MAX_THINKING_TICKS
from tickmind.world.scenario.settings import NEED_MOST, SIGHT_RULES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema(others: Mapping[str, Any] | None = None) -> Schema:
    """Return the schema; `others` are properties of sections that belong to other parts, such as `agents`."""
    schema = table(
        "A world of tiles: its map, what is in it, and who lives there.",
        world=name("The name of the world."),
        seed=number("Of all chance in a run; --seed goes before it.", 0, MAX_SEED),
        thinking=table(
            "How long thoughts take.",
            ticks=number("After how many a reply of a model takes effect.", 1, int(MAX_THINKING_TICKS.maximum)),
        ),
        rules=_rules(),
        floors=named("Kinds of floor.", floor_schema()),
        items=named("What can be carried.", item_schema()),
        kinds=named("Kinds of objects.", kind_schema()),
        map={
            "description": "A drawing whose signs are in `legend`, a size and a floor, or a map of the editor Tiled.",
            "anyOf": [TEXT, _plain_map(), _tiled_map()],
        },
        legend=named("What the signs of the map stand for.", {"anyOf": [TEXT, _sign()]}),
        objects=listed("Objects by their places.", _object()),
        ground=listed("Items that lie on the ground.", _heap()),
        zones=named("Named places.", _zone()),
        calendar=_calendar(),
        persona_files={
            "description": "Files of personas beside the scenario, or the paths with what they hold.",
            "anyOf": [
                NAMES,
                {"type": "object", "additionalProperties": named("The personas of a file.", persona_schema())},
            ],
        },
        personas=named("Who actors are, by their ids or by names of your own.", persona_schema()),
        actors=listed("Who lives there.", actor_schema(scattered=True)),
        own_rules=said("Rules of your own: entry points of the group tickmind.rules, by their names.", NAMES),
        interventions=listed("What is changed from outside, and in which ticks.", _intervention()),
        goals=named("What can be reached, with a score or as the end of the run.", _goal()),
    )
    schema["properties"] |= dict(others or {})
    return {"$schema": DIALECT, "title": "tickmind scenario", **schema, "required": ["world", "floors", "map"]}


def _rules() -> Schema:
    needs = table(
        "How actors tire and hunger.",
        hunger_per_tick=number("What hunger grows by.", 0, NEED_MOST),
        energy_per_tick=number("What energy falls by.", 0, NEED_MOST),
        rest_per_tick=number("What energy rises by in sleep.", 0, NEED_MOST),
        wake_energy=number("The energy from which one can wake.", 0, NEED_MOST),
        starvation=truth("Whether hunger of 1000 incapacitates.", default=True),
        own=named("Needs of your own, by their names.", own_need_schema())
        | {"maxProperties": int(MAX_OWN_NEEDS.maximum)},
        when_starving=changes_schema("What hunger of 1000 adds to own needs in each tick."),
    )
    return table(
        "The rules of the world.",
        world_version={"description": "The set of rules.", "enum": list(SIGHT_RULES)},
        tick_duration_ms=number("How long a tick takes.", 1, 3_600_000),
        intent_deadline_ms=number("How long after its start a tick takes intents.", 1, 3_600_000),
        sight_radius=number("How far actors see.", 1, int(MAX_RADIUS.maximum)),
        hearing_radius=number("How far actors hear.", 0),
        inventory_limit=number("How many items an actor carries.", 1),
        text_limit_chars=number("How long a speech may be.", 1),
        rest_tag=name("Uncontrolled actors fall asleep on objects with this tag."),
        needs=said("How actors tire and hunger, or whether they do.", {"anyOf": [{"type": "boolean"}, needs]}),
        offer_ticks=number("How many ticks an offer stands.", 1),
        night_sight_radius=number("How far actors see at night, but for what is lit.", 0, int(MAX_RADIUS.maximum)),
        gifts_need_consent=truth("Whether a gift is an offer that must be accepted.", default=False),
    )


def _plain_map() -> Schema:
    return table(
        "A map without a drawing.",
        width=number("Tiles from west to east.", 1),
        height=number("Tiles from north to south.", 1),
        floor=name("The floor of all tiles."),
    )


def _tiled_map() -> Schema:
    return table(
        "A map that was drawn with Tiled.",
        tiled=said(
            "Its file (.tmx or .tmj) in the folder of the scenario; in a scenario that a run keeps, what was in it.",
            {"anyOf": [TEXT, {"type": "object"}]},
        ),
        floor=name("The floor where no tile says one."),
    )


def _sign() -> Schema:
    return table(
        "A floor and what stands on it.",
        floor=name("The floor."),
        object=name("The kind of an object there."),
        state=name("The state of the object."),
        stock=number("The stock of the object.", 0),
        owner=name("The actor that the object belongs to."),
        contents=amounts("What the object holds."),
        ground=amounts("Items that lie there."),
        actor=actor_schema(scattered=False),
    )


def _object() -> Schema:
    return table(
        "An object.",
        id=name("Its name; {n} stands for a number."),
        kind=name("Its kind."),
        at=said("Its tile, as [x, y].", PLACE),
        state=name("Its state."),
        stock=number("Its stock.", 0),
        owner=name("The actor that it belongs to; in a container others only buy and sell."),
        contents=amounts("What it holds."),
    )


def _heap() -> Schema:
    return table(
        "Items on a tile.",
        item=name("The item."),
        amount=number("How many there are.", 1),
        at=said("The tile, as [x, y].", PLACE),
    )


def _zone() -> Schema:
    return table(
        "A named place.",
        within=said(
            "Its rectangles as [x, y, x, y], the north-west corner first.",
            {"anyOf": [RECTANGLE, {"type": "array", "items": RECTANGLE}]},
        ),
        owner=name("The actor that it belongs to."),
        purpose=prose("What it is for."),
    )


def _calendar() -> Schema:
    weather = amounts("Kinds of weather with their weights; each day has one, by the seed.")
    season = table("A season.", days=number("How many days it has.", 1), weather=weather)
    festival = table(
        "A festival.",
        day=number("The day of the first one, from 1.", 1),
        every=number("After how many days it comes again; once if left out.", 1),
        hours=hours("When it is on"),
        where=name("The zone that it is in."),
        purpose=prose("What it is for."),
    )
    return table(
        "How ticks make days, and what days there are.",
        day_ticks=number("The number of ticks in a day.", 1),
        begins={"description": 'The time of the day when the world begins, as "07:00".', "type": "string"},
        night=hours("When it is night"),
        seasons=named(
            "Seasons in their order, again and again: days, or days and a weather of their own.",
            {"anyOf": [{"type": "integer", "minimum": 1}, season]},
        ),
        weather=weather,
        festivals=named("Festivals, by their names.", festival),
    )


def _intervention() -> Schema:
    return table(
        "An actor has so many items after a tick, an object is in a state, or a rule holds from the tick on.",
        tick=number("The tick after which it is so.", 1),
        actor=name("The id of the actor."),
        item=name("The kind of items."),
        amount=number("How many of them it has.", 0),
        object=name("The id of the object."),
        state=name("The state of the object."),
        rule=name("The rule that changes: gifts_need_consent, inventory_limit, offer_ticks or text_limit_chars."),
        value=number("Its value; 1 is true, 0 is false.", 0),
    )


def _goal() -> Schema:
    who = table(
        "The actors that it is about: all of the tags, one of the types, one of the ids.",
        tags=said("Tags that they have.", LINES),
        type=said("Their type, or several.", LINES),
        id=said("Their id, or several.", LINES),
    )
    return table(
        "One condition, and what reaching it brings.",
        who=who,
        all_in=name("The zone in which all of them stand at the same time."),
        each_in=name("The zone in which each of them stands for the first time."),
        carry=amounts("What each of them carries for the first time."),
        object=name("The object that is in `state`."),
        state=name("The state of `object`."),
        tick=number("The tick that has come.", 1),
        day=number("The day that has come; with `clock`, the time of that day.", 1),
        clock={"description": 'The time of the day, as "06:00"; midnight if left out.', "type": "string"},
        score=number("What each of `who` gets, or the world.", -int(MAX_SCORE.maximum), int(MAX_SCORE.maximum)),
        ends=truth("Whether the run ends with the tick in which it is reached.", default=False),
    )
