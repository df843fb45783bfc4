"""Seasons, weather and festivals of a calendar: what days they make, and what can be done on them."""

from collections import Counter

import pytest

from tickmind.protocol import CalendarInfo, FestivalInfo, Interact, Reason, SeasonInfo, WorldTime
from tickmind.protocol.result import Effect
from tickmind.world import ScenarioError, TileWorld, parse_scenario

YEAR = """\
world: year
seed: 7
floors: {grass: {}}
items: {hay: {}}
kinds: {meadow: {actions: {mow: {yields: {hay: 1}}}}}
objects: [{id: meadow, kind: meadow, at: [1, 0]}]
map: {width: 4, height: 3, floor: grass}
zones: {square: {within: [0, 0, 1, 1]}}
calendar:
  day_ticks: 24
  begins: "00:00"
  seasons: {summer: 3, winter: {days: 2, weather: {snow: 2, sun: 1}}}
  weather: {sun: 5, rain: 2, fog: 1}
  festivals:
    harvest: {day: 2, every: 5, hours: ["10:00", "16:00"], where: square, purpose: music and bread for all.}
    new_year: {day: 1, hours: ["22:00", "02:00"]}
    Longnight: {day: 4}
actors: [{id: ada, at: [0, 0]}]
"""


NIGHT = '  night: ["21:00", "06:00"]\n  seasons'


def calendar_of(text=YEAR, seed=None):
    return parse_scenario(text, seed=seed).setting.calendar


def test_a_calendar_is_what_the_scenario_says():
    calendar = calendar_of()
    key = calendar.weather_key
    assert 0 < key < 2**32
    assert calendar == CalendarInfo(
        24,
        0,
        (SeasonInfo("summer", 3), SeasonInfo("winter", 2, (("snow", 2), ("sun", 1)))),
        (("sun", 5), ("rain", 2), ("fog", 1)),
        key,
        festivals=(
            FestivalInfo("harvest", 2, 5, (600, 960), "square", "music and bread for all."),
            FestivalInfo("new_year", 1, 0, (1320, 120)),
            FestivalInfo("Longnight", 4),
        ),
    )


def test_seasons_follow_each_other_again_and_again():
    calendar = calendar_of()
    seasons = [calendar.at(24 * day).season for day in range(12)]
    assert seasons == [*(2 * (3 * ["summer"] + 2 * ["winter"])), "summer", "summer"]


def test_the_weather_of_a_day_is_one_and_the_seed_says_which():
    calendar = calendar_of()
    days = [{calendar.at(24 * day + hour).weather for hour in range(24)} for day in range(60)]
    assert all(len(kinds) == 1 for kinds in days)
    assert days == [{calendar_of().weather_of(day)} for day in range(1, 61)]
    other = calendar_of(seed=8)
    assert [calendar.weather_of(day) for day in range(1, 61)] != [other.weather_of(day) for day in range(1, 61)]


def test_weights_are_chances_and_a_season_has_a_weather_of_its_own():
    calendar = calendar_of()
    kinds = Counter((calendar.season_of(day).name, calendar.weather_of(day)) for day in range(1, 20_001))
    shares = {key: count / (12_000 if key[0] == "summer" else 8_000) for key, count in kinds.items()}
    assert shares == pytest.approx(
        {
            ("summer", "sun"): 5 / 8,
            ("summer", "rain"): 2 / 8,
            ("summer", "fog"): 1 / 8,
            ("winter", "snow"): 2 / 3,
            ("winter", "sun"): 1 / 3,
        },
        abs=0.02,
    )


def test_the_weather_is_the_same_in_every_language():
    weights = (("sun", 5), ("rain", 2), ("fog", 1))
    calendar = CalendarInfo(24, 0, weather=weights, weather_key=4123456789)
    found = "".join(calendar.weather_of(day)[0] for day in range(1, 31))
    assert found == "ssrsrsssrrrrsssfrsfrssrffsssss"  # as in viewer/test/player.test.ts


def festivals(calendar, day):
    """The hours in which a festival is on, by name."""
    on: dict[str, list[int]] = {}
    for hour in range(24):
        for festival in calendar.at(24 * (day - 1) + hour).festivals:
            on.setdefault(festival.name, []).append(hour)
    return on


def test_festivals_are_on_in_their_hours_on_their_days():
    calendar = calendar_of()
    hours = list(range(10, 16))
    assert {day: on for day in range(1, 15) if (on := festivals(calendar, day))} == {
        1: {"new_year": [22, 23]},
        2: {"new_year": [0, 1], "harvest": hours},  # until after midnight
        4: {"Longnight": list(range(24))},
        7: {"harvest": hours},
        12: {"harvest": hours},
    }


def test_a_time_says_what_there_is_and_no_more():
    calendar = calendar_of()
    weather = calendar.weather_of(2)
    assert str(calendar.at(24 + 9)) == f"day 2, 09:00, summer, {weather}"
    assert str(calendar.at(24 + 10)) == (
        f"day 2, 10:00, summer, {weather}; the harvest is on in the square until 16:00: music and bread for all"
    )
    assert str(calendar.at(23)).endswith("; the new year is on until 02:00")
    assert str(calendar.at(72 + 5)).endswith("; Longnight is on")
    plain = calendar_of(YEAR[: YEAR.index("  seasons")] + YEAR[YEAR.index("actors") :])
    assert str(plain.at(33)) == "day 2, 09:00"
    assert plain.weather_key == 0


@pytest.mark.parametrize(
    ("hours", "night"), [('["21:00", "06:00"]', {21, 22, 23, *range(6)}), ('["00:00", "02:00"]', {0, 1})]
)
def test_it_is_night_in_the_hours_of_the_night(hours, night):
    calendar = calendar_of(YEAR.replace("  seasons", f"  night: {hours}\n  seasons"))
    assert {hour for hour in range(24) if calendar.at(hour).night} == night
    assert str(calendar.at(48)) == f"day 3, 00:00, night, summer, {calendar.weather_of(3)}"
    assert "night" not in str(calendar.at(60))


def test_a_calendar_with_nothing_but_a_night_says_it():
    calendar = CalendarInfo(24, 0, night=(21 * 60, 6 * 60))
    assert [str(calendar.at(tick)) for tick in (5, 6)] == ["day 1, 05:00, night", "day 1, 06:00"]


def test_a_calendar_changes_no_rule():
    digest = parse_scenario(YEAR).digest
    bare = YEAR[: YEAR.index("calendar")] + YEAR[YEAR.index("actors") :]
    assert parse_scenario(bare).digest == digest


def mown(limit, days=10):
    """Mow in each hour of some days; the times in which it could be done, and the refusals."""
    world = TileWorld.from_scenario(
        parse_scenario(YEAR.replace("{yields: {hay: 1}}", f"{{yields: {{hay: 1}}, {limit}}}"))
    )
    calendar, done, refused = world.info.setting.calendar, [], []
    for _ in range(24 * days):
        time = calendar.at(world.tick_id)
        (result,) = world.step({0: Interact("meadow", "mow")}).action_results()
        if result.ok:
            done.append(time)
        else:
            refused.append((time, result.reason, result.effects))
    return done, refused


def test_an_action_is_limited_by_season_weather_and_hours():
    done, refused = mown('seasons: [summer], weather: [sun, fog], hours: ["08:00", "10:00"]', days=40)

    def fair(time: WorldTime) -> bool:
        return time.season == "summer" and time.weather in ("sun", "fog")

    assert done
    assert all(fair(time) and time.hour in (8, 9) for time in done)
    for time, reason, effects in refused:
        assert reason is Reason.CLOSED
        assert effects == ((Effect("opens_at", 480),) if fair(time) else ())
        assert not (fair(time) and time.hour in (8, 9))


def test_an_action_of_a_season_needs_no_hours():
    done, refused = mown("seasons: [winter]")
    assert {time.season for time in done} == {"winter"}
    assert {time.season for time, _, _ in refused} == {"summer"}
    assert len(done) == 4 * 24


def test_what_limits_actions_is_part_of_a_scenarios_identity():
    limited = YEAR.replace("{yields: {hay: 1}}", "{yields: {hay: 1}, seasons: [summer]}")
    texts = (
        YEAR,
        limited,
        limited.replace("[summer]", "[winter]"),
        limited.replace("summer: 3", "summer: 4"),
        limited.replace("seasons: [summer]", "weather: [sun]"),
        limited.replace("seasons: [summer]", "weather: [sun]").replace("sun: 5", "sun: 6"),
    )
    assert len({parse_scenario(text).digest for text in texts}) == len(texts)
    assert parse_scenario(limited).digest == parse_scenario(limited.replace("day: 4", "day: 5")).digest


def test_rules_of_ones_own_see_all_days_so_these_are_part_of_a_scenarios_identity():
    own = f"{YEAR}own_rules: [feast]\n"
    changes = [("day: 4", "day: 5"), ("sun: 5", "sun: 6"), ("summer: 3", "summer: 4"), ("  seasons", NIGHT)]
    texts = [YEAR, own, *(own.replace(*change) for change in changes)]
    assert len({parse_scenario(text).digest for text in texts}) == len(texts)


def test_worlds_say_what_limits_their_actions():
    limit = "{yields: {hay: 1}, seasons: [summer], weather: [sun]}"
    world = TileWorld.from_scenario(parse_scenario(YEAR.replace("{yields: {hay: 1}}", limit)))
    ((mow,),) = world.info.kinds[0].actions
    assert (mow.seasons, mow.weather) == (("summer",), ("sun",))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("summer: 3", "summer: 0", "expected a whole number from 1"),
        ("summer: 3", "summer: [3]", "expected a mapping"),
        ("{days: 2, ", "{", "the key 'days' is missing"),
        ("{days: 2, ", "{days: 2, wether: {}, ", "unknown key 'wether' (did you mean 'weather'?)"),
        ("fog: 1", "fog: 0", "expected a whole number from 1"),
        ("{sun: 5, rain: 2, fog: 1}", "{}", "expected 1 to 32 kinds of weather"),
        ("where: square", "where: mill", "there is no zone 'mill'; there are: square"),
        ("  seasons:", '  night: ["21:00"]\n  seasons:', "expected two times of the day"),
        ("{day: 4}", "{day: 0}", "expected a whole number from 1"),
        ("{day: 4}", "{every: 4}", "the key 'day' is missing"),
        ("every: 5", "every: 0", "expected a whole number from 1"),
        ('["22:00", "02:00"]', '["22:00", "22:00"]', "these hours are empty"),
        ("{yields: {hay: 1}}", "{seasons: [spring]}", "there is no season 'spring'"),
        ("{yields: {hay: 1}}", "{weather: [hail]}", "there is no kind of weather 'hail'; there are: fog, rain"),
        ("{yields: {hay: 1}}", "{weather: sun}", "expected a list"),
        ("seasons: {", "seasns: {", "unknown key 'seasns' (did you mean 'seasons'?)"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    assert old in YEAR
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(YEAR.replace(old, new, 1))
    assert says in str(caught.value)


def test_all_mistakes_are_named_at_once():
    text = YEAR.replace("summer: 3", "summer: x").replace("where: square", "where: mill").replace("fog: 1", "fog: x")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text.replace("{yields: {hay: 1}}", "{seasons: [summer], weather: [hail, fog, snow]}"))
    assert len(caught.value.problems) == 4  # the season and the weather that are wrong there are named nevertheless
