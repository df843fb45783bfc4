"""The sections of a scenario that name places and people: `zones` and `personas`."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import TypeAlias

from tickmind.protocol.setting import MAX_AGE, AgentSetting, Area, Persona, ZoneInfo
from tickmind.world.scenario.limits import (
    MAX_AGENT_SETTING_CHARS,
    MAX_AGENT_SETTINGS,
    MAX_AREAS,
    MAX_LINES,
    MAX_PEOPLE_CHARS,
    MAX_PROSE_CHARS,
    MAX_SPRITE_CHARS,
    MAX_ZONES,
)
from tickmind.world.scenario.readers.kind_reader import known
from tickmind.world.scenario.readers.map_reader import Land
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, YamlMapping, leaf, many, table

_JOINER = "\u200d"  # of which many emoji are made
_PART = r"\S[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*"  # with the form or the colour of an emoji
_SIGN = re.compile(rf"[\U0001f1e6-\U0001f1ff]{{2}}|{_PART}(?:{_JOINER}{_PART})*")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?")
MAX_WHOLE = 2**53  # larger ones are not exact in every JSON reader
AgentSettings: TypeAlias = tuple[tuple[str, AgentSetting], ...]
_PERSONA_KEYS = tuple(field.name for field in fields(Persona))


def read_zones(node: Node | None, land: Land) -> tuple[ZoneInfo, ...]:
    """The section `zones`: names with rectangles, an owner and a purpose, in the order of the file."""
    if node is None:
        return ()
    given = table(node)
    if not MAX_ZONES.allows(len(given.entries)):
        given.place.fail(f"more than {MAX_ZONES.maximum} zones")
    zones = []
    for name, place, entry in given.named():
        with place.source.noting():
            zone = table(entry)
            zone.nothing_but("within", "owner", "purpose")
            zones.append(
                ZoneInfo(
                    name,
                    _read_areas(zone.need("within"), land),
                    zone.name("owner", ""),
                    read_prose(zone.get("purpose")),
                )
            )
    return tuple(zones)


def _read_areas(node: Node, land: Land) -> tuple[Area, ...]:
    """One rectangle as `[x, y, x, y]`, or a list of them."""
    given = many(node)
    several = given.items if given.items and isinstance(given.items[0], Many) else (given,)
    if not MAX_AREAS.allows(len(several)):
        given.place.fail(f"more than {MAX_AREAS.maximum} rectangles")
    return tuple(_read_area(many(each), land) for each in several)


def _read_area(given: Many, land: Land) -> Area:
    if len(given.items) != 4:
        given.place.fail("expected two corners as [x, y, x, y], or a list of such rectangles")
    west, east = (leaf(given.items[at]).integer(0, land.width - 1) for at in (0, 2))
    north, south = (leaf(given.items[at]).integer(0, land.height - 1) for at in (1, 3))
    if west > east or north > south:
        given.place.fail("expected the north-west corner first, then the south-east one")
    return west, north, east, south


def check_owners(node: Node | None, actors: Collection[str]) -> None:
    """Note each zone whose owner is no actor."""
    for _, place, entry in table(node).named() if node is not None else ():
        with place.source.noting():
            owner = table(entry).get("owner")
            if owner is not None:
                known(owner, actors, "actor")


def check_size(given: YamlMapping, personas: Iterable[Persona | None]) -> None:
    """Note personas that are too long for as many actors as have them: each controller and viewer gets them."""
    chars = sum(len(repr(persona)) for persona in personas if persona is not None)
    if not MAX_PEOPLE_CHARS.allows(chars):
        place = given.keys.get("personas", given.place)
        place.note(
            f"all actors together have {chars:,} characters of personas; {MAX_PEOPLE_CHARS.maximum:,} are allowed"
        )


class PersonaReader:
    """Reads the section `personas`, and finds the one of each actor: by `persona: NAME`, or by the actor's own id.

    `shared` are the personas of files. They know other worlds too: a home or a work that is no zone here is left out.
    """

    def __init__(
        self, section: Node | None, zones: Collection[str], shared: Iterable[tuple[str, YamlMapping]] = ()
    ) -> None:
        self._zones = zones
        self._personas: dict[str, Persona] = {}
        self._own: dict[str, YamlMapping] = {}  # name -> persona of the section
        self._used: dict[int, YamlMapping] = {}  # id of the mapping -> persona in the scenario that an actor has
        for name, place, entry in table(section).named() if section is not None else ():
            with place.source.noting():
                self._own[name] = table(entry)
                self._personas[name] = self._read(self._own[name])
        self._read_shared(shared)

    def _read_shared(self, shared: Iterable[tuple[str, YamlMapping]]) -> None:
        files: dict[str, tuple[str, int]] = {}  # persona -> path and line of the file that it is in
        for path, people in shared:
            for name, place, entry in people.named():
                with place.source.noting():
                    if name in files:
                        other, line = files[name]
                        place.fail(f"the persona {name!r} of {path} is in {other} too, in line {line}; rename one")
                    files[name] = path, place.line
                    persona = self._read(table(entry), everywhere=True)
                    self._personas.setdefault(name, persona)

    def of(self, entity_id: str, node: Node | None, agent: Node | None = None) -> Persona | None:
        """Return who an actor is, with settings of its own for its agent; None if the scenario says neither."""
        persona = self._of(entity_id, node)
        if agent is None:
            return persona
        given = {} if persona is None else dict(persona.agent)
        settings = _few_settings(agent, {**given, **dict(_agent_settings(agent))})
        return replace(persona or Persona(), agent=settings)

    def _of(self, entity_id: str, node: Node | None) -> Persona | None:
        if isinstance(node, YamlMapping):
            self._used[id(node)] = node
            return self._read(node)
        name = entity_id if node is None else known(node, self._personas, "persona")
        if name in self._own:
            self._used[id(self._own[name])] = self._own[name]
        return self._personas.get(name)

    def check_relations(self, actors: Collection[str], *, is_kept: bool) -> None:
        """Note each relation to no actor, in personas of the scenario that an actor has.

        The text that a run keeps may be from before this was a mistake.
        """
        if is_kept:
            return
        wrong = [
            (who, place)
            for relations in (given.get("relations") for given in self._used.values())
            if isinstance(relations, YamlMapping)
            for who, place in relations.keys.items()
            if who not in actors
        ]
        there = ", ".join(sorted(actors)[:20]) if wrong else ""
        for who, place in wrong:
            place.note(f"there is no actor {who!r}; there are: {there}")

    def _read(self, given: YamlMapping, *, everywhere: bool = False) -> Persona:
        """Read a persona of this world, or one for worlds everywhere."""
        given.nothing_but(*_PERSONA_KEYS)
        relations = given.get("relations")
        if relations is not None and not MAX_LINES.allows(len(table(relations).entries)):
            relations.place.fail(f"more than {MAX_LINES.maximum} relations")
        colour = given.get("colour")
        if colour is not None and _COLOUR.fullmatch(leaf(colour).text) is None:
            colour.place.fail('expected a colour as "#c04040", in quotes')
        return Persona(
            name=given.name("name", ""),
            age=given.integer("age", 0, 0, MAX_AGE),
            traits=_lines(given.get("traits")),
            backstory=read_prose(given.get("backstory")),
            voice=read_prose(given.get("voice")),
            goals=_lines(given.get("goals")),
            fears=_lines(given.get("fears")),
            knows=_lines(given.get("knows")),
            home=self._zone(given.get("home"), everywhere),
            work=self._zone(given.get("work"), everywhere),
            relations=tuple((who, read_prose(what)) for who, _, what in table(relations).named()) if relations else (),
            habits=_lines(given.get("habits")),
            colour=leaf(colour).text if colour is not None else "",
            team=given.name("team", ""),
            sprite=_sprite(given.get("sprite")),
            agent=_agent_settings(given.get("agent")),
            secret=read_prose(given.get("secret")),
        )

    def _zone(self, node: Node | None, everywhere: bool) -> str:
        if node is None or (everywhere and leaf(node).name() not in self._zones):
            return ""
        return known(node, self._zones, "zone")


def _sprite(node: Node | None) -> str:
    """One letter or emoji, which may be made of several characters."""
    if node is None:
        return ""
    sign = leaf(node).text
    is_one = _SIGN.fullmatch(sign) is not None and unicodedata.category(sign[0])[0] not in "CMZ"
    if not is_one or not MAX_SPRITE_CHARS.allows(len(sign)) or not sign.replace(_JOINER, "").isprintable():
        node.place.fail('expected one letter or emoji, in quotes, such as "A"')
    return sign


def _agent_settings(node: Node | None) -> AgentSettings:
    """Settings for the program of a character: names with texts, numbers, truth values or lists of texts."""
    if node is None:
        return ()
    return _few_settings(node, {name: _agent_setting(value) for name, _, value in table(node).named()})


def _few_settings(node: Node, settings: Mapping[str, AgentSetting]) -> AgentSettings:
    if not MAX_AGENT_SETTINGS.allows(len(settings)):
        node.place.fail(f"more than {MAX_AGENT_SETTINGS.maximum} settings for an agent")
    return tuple(settings.items())


def _agent_setting(node: Node) -> AgentSetting:
    if isinstance(node, Many):
        if not MAX_LINES.allows(len(node.items)):
            node.place.fail(f"more than {MAX_LINES.maximum} texts")
        return tuple(_agent_text(leaf(item)) for item in node.items)
    given = leaf(node)
    if given.plain and given.text in ("true", "false"):
        return given.truth()
    if given.plain and _NUMBER.fullmatch(given.text):
        if _WHOLE.fullmatch(given.text):
            return given.integer(-MAX_WHOLE, MAX_WHOLE)
        return float(given.text)
    if given.plain and not given.text:
        given.place.fail('expected a text, a number, true, false or a list of texts; an empty text is ""')
    return _agent_text(given)


def _agent_text(given: Leaf) -> str:
    if not given.text.replace(_JOINER, "").isprintable() or not MAX_AGENT_SETTING_CHARS.allows(len(given.text)):
        given.place.fail(f"expected a text of at most {MAX_AGENT_SETTING_CHARS.maximum} printable characters")
    return given.text


def _lines(node: Node | None) -> tuple[str, ...]:
    """A list of texts, or one text."""
    if node is None:
        return ()
    items = node.items if isinstance(node, Many) else (node,)
    if not MAX_LINES.allows(len(items)):
        node.place.fail(f"more than {MAX_LINES.maximum} lines")
    lines = tuple(read_prose(item) for item in items)
    if "" in lines:
        items[lines.index("")].place.fail("expected a text, found nothing")
    return lines


def read_prose(node: Node | None) -> str:
    """A text for people and models, on one line."""
    if node is None:
        return ""
    text = " ".join(leaf(node).text.split())
    if not text.replace(_JOINER, "").isprintable() or not MAX_PROSE_CHARS.allows(len(text)):
        node.place.fail(f"expected a text of at most {MAX_PROSE_CHARS.maximum} printable characters")
    return text
