"""Schemas of actors and personas."""

from tickmind.protocol import Direction
from tickmind.world.scenario.json_schema.parts import (
    LINES,
    NAMES,
    PLACE,
    RECTANGLE,
    TEXT,
    Schema,
    amounts,
    name,
    named,
    number,
    prose,
    said,
    table,
)
from tickmind.world.scenario.limits import MAX_AGENT_SETTING_CHARS, MAX_AGENT_SETTINGS, MAX_LINES, MAX_SPRITE_CHARS
from tickmind.world.scenario.settings import NEED_MOST


def persona_schema() -> Schema:
    """Return the schema of a persona."""
    return table(
        "Who an actor is.",
        name=name("The name that people use."),
        age=number("In years.", 0),
        traits=said("Words for the character.", LINES),
        backstory=prose("What happened before."),
        voice=prose("How it speaks."),
        goals=said("What it wants.", LINES),
        fears=said("What it is afraid of.", LINES),
        knows=said("What it knows at the beginning.", LINES),
        secret=prose("What it tells none but close friends."),
        home=name("The zone that it lives in."),
        work=name("The zone that it works in."),
        relations={"description": "What others are to it.", "type": "object", "additionalProperties": TEXT},
        habits=said("What it does at which time.", LINES),
        colour={"description": "In a viewer.", "type": "string", "pattern": "^#[0-9a-fA-F]{6}$"},
        team=name("Its team."),
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
    return table(
        description,
        tick=number("The tick.", 1),
        day=number("The day, from 1.", 1),
        clock=name('The time of the day, as "08:00".'),
    )


def actor_schema(*, scattered: bool) -> Schema:
    """Return the schema of an actor, or of several that are scattered over the map."""
    places = {
        "at": said("Its tile, as [x, y].", PLACE),
        "count": number("How many there are; without `at`.", 1),
        "within": said("The rectangle in which they begin, as [x, y, x, y]; without `at`.", RECTANGLE),
    }
    return table(
        "An actor.",
        id=name("Its name; {n} stands for a number."),
        type=name("What it is; assignments go by it."),
        tags=said("What else is known of it.", NAMES),
        facing={"description": "Where it looks.", "enum": list(Direction.__members__)},
        inventory=amounts("What it carries."),
        energy=number("From 0 to 1000.", 0, NEED_MOST),
        hunger=number("From 0 to 1000.", 0, NEED_MOST),
        needs=named("The values with which own needs begin.", number("From 0 to 1000.", 0, NEED_MOST)),
        agent=_agent(),
        arrives=said(
            "When it comes into the world; the beginning if left out. never: only a rule or an operator brings it.",
            {"anyOf": [{"const": "never"}, _time("The time.")]},
        ),
        leaves=_time("When it leaves the world; never if left out."),
        persona=said("Who it is, or the name of a persona.", {"anyOf": [TEXT, persona_schema()]}),
        **(places if scattered else {}),
    )
