"""Characters know who they are, where they are and what time it is, if their world says so."""

from dataclasses import replace

import pytest

from tickmind.agent import Character, action
from tickmind.ai import Action, Condition, Selector, Sequence, Status
from tickmind.characters.villager import Villager
from tickmind.protocol import CalendarInfo, FestivalInfo, Persona, RunInfo, SeasonInfo, WorldSetting, ZoneInfo

MAP = """
    ##########
    #@...+...#
    ##########
"""
SETTING = WorldSetting(
    (ZoneInfo("hall", ((1, 1, 8, 1),)), ZoneInfo("back_room", ((6, 1, 8, 1),), "ada", "to be alone")),
    CalendarInfo(day_ticks=24, first_minute=7 * 60),
)
ADA = Persona("Ada", 41, ("warm",), goals=("bread for all",))
RUN = RunInfo("run", 1, setting=SETTING, personas={"me": ADA})


class Guard(Character):
    """Goes to the back room, and waits there."""

    tree = Selector(
        Sequence(Action("go_to_zone", {"zone": "back_room"}), Action("wait")), Action("explore"), memory=False
    )


def test_a_character_goes_to_a_zone_by_its_name_through_a_door(solo):
    one = solo(Guard, MAP, run=RUN)
    one.play(1)
    assert (one.character.zone.name, one.character.at) == ("hall", (1, 1))
    one.play(14)
    assert one.character.at == (6, 1)
    assert one.character.zone.name == "back_room"
    assert one.character.in_zone("hall")
    assert not one.character.in_zone("nowhere")


def test_a_zone_that_there_is_not_is_not_reached(solo):
    one = solo(Guard, MAP)
    one.play(2)
    assert one.character.zone is None
    assert one.character.go_to_zone("back_room") is Status.FAILURE


def test_a_character_is_who_its_world_says(solo):
    one = solo(Villager, MAP, run=RUN)
    one.play(1)
    assert (one.character.name, one.character.persona) == ("Ada", ADA)
    named = solo(Villager, MAP, run=RUN, settings={"name": "Bea"})
    named.play(1)
    assert named.character.name == "Bea"  # settings go before


def test_settings_of_the_scenario_go_before_those_of_the_program(solo):
    own = (("greed", 3), ("shy", True), ("pace", 0.5), ("motto", "bread"), ("makes", ("bread", "cake")))
    run = RunInfo("run", 1, personas={"me": Persona("Ada", agent=own)})
    one = solo(Villager, MAP, run=run, settings={"greed": 1, "left": 2})
    one.play(1)
    settings = one.character.settings
    assert (settings.whole("greed"), settings.whole("left"), settings.flag("shy")) == (3, 2, True)
    assert (settings.number("pace"), settings.text("motto"), settings.texts("makes")) == (
        0.5,
        "bread",
        ("bread", "cake"),
    )
    assert "bread" not in "\n".join(section.text for section in one.character.describe())


def test_a_villager_describes_time_and_place_to_its_model(solo):
    one = solo(Villager, MAP, run=RUN)
    one.play(2)
    text = "\n".join(section.text for section in one.character.describe())
    assert "It is 09:00. You are in the hall." in text
    plain = solo(Villager, MAP)
    plain.play(2)
    assert "It is 07:04. You feel calm.\n" in "\n".join(section.text for section in plain.character.describe())


class Watch(Character):
    """Counts the ticks of its watch."""

    tree = Selector(Sequence(Condition("between", {"start": "09:00", "end": "12:00"}), Action("count")), Action("wait"))
    counted = 0

    @action
    def count(self):
        """Count."""
        self.counted += 1
        return self.wait()


def test_a_tree_goes_by_the_time_of_the_day(solo):
    one = solo(Watch, MAP, run=RUN)
    one.play(24)  # a day, from eight o'clock on
    assert one.character.counted == 3


@pytest.mark.parametrize("text", ["7", "24:00", "12:60", "noon", ""])
def test_a_time_that_is_none_is_named(solo, text):
    one = solo(Guard, MAP, run=RUN)
    one.play(1)
    with pytest.raises(ValueError, match="expected a time of the day as 07:00"):
        one.character.between(text, "12:00")


FAR = """
    ################
    #@.............#
    ################
"""


@pytest.mark.parametrize(
    "areas",
    [
        ((9, 1, 3000, 3000),),  # far larger than what it has seen
        ((4, 2, 4, 2), (9, 1, 11, 1)),  # the nearest is in a wall
    ],
)
def test_a_zone_is_entered_where_it_can_be(solo, areas):
    setting = WorldSetting((ZoneInfo("back_room", areas),))
    one = solo(Guard, FAR, run=RunInfo("run", 1, setting=setting))
    one.play(12)
    assert one.character.at == (9, 1)


OPEN = """
    ..........
    ..........
    @........1
    ..........
    ..........
"""


def test_one_who_stands_in_a_zone_does_not_close_it(solo):
    setting = WorldSetting((ZoneInfo("back_room", ((9, 0, 9, 4),)),))
    one = solo(Guard, OPEN, run=RunInfo("run", 1, setting=setting))
    one.play(12)
    assert one.character.zone is not None
    assert one.character.at != (9, 2)


SEASONS = CalendarInfo(
    day_ticks=24,
    first_minute=7 * 60,
    seasons=(SeasonInfo("summer", 1), SeasonInfo("winter", 1, (("snow", 1),))),
    weather=(("rain", 1),),
    festivals=(FestivalInfo("fair", 1, hours=(9 * 60, 10 * 60), where="hall", purpose="cake for all"),),
    night=(20 * 60, 6 * 60),
)


def test_a_villager_describes_season_weather_and_festivals_to_its_model(solo):
    one = solo(Villager, MAP, run=replace(RUN, setting=WorldSetting(SETTING.zones, SEASONS)))
    one.play(2)
    text = "\n".join(section.text for section in one.character.describe())
    festival = "the fair is on in the hall until 10:00: cake for all"
    assert f"It is 09:00, summer, rain; {festival}. You are in the hall." in text


def test_trees_go_by_season_weather_and_festivals(solo):
    one = solo(Guard, MAP, run=replace(RUN, setting=WorldSetting(SETTING.zones, SEASONS)))

    def conditions():
        character = one.character
        return (
            character.in_season("summer"),
            character.in_season("winter"),
            character.in_weather("rain"),
            character.in_weather("snow"),
            character.festival("fair"),
            character.festival("harvest"),
            character.festival(),
        )

    one.play(2)
    assert conditions() == (True, False, True, False, True, False, True)
    assert not one.character.at_night()
    one.play(12)
    assert one.character.at_night()
    one.play(12)
    assert conditions() == (False, True, False, True, False, False, False)
