"""The JSON schema of scenario files, for editors. The readers are stricter: they know which names there are."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from tickmind.protocol import Direction
from tickmind.world.scenario.limits import (
    MAX_AGENT_SETTING_CHARS,
    MAX_AGENT_SETTINGS,
    MAX_LINES,
    MAX_NAME_CHARS,
    MAX_OBJECT_SIDE,
    MAX_PROSE_CHARS,
    MAX_RADIUS,
    MAX_SCORE,
    MAX_SEED,
    MAX_SPRITE_CHARS,
    MAX_THINKING_TICKS,
)
from tickmind.world.scenario.settings import NEED_MOST, SIGHT_RULES

Schema: TypeAlias = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema(others: Mapping[str, Any] | None = None) -> Schema:
    """Return the schema; `others` are properties of sections that belong to other parts, such as `agents`."""
    schema = _table(
        "A world of tiles: its map, what is in it, and who lives there.",
        world=_name("The name of the world."),
        seed=_number("Of all chance in a run; --seed goes before it.", 0, MAX_SEED),
        thinking=_table(
            "How long thoughts take.",
            ticks=_number("After how many a reply of a model takes effect.", 1, int(MAX_THINKING_TICKS.maximum)),
        ),
        rules=_rules(),
        floors=_named("Kinds of floor.", _floor()),
        items=_named("What can be carried.", _item()),
        kinds=_named("Kinds of objects.", _kind()),
        map={
            "description": "A drawing whose signs are in `legend`, a size and a floor, or a map of the editor Tiled.",
            "anyOf": [_TEXT, _plain_map(), _tiled_map()],
        },
        legend=_named("What the signs of the map stand for.", {"anyOf": [_TEXT, _sign()]}),
        objects=_list("Objects by their places.", _object()),
        ground=_list("Items that lie on the ground.", _heap()),
        zones=_named("Named places.", _zone()),
        calendar=_calendar(),
        persona_files={
            "description": "Files of personas beside the scenario, or the paths with what they hold.",
            "anyOf": [
                _NAMES,
                {"type": "object", "additionalProperties": _named("The personas of a file.", _persona())},
            ],
        },
        personas=_named("Who actors are, by their ids or by names of your own.", _persona()),
        actors=_list("Who lives there.", _actor(scattered=True)),
        own_rules=_said("Rules of your own: entry points of the group tickmind.rules, by their names.", _NAMES),
        goals=_named("What can be reached, with a score or as the end of the run.", _goal()),
    )
    schema["properties"] |= dict(others or {})
    return {"$schema": DIALECT, "title": "tickmind scenario", **schema, "required": ["world", "floors", "map"]}


_TEXT: Schema = {"type": "string"}
_NAMES: Schema = {"type": "array", "items": _TEXT}
_LINES: Schema = {"anyOf": [_TEXT, _NAMES]}
_PLACE: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
_SIZE: Schema = {
    "type": "array",
    "items": {"type": "integer", "minimum": 1, "maximum": int(MAX_OBJECT_SIDE.maximum)},
    "minItems": 2,
    "maxItems": 2,
}
_RECTANGLE: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 4, "maxItems": 4}


def _table(description: str, **properties: Schema) -> Schema:
    return {
        "description": description,
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": False,
    }


def _named(description: str, value: Schema) -> Schema:
    return {"description": description, "type": ["object", "null"], "additionalProperties": value}


def _list(description: str, value: Schema) -> Schema:
    return {"description": description, "type": "array", "items": value}


def _name(description: str) -> Schema:
    return {"description": description, "type": "string", "minLength": 1, "maxLength": int(MAX_NAME_CHARS.maximum)}


def _prose(description: str) -> Schema:
    return {"description": description, "type": "string", "maxLength": int(MAX_PROSE_CHARS.maximum)}


def _number(description: str, least: int, most: int | None = None) -> Schema:
    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return {"description": description, "type": "integer", **bounds}


def _truth(description: str, *, default: bool) -> Schema:
    return {"description": description, "type": "boolean", "default": default}


def _said(description: str, schema: Schema) -> Schema:
    return {"description": description, **schema}


def _amounts(description: str) -> Schema:
    return {
        "description": description,
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 1},
    }


def _hours(description: str) -> Schema:
    return {"description": f'{description}, as ["08:00", "18:00"].', **_NAMES, "minItems": 2, "maxItems": 2}


def _rules() -> Schema:
    needs = _table(
        "How actors tire and hunger.",
        hunger_per_tick=_number("What hunger grows by.", 0, NEED_MOST),
        energy_per_tick=_number("What energy falls by.", 0, NEED_MOST),
        rest_per_tick=_number("What energy rises by in sleep.", 0, NEED_MOST),
        wake_energy=_number("The energy from which one can wake.", 0, NEED_MOST),
        starvation=_truth("Whether hunger of 1000 incapacitates.", default=True),
    )
    return _table(
        "The rules of the world.",
        world_version={"description": "The set of rules.", "enum": list(SIGHT_RULES)},
        tick_duration_ms=_number("How long a tick takes.", 1, 3_600_000),
        intent_deadline_ms=_number("How long after its start a tick takes intents.", 1, 3_600_000),
        sight_radius=_number("How far actors see.", 1, int(MAX_RADIUS.maximum)),
        hearing_radius=_number("How far actors hear.", 0),
        inventory_limit=_number("How many items an actor carries.", 1),
        text_limit_chars=_number("How long a speech may be.", 1),
        rest_tag=_name("Uncontrolled actors fall asleep on objects with this tag."),
        needs=_said("How actors tire and hunger, or whether they do.", {"anyOf": [{"type": "boolean"}, needs]}),
        offer_ticks=_number("How many ticks an offer stands.", 1),
        night_sight_radius=_number("How far actors see at night, but for what is lit.", 0, int(MAX_RADIUS.maximum)),
        gifts_need_consent=_truth("Whether a gift is an offer that must be accepted.", default=False),
    )


def _floor() -> Schema:
    return _table(
        "A kind of floor.",
        walkable=_truth("Whether actors can step there.", default=True),
        opaque=_truth("Whether it blocks sight.", default=False),
        step_ticks=_number("How many ticks a step onto it takes.", 1),
        hazards=_said("Dangers that characters may care about.", _NAMES),
        each_tick=_need_changes("What standing there adds in each tick, in a world with needs."),
    )


def _item() -> Schema:
    use = _need_changes("What using one adds; food has a negative hunger.")
    return _table(
        "An item that can be carried.",
        use=use,
        lasts=_number("It decays: in each tick one of so many, on average.", 1),
        becomes=_amounts("What is there instead of one that has decayed; nothing if left out."),
    )


def _need_changes(description: str) -> Schema:
    return _table(
        description,
        hunger=_number("To hunger.", -NEED_MOST, NEED_MOST),
        energy=_number("To energy.", -NEED_MOST, NEED_MOST),
    )


def _kind() -> Schema:
    blocks = {
        "walkable": _truth("Whether actors can step there.", default=True),
        "opaque": _truth("Whether it blocks sight.", default=False),
        "actions": _named("What can be done with it, by verbs.", _action()),
        "light": _number("How far it shines when it is dark.", 1, int(MAX_RADIUS.maximum)),
    }
    change = _table(
        "The state does not last.",
        to=_name("The state after it."),
        ticks=_number("How long it lasts.", 1),
        spread=_number("How many ticks more, by chance.", 0),
    )
    stock = _table(
        "Items that can be picked up there, and grow back.",
        item=_name("The item."),
        most=_number("How many there are at most.", 1),
        ticks=_number("Until one more has grown; 0: never.", 0),
        spread=_number("How many ticks more, by chance.", 0),
    )
    return _table(
        "A kind of object; its first state is the one in which objects begin.",
        states=_named("Its states.", _table("A state.", **blocks, change=change)),
        tags=_said("What else is known of it.", _NAMES),
        stock=stock,
        holds=_number("How many items it holds; actors put items in and take them out.", 1),
        sells=_named("What it sells: items, each with the price of one.", _amounts("The price of one.")),
        buys=_named("What it buys: items, each with the price of one.", _amounts("The price of one.")),
        hours=_hours("When it buys and sells"),
        build=_build(),
        size=_said("Its tiles from west to east, and from north to south.", _SIZE),
        **blocks,
    )


def _action() -> Schema:
    return _table(
        "What `Interact` with this verb does.",
        to=_name("The state after it; the same if left out."),
        work=_number("The number of steps.", 1),
        yields=_amounts("What the actor of the last step gets."),
        removes=_truth("Whether the object is gone after it.", default=False),
        **_takes(),
    )


def _build() -> Schema:
    most = _number("How many more than at the beginning there can be at the same time.", 1)
    return _table("What `Build` takes; what is built is in the first state.", most=most, **_takes())


def _takes() -> dict[str, Schema]:
    """What actions take, and when they can be done."""
    return {
        "needs": _amounts("What must be carried and is kept."),
        "consumes": _amounts("What must be carried and is used up by the last step."),
        "wears": _amounts("Tools that must be carried; one breaks with the last step by a chance of 1 in so many."),
        "hours": _hours("When it can be done"),
        "seasons": _said("The seasons in which it can be done.", _NAMES),
        "weather": _said("The weather in which it can be done.", _NAMES),
    }


def _plain_map() -> Schema:
    return _table(
        "A map without a drawing.",
        width=_number("Tiles from west to east.", 1),
        height=_number("Tiles from north to south.", 1),
        floor=_name("The floor of all tiles."),
    )


def _tiled_map() -> Schema:
    return _table(
        "A map that was drawn with Tiled.",
        tiled=_said(
            "Its file (.tmx or .tmj) in the folder of the scenario; in a scenario that a run keeps, what was in it.",
            {"anyOf": [_TEXT, {"type": "object"}]},
        ),
        floor=_name("The floor where no tile says one."),
    )


def _sign() -> Schema:
    return _table(
        "A floor and what stands on it.",
        floor=_name("The floor."),
        object=_name("The kind of an object there."),
        state=_name("The state of the object."),
        stock=_number("The stock of the object.", 0),
        owner=_name("The actor that the object belongs to."),
        contents=_amounts("What the object holds."),
        ground=_amounts("Items that lie there."),
        actor=_actor(scattered=False),
    )


def _object() -> Schema:
    return _table(
        "An object.",
        id=_name("Its name; {n} stands for a number."),
        kind=_name("Its kind."),
        at=_said("Its tile, as [x, y].", _PLACE),
        state=_name("Its state."),
        stock=_number("Its stock.", 0),
        owner=_name("The actor that it belongs to; in a container others only buy and sell."),
        contents=_amounts("What it holds."),
    )


def _heap() -> Schema:
    return _table(
        "Items on a tile.",
        item=_name("The item."),
        amount=_number("How many there are.", 1),
        at=_said("The tile, as [x, y].", _PLACE),
    )


def _zone() -> Schema:
    return _table(
        "A named place.",
        within=_said(
            "Its rectangles as [x, y, x, y], the north-west corner first.",
            {"anyOf": [_RECTANGLE, {"type": "array", "items": _RECTANGLE}]},
        ),
        owner=_name("The actor that it belongs to."),
        purpose=_prose("What it is for."),
    )


def _calendar() -> Schema:
    weather = _amounts("Kinds of weather with their weights; each day has one, by the seed.")
    season = _table("A season.", days=_number("How many days it has.", 1), weather=weather)
    festival = _table(
        "A festival.",
        day=_number("The day of the first one, from 1.", 1),
        every=_number("After how many days it comes again; once if left out.", 1),
        hours=_hours("When it is on"),
        where=_name("The zone that it is in."),
        purpose=_prose("What it is for."),
    )
    return _table(
        "How ticks make days, and what days there are.",
        day_ticks=_number("The number of ticks in a day.", 1),
        begins={"description": 'The time of the day when the world begins, as "07:00".', "type": "string"},
        night=_hours("When it is night"),
        seasons=_named(
            "Seasons in their order, again and again: days, or days and a weather of their own.",
            {"anyOf": [{"type": "integer", "minimum": 1}, season]},
        ),
        weather=weather,
        festivals=_named("Festivals, by their names.", festival),
    )


def _goal() -> Schema:
    who = _table(
        "The actors that it is about: all of the tags, one of the types, one of the ids.",
        tags=_said("Tags that they have.", _LINES),
        type=_said("Their type, or several.", _LINES),
        id=_said("Their id, or several.", _LINES),
    )
    return _table(
        "One condition, and what reaching it brings.",
        who=who,
        all_in=_name("The zone in which all of them stand at the same time."),
        each_in=_name("The zone in which each of them stands for the first time."),
        carry=_amounts("What each of them carries for the first time."),
        object=_name("The object that is in `state`."),
        state=_name("The state of `object`."),
        tick=_number("The tick that has come.", 1),
        day=_number("The day that has come; with `clock`, the time of that day.", 1),
        clock={"description": 'The time of the day, as "06:00"; midnight if left out.', "type": "string"},
        score=_number("What each of `who` gets, or the world.", -int(MAX_SCORE.maximum), int(MAX_SCORE.maximum)),
        ends=_truth("Whether the run ends with the tick in which it is reached.", default=False),
    )


def _persona() -> Schema:
    return _table(
        "Who an actor is.",
        name=_name("The name that people use."),
        age=_number("In years.", 0),
        traits=_said("Words for the character.", _LINES),
        backstory=_prose("What happened before."),
        voice=_prose("How it speaks."),
        goals=_said("What it wants.", _LINES),
        fears=_said("What it is afraid of.", _LINES),
        knows=_said("What it knows at the beginning.", _LINES),
        home=_name("The zone that it lives in."),
        work=_name("The zone that it works in."),
        relations={"description": "What others are to it.", "type": "object", "additionalProperties": _TEXT},
        habits=_said("What it does at which time.", _LINES),
        colour={"description": "In a viewer.", "type": "string", "pattern": "^#[0-9a-fA-F]{6}$"},
        team=_name("Its team."),
        sprite={
            "description": "What a viewer draws for it: a letter or an emoji.",
            "type": "string",
            "minLength": 1,
            "maxLength": int(MAX_SPRITE_CHARS.maximum),
        },
        agent=_agent(),
    )


def _agent() -> Schema:
    text = {"type": "string", "maxLength": int(MAX_AGENT_SETTING_CHARS.maximum)}
    texts = {"type": "array", "items": text, "maxItems": int(MAX_LINES.maximum)}
    return {
        "description": "Settings for the program that controls it.",
        "type": ["object", "null"],
        "additionalProperties": {"anyOf": [text, {"type": ["number", "boolean"]}, texts]},
        "maxProperties": int(MAX_AGENT_SETTINGS.maximum),
    }


def _time(description: str) -> Schema:
    return _table(
        description,
        tick=_number("The tick.", 1),
        day=_number("The day, from 1.", 1),
        clock=_name('The time of the day, as "08:00".'),
    )


def _actor(*, scattered: bool) -> Schema:
    places = {
        "at": _said("Its tile, as [x, y].", _PLACE),
        "count": _number("How many there are; without `at`.", 1),
        "within": _said("The rectangle in which they begin, as [x, y, x, y]; without `at`.", _RECTANGLE),
    }
    return _table(
        "An actor.",
        id=_name("Its name; {n} stands for a number."),
        type=_name("What it is; assignments go by it."),
        tags=_said("What else is known of it.", _NAMES),
        facing={"description": "Where it looks.", "enum": list(Direction.__members__)},
        inventory=_amounts("What it carries."),
        energy=_number("From 0 to 1000.", 0, NEED_MOST),
        hunger=_number("From 0 to 1000.", 0, NEED_MOST),
        agent=_agent(),
        arrives=_time("When it comes into the world; from the beginning if left out."),
        leaves=_time("When it leaves the world; never if left out."),
        persona=_said("Who it is, or the name of a persona.", {"anyOf": [_TEXT, _persona()]}),
        **(places if scattered else {}),
    )
