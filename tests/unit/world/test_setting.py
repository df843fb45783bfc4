"""Places, calendar and people of a scenario: what they say, and how mistakes in them are named."""

import pytest

from tickmind.protocol import CalendarInfo, Persona, WorldSetting, WorldTime, ZoneInfo
from tickmind.world import ScenarioError, TileWorld, parse_scenario

VILLAGE = """\
world: hamlet
floors: {grass: {}}
map: {width: 12, height: 8, floor: grass}
calendar: {day_ticks: 96, begins: "06:30"}
zones:
  square: {within: [2, 2, 9, 5], purpose: where people meet}
  well: {within: [[4, 3, 5, 4], [8, 3, 8, 3]]}
  ada_house: {within: [0, 0, 1, 1], owner: ada}
personas:
  ada:
    name: Ada
    age: 41
    traits: [warm, curious]
    backstory: >
      Ada came over the hills
      ten years ago.
    voice: short, and to the point
    goals: [bake the best bread]
    fears: the river
    knows: [Bram owes her two coins]
    secret: She can't swim.
    home: ada_house
    work: square
    relations: {bram: her husband}
    habits: ["06:30 opens the shop"]
    colour: "#c04040"
    team: bakers
    sprite: "\U0001f9d1\U0001f3fd\u200d\U0001f373"
    agent: {greed: 3, pace: 0.5, shy: true, motto: "3", makes: [bread, cake]}
  drifter: {traits: [restless]}
actors:
  - {id: ada, at: [0, 0]}
  - {id: bram, at: [3, 3], persona: {name: Bram}}
  - {id: cleo, at: [4, 4], persona: drifter}
  - {id: dov, at: [11, 7]}
  - {id: "guest:{n}", count: 2, persona: drifter}
"""


def test_people_are_who_the_scenario_says():
    actors = {actor.entity_id: actor.persona for actor in TileWorld.from_scenario(parse_scenario(VILLAGE)).info.actors}
    ada = actors["ada"]
    assert ada == Persona(
        name="Ada",
        age=41,
        traits=("warm", "curious"),
        backstory="Ada came over the hills ten years ago.",
        voice="short, and to the point",
        goals=("bake the best bread",),
        fears=("the river",),
        knows=("Bram owes her two coins",),
        home="ada_house",
        work="square",
        relations=(("bram", "her husband"),),
        habits=("06:30 opens the shop",),
        colour="#c04040",
        team="bakers",
        sprite="\U0001f9d1\U0001f3fd\u200d\U0001f373",
        agent=(("greed", 3), ("pace", 0.5), ("shy", True), ("motto", "3"), ("makes", ("bread", "cake"))),
        secret="She can't swim.",
    )
    assert actors["bram"] == Persona(name="Bram")
    assert actors["cleo"] == actors["guest:1"] == actors["guest:2"] == Persona(traits=("restless",))
    assert actors["dov"] is None
    assert ada.description() == (
        "You are 41 years old. You are warm and curious. Ada came over the hills ten years ago. "
        "You live in the ada house. You work in the square. You speak like this: short, and to the point. "
        "You want: bake the best bread. "
        "You fear: the river. You know: Bram owes her two coins. You tell none but close friends: She can't swim. "
        "Your people: bram is her husband. "
        "Your days: 06:30 opens the shop."
    )


def test_places_are_found_by_tile_the_smallest_first():
    setting = parse_scenario(VILLAGE).setting
    names = {at: zone.name for at in [(0, 1), (2, 2), (4, 3), (8, 3), (9, 5)] if (zone := setting.zone_at(*at))}
    assert names == {(0, 1): "ada_house", (2, 2): "square", (4, 3): "well", (8, 3): "well", (9, 5): "square"}
    assert setting.zone_at(11, 7) is None
    assert setting.zone("square") == ZoneInfo("square", ((2, 2, 9, 5),), "", "where people meet")
    assert setting.zone("mill") is None


def test_ticks_make_days():
    calendar = parse_scenario(VILLAGE).setting.calendar
    assert calendar == CalendarInfo(96, 390)
    assert [str(calendar.at(tick)) for tick in (0, 1, 70, 166)] == [
        "day 1, 06:30", "day 1, 06:45", "day 2, 00:00", "day 3, 00:00",
    ]  # fmt: skip
    assert str(CalendarInfo().at(20)) == "day 1, 07:48"


def test_a_scenario_that_names_nothing_has_the_usual_day_and_no_place():
    plain = parse_scenario("world: w\nfloors: {grass: {}}\nmap: {width: 2, height: 2, floor: grass}\n")
    assert plain.setting == WorldSetting((), CalendarInfo(600, 420))
    assert plain.setting.calendar.at(0) == WorldTime(1, 420)


def test_who_and_where_changes_no_rule():
    bare = VILLAGE[: VILLAGE.index("calendar")] + VILLAGE[VILLAGE.index("actors") :].replace(
        ", persona: {name: Bram}", ", agent: {greed: 2}"
    ).replace(", persona: drifter", "")
    assert parse_scenario(bare).digest == parse_scenario(VILLAGE).digest


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("owner: ada", "owner: eve", "there is no actor 'eve'; there are: ada, bram"),
        ("home: ada_house", "home: mill", "there is no zone 'mill'; there are: ada_house, square, well"),
        ("persona: drifter}\n  - {id: dov", "persona: ghost}\n  - {id: dov", "there is no persona 'ghost'"),
        ("[2, 2, 9, 5]", "[2, 2, 12, 5]", "expected a whole number from 0 to 11, found '12'"),
        ("[2, 2, 9, 5]", "[9, 5, 2, 2]", "expected the north-west corner first"),
        ("[2, 2, 9, 5]", "[2, 2, 9]", "expected two corners as [x, y, x, y]"),
        ('"06:30"}', '"6 am"}', "expected a time of the day as"),
        ("day_ticks: 96", "day_ticks: 0", "expected a whole number from 1"),
        ("age: 41", "age: old", "expected a whole number from 0"),
        ('"#c04040"', "red", "expected a colour as"),
        ("voice:", "vioce:", "unknown key 'vioce' (did you mean 'voice'?)"),
        ("the river", "the " + 3000 * "r" + "iver", "expected a text of at most 2000 printable characters"),
        ("purpose: where people meet", "purpose: [a]", "expected a single value, found a list"),
        ("[warm, curious]", '[""]', "expected a text, found nothing"),
        ("greed: 3", "greed: ", 'expected a text, a number, true, false or a list of texts; an empty text is ""'),
        ("greed: 3", "greed: {a: 1}", "expected a single value, found a mapping"),
        ("greed: 3", f"greed: {2**53 + 1}", "expected a whole number from -9007199254740992"),
        ("greed: 3", f"greed: {201 * 'x'}", "expected a text of at most 200 printable characters"),
        ("[bread, cake]", "[bread, [cake]]", "expected a single value, found a list"),
        ("[bread, cake]", f"[{', '.join(33 * 'x')}]", "more than 32 texts"),
        ("greed: 3", ", ".join(f"a{n}: 1" for n in range(29)), "more than 32 settings for an agent"),
        ("{bram: her husband}", "{" + ", ".join(f"a{n}: x" for n in range(33)) + "}", "more than 32 relations"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    assert old in VILLAGE
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(VILLAGE.replace(old, new, 1))
    assert says in str(caught.value)


def test_an_actor_without_a_place_is_who_it_is_as_well():
    scattered = VILLAGE.replace("  - {id: ada, at: [0, 0]}", "  - {id: ada}")
    actors = {actor.entity_id: actor.persona for actor in parse_scenario(scattered).actors}
    assert actors["ada"] is not None
    assert actors["ada"].name == "Ada"


@pytest.mark.parametrize("sign", ["A", "é", "7", "名", "🐕", "☀️", "🇫🇷", "👍🏽", "3️⃣", "👨\u200d👩\u200d👧"])
def test_a_sprite_is_one_letter_or_emoji(sign):
    text = VILLAGE.replace("{name: Bram}", f'{{name: Bram, sprite: "{sign}"}}')
    assert parse_scenario(text).actors[1].persona == Persona("Bram", sprite=sign)


@pytest.mark.parametrize("signs", ["AB", "", " ", "\\u0301", "\\u200d", "\\x07", "\u200d".join(9 * "A"), "🐕🐕"])
def test_what_is_no_sign_or_several_is_no_sprite(signs):
    with pytest.raises(ScenarioError, match="expected one letter or emoji"):
        parse_scenario(VILLAGE.replace("{name: Bram}", f'{{name: Bram, sprite: "{signs}"}}'))


def test_an_actor_has_settings_of_its_own_for_its_agent():
    text = VILLAGE.replace("{id: ada, at: [0, 0]}", "{id: ada, agent: {greed: -1.5, new: .5e2}}")
    text = text.replace("{id: dov, at: [11, 7]}", "{id: dov, at: [11, 7], agent: {greed: 1}}")
    text = text.replace("count: 2, persona: drifter", "count: 2, persona: drifter, agent: {greed: 2}")
    actors = {actor.entity_id: actor.persona for actor in parse_scenario(text).actors}
    settings = {"greed": -1.5, "pace": 0.5, "shy": True, "motto": "3", "makes": ("bread", "cake"), "new": 50.0}
    ada = actors["ada"]
    assert ada is not None
    assert (ada.name, dict(ada.agent)) == ("Ada", settings)
    assert actors["dov"] == Persona(agent=(("greed", 1),))
    assert actors["guest:2"] == Persona(traits=("restless",), agent=(("greed", 2),))
    assert actors["cleo"] == Persona(traits=("restless",))
    assert "greed" not in ada.description()


def test_settings_of_an_actor_and_its_persona_together_are_few():
    more = ", ".join(f"a{n}: 1" for n in range(28))
    with pytest.raises(ScenarioError, match="more than 32 settings for an agent"):
        parse_scenario(VILLAGE.replace("{id: ada, at: [0, 0]}", f"{{id: ada, at: [0, 0], agent: {{{more}}}}}"))


def test_emoji_that_are_made_of_several_are_text():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    (persona, *_) = [actor.persona for actor in parse_scenario(VILLAGE.replace("the river", family)).actors]
    assert persona is not None
    assert persona.fears == (family,)


def test_long_personas_of_very_many_actors_are_refused():
    text = VILLAGE.replace("map: {width: 12, height: 8,", "map: {width: 200, height: 200,")
    text = text.replace("{traits: [restless]}", "{backstory: " + 1900 * "x" + "}").replace("count: 2", "count: 9000")
    with pytest.raises(ScenarioError, match="characters of personas; 16,000,000 are allowed"):
        parse_scenario(text)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("{consumes: {grain: 30}}", "'make' takes 30 items, and an actor carries at most 20"),
        ("{yields: {" + ", ".join(f"i{n}: 1" for n in range(31)) + "}}", "more than 30 kinds of items"),
    ],
)
def test_recipes_that_cannot_be_done_are_named(action, says):
    items = "items: {grain: {}, " + ", ".join(f"i{n}: {{}}" for n in range(31)) + "}\n"
    kinds = f"rules: {{inventory_limit: 20}}\nkinds: {{mill: {{actions: {{make: {action}}}}}}}\n"
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"{VILLAGE}{items}{kinds}")
    assert says in str(caught.value)
