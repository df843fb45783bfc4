"""Chronicles of events made by hand: merged, ranked, in sentences, and in three forms."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.protocol.setting import CalendarInfo, FestivalInfo, SeasonInfo
from tickmind.record.errors import RecordError
from tickmind.record.story import RunStory, StoryEvent, StoryKind, address, as_json, as_markdown, chronicle
from tickmind.record.story.chronicle import SAME_KIND, SAME_PERSON, choose
from tickmind.record.story.phrases import (
    bare_item,
    in_sentence,
    item_phrase,
    items_phrase,
    listed,
    past,
    plain,
    quoted,
    thing_phrase,
    times,
)
from tickmind.record.story.scenes import DayPart, StoryScene

DAY = CalendarInfo(day_ticks=1440, first_minute=0)  # a tick is a minute
NAMES = ("ada", "bram", "cleo", "dov", "edda", "finn", "gita", "hugo")
FACT = "There is a feast at the square at 18:00."


def run(*events, **more):
    given = {"run_id": "w-1", "world": "willowbrook", "calendar": DAY, "first_tick_id": 1, "last_tick_id": 2879}
    names = {who: who.capitalize() for who in NAMES}
    return RunStory(**{**given, "names": names, "minds": len(NAMES), **more}, events=list(events))


def texts(story, **options):
    days = chronicle(story, **options).days
    return [one.text for day in days for part in day.parts for one in part.sentences]


def event(tick_id, kind, *more, **fields):
    return StoryEvent(tick_id, StoryKind(kind), *more, **fields)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (event(600, "came", "ada", place="market"), "Ada arrived at the market."),
        (event(600, "left", "ada", place="market"), "Ada went away, last seen at the market."),
        (event(600, "met", "ada", "bram", place="market"), "Ada and Bram met for the first time at the market."),
        (event(600, "learnt", "bram", "ada", FACT), f"Ada told Bram: “{FACT}”"),
        (event(600, "confided", "bram", "ada", "I sing.", how="ada"), "Ada confided a secret to Bram: “I sing.”"),
        (
            event(600, "confided", "cleo", "bram", "Ada sings.", how="ada"),
            "Bram gave Ada's secret away to Cleo: “Ada sings.”",
        ),
        (event(600, "promised", "ada", "bram", "bread", how="18:00"), "Ada promised Bram bread by 18:00."),
        (event(600, "kept", "ada", "bram", "bread"), "Ada brought Bram the promised bread."),
        (
            event(600, "kept", "ada", "bram", "berries", 3, how="late"),
            "Ada kept a promise at the last moment, and brought Bram three berries.",
        ),
        (
            event(600, "broke", "ada", "bram", "bread", how="18:00"),
            "Ada broke a promise: the bread that Bram was to have by 18:00 did not come.",
        ),
        (event(600, "declined", "ada", "bram", "bread"), "Ada asked Bram for bread, in vain."),
        (event(600, "gave", "ada", "bram", "coin", 2, "market"), "Ada gave Bram two coins at the market."),
        (event(600, "traded", "ada", "bram", "bread", how="3 coin"), "Ada gave Bram bread for three coins."),
        (event(600, "became close", "ada", "bram"), "Ada came to see a close friend in Bram."),
        (event(600, "fell out", "ada", "bram"), "Ada lost trust in Bram."),
        (event(600, "felt", "ada", what="low"), "Ada was in low spirits."),
        (event(600, "felt", "ada", what="miserable"), "Ada was miserable."),
        (event(600, "made", "ada", what="bread", how="bake", place="market"), "Ada baked bread at the market."),
        (event(600, "got", "ada", what="wood", amount=2, how="chop tree"), "Ada chopped a tree and got two wood."),
        (event(600, "worked", "ada", what="oven", how="clean"), "Ada cleaned an oven."),
        (event(600, "gathered", "ada", what="berries", place="wood"), "Ada gathered berries at the wood."),
        (event(600, "built", "ada", what="wall", place="old_mill"), "Ada built a wall at the old mill."),
        (event(600, "bought", "ada", what="bread", amount=2), "Ada bought two bread."),
        (event(600, "sold", "ada", what="bread"), "Ada sold bread."),
        (event(600, "visited", "ada", place="wood"), "Ada went to the wood for the first time."),
        (
            event(600, "visited", "ada", place="oak_house", how="home"),
            "Ada called at the oak house for the first time.",
        ),
        (event(600, "crowd", amount=5, place="square"), "Five of eight came together at the square."),
        (event(600, "crowd", amount=8, place="square"), "Everyone was at the square at once."),
        (event(600, "slept", "ada"), "Ada went to sleep."),
        (event(600, "slept out", "ada", place="wood"), "Ada fell asleep at the wood, away from home."),
        (event(600, "slept out", "ada"), "Ada fell asleep in the open, away from home."),
        (event(600, "hungry", "ada"), "Ada went hungry."),
        (event(600, "tired", "ada"), "Ada was worn out."),
        (event(600, "collapsed", "ada", place="wood"), "Ada collapsed at the wood."),
        (event(600, "goal", "ada", what="out"), "Ada reached the goal “out”."),
        (event(600, "goal", what="out", how="ends"), "The goal “out” was reached, and that was the end."),
        (event(600, "rule", what="The stream rose."), "“The stream rose.”"),
        (event(600, "rule", "ada", what="The stream rose."), "Ada: “The stream rose.”"),
        (event(600, "plan done", "ada"), "Ada did all that was planned for the day."),
        (
            event(600, "plan failed", "ada", what="work at wood"),
            "Ada had planned to work at the wood, but nothing came of it.",
        ),
    ],
)
def test_each_kind_of_event_has_its_sentence(one, text):
    assert texts(run(one)) == [text]


def test_every_kind_is_worth_something_and_has_words():
    story = run(
        *(event(tick, kind, "ada", "bram", f"fact {tick}", how="bake oven") for tick, kind in enumerate(StoryKind, 1))
    )
    alone = set(StoryKind) - {StoryKind.TALKED}  # one talk more is not worth a word
    found = chronicle(story, per_day=100).days[0]
    assert {one.kind for part in found.parts for one in part.sentences} == alone


def test_what_is_done_again_is_told_once_with_its_number():
    baked = [event(tick, "made", "ada", what="bread", how="bake") for tick in (400, 600, 800, 1000)]
    talked = [event(tick, "talked", "ada", "bram") for tick in (500, 700, 900)]
    told = chronicle(run(*baked, *talked, event(450, "talked", "ada", "cleo"))).days[0]
    assert [part.title for part in told.parts] == ["All day"]
    sentences = told.parts[0].sentences
    assert [one.text for one in sentences] == ["Ada baked bread four times.", "Ada and Bram talked three times."]
    assert (sentences[0].tick_id, sentences[0].last_tick_id, sentences[0].clock) == (400, 1000, "06:40")


def test_of_those_who_gather_the_busiest_is_named():
    events = [event(400 + tick, "gathered", "bram" if tick else "ada", what="berries") for tick in range(4)]
    assert texts(run(*events)) == ["Two people gathered berries, Bram most often of all: three times."]


def test_of_two_who_are_as_busy_none_is_named():
    events = [event(400 + tick, "gathered", ("ada", "bram")[tick % 2], what="berries") for tick in range(4)]
    assert texts(run(*events)) == ["Two people gathered berries, four times in all."]
    assert texts(run(*events[:2])) == ["Two people gathered berries."]


def test_meetings_are_told_by_those_who_met_most():
    pairs = [("ada", "bram"), ("bram", "cleo"), ("bram", "dov"), ("edda", "finn"), ("gita", "hugo")]
    assert texts(run(*(event(400 + tick, "met", *pair) for tick, pair in enumerate(pairs)))) == [
        "Bram met Ada, Cleo and Dov for the first time.",
        "Edda and Finn met for the first time, and so did Gita and Hugo.",
    ]


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (("market", "market"), "Ada and Bram met for the first time at the market, and so did Cleo and Dov."),
        (("", "wood"), "Ada and Bram met for the first time, and so did Cleo and Dov at the wood."),
    ],
)
def test_two_pairs_at_the_same_place_name_it_once(places, text):
    pairs = zip((("ada", "bram"), ("cleo", "dov")), places, strict=True)
    assert texts(run(*(event(400, "met", *pair, place=place) for pair, place in pairs))) == [text]


def test_many_pairs_are_counted():
    names = {f"{number:02}": f"N{number}" for number in range(14)}
    pairs = [event(400, "met", f"{number:02}", f"{number + 1:02}") for number in range(0, 14, 2)]
    shown = "N0 and N1, N2 and N3, N4 and N5, N6 and N7, and three more pairs met for the first time."
    assert texts(run(*pairs, names=names)) == [shown]


def test_a_fact_that_spreads_is_told_once_with_how_many_know_it():
    learnt = [event(400 + tick, "learnt", who, "ada", FACT) for tick, who in enumerate(NAMES[1:4])]
    assert texts(run(*learnt, origins={FACT: ("ada",)})) == [
        f"Word spread from Ada to Bram, Cleo and Dov, until four of eight knew: “{FACT}”"
    ]


def test_when_everyone_knows_a_fact_its_spread_is_told_with_it():
    learnt = [event(400 + 100 * tick, "learnt", who, "ada", FACT) for tick, who in enumerate(NAMES[1:])]
    last = event(1000, "everyone knows", "hugo", "", FACT, 8)
    told = chronicle(run(*learnt, last, origins={FACT: ("ada",)}))
    sentences = [one for part in told.days[0].parts for one in part.sentences]
    assert [(one.text, one.tick_id) for one in sentences] == [
        (f"Word spread from Ada, to Bram first and to Hugo last, until all eight knew: “{FACT}”", 1000)
    ]


def test_friendship_and_lost_trust_have_their_reasons():
    events = [
        event(100, "kept", "bram", "ada", "bread"),
        event(200, "kept", "bram", "ada", "bread"),
        event(300, "became close", "ada", "bram"),
        event(400, "broke", "cleo", "ada", "wood", how="06:00"),
        event(500, "fell out", "ada", "cleo"),
    ]
    told = texts(run(*events))
    assert "Ada came to see a close friend in Bram, who had brought bread twice." in told
    assert "Ada lost trust in Cleo over the wood that did not come." in told


def test_close_friends_of_each_other_are_told_together():
    friends = [event(300, "became close", "ada", "bram"), event(330, "became close", "bram", "ada")]
    assert texts(run(*friends)) == ["Ada and Bram became close friends."]


def test_sentences_of_the_same_kind_take_turns_in_form():
    broken = [event(tick, "broke", *pair, "bread", how="18:00") for tick, pair in enumerate([("ada", "bram")] * 3, 600)]
    told = texts(run(*broken))
    assert len(set(told)) == 3
    assert all("bread" in text for text in told)


# Ranking


def routine(count):
    return [
        event(400 + tick, "worked", who, what="field", how=f"plough {tick}")
        for tick, who in zip(range(count), NAMES * 9, strict=False)
    ]


def test_the_surprising_is_kept_before_the_routine_and_told_in_order_of_time():
    rare = [
        event(1000, "broke", "ada", "bram", "bread", how="16:00"),
        event(500, "confided", "bram", "ada", "I sing.", how="ada"),
    ]
    told = chronicle(run(*routine(30), *rare), per_day=3)
    sentences = [one for part in told.days[0].parts for one in part.sentences]
    assert [one.kind for one in sentences] == ["worked", "confided", "broke"]
    assert told.days[0].left_out == 29


def test_one_kind_does_not_fill_a_day():
    promises = [event(400 + tick, "broke", "ada", "bram", f"loaf {tick}", how="18:00") for tick in range(20)]
    kinds = [event(1000, "gave", "cleo", "dov", "bread"), event(1010, "met", "edda", "finn")]
    told = texts(run(*promises, *kinds), per_day=8)
    assert "Cleo gave Dov bread." in told
    assert "Edda and Finn met for the first time." in told


some_scenes = st.lists(
    st.tuples(st.sampled_from(list(StoryKind)), st.sampled_from("abc"), st.sampled_from("abc"), st.integers(1, 5)),
    max_size=12,
)


@settings(max_examples=60)
@given(some_scenes, st.integers(0, 8))
def test_the_best_scene_of_all_that_are_left_is_always_the_next(drawn, most):
    left = [
        StoryScene(kind, (StoryEvent(tick, kind, one, other),), 1, DayPart.MORNING, 10.0 * score)
        for tick, (kind, one, other, score) in enumerate(drawn)
    ]
    chosen = choose(left, most)
    expected: list[StoryScene] = []
    while left and len(expected) < most:
        kinds = Counter(scene.kind for scene in expected)
        people = Counter(who for scene in expected for who in scene.people)

        def worth(scene, kinds=kinds, people=people):
            often = max(people[who] for who in scene.people)
            return scene.score * SAME_KIND ** kinds[scene.kind] * SAME_PERSON**often

        expected.append(max(left, key=worth))
        left.remove(expected[-1])
    assert chosen == expected


def test_what_was_there_on_an_earlier_day_is_worth_less():
    failed = [event(tick, "plan failed", "ada", what="work at wood") for tick in (1000, 2440)]
    other = event(2450, "gave", "ada", "bram", "bread")
    told = chronicle(run(*failed, other), per_day=1)
    assert [day.parts[0].sentences[0].kind for day in told.days] == ["plan failed", "gave"]


def test_days_have_parts_and_what_the_calendar_says():
    calendar = CalendarInfo(
        day_ticks=1440, first_minute=0, seasons=(SeasonInfo("spring", 9),), festivals=(FestivalInfo("may_fair", 1),)
    )
    hours = (2, 8, 13, 18, 23)
    told = chronicle(run(*(event(60 * hour, "built", "ada", what=f"wall {hour}") for hour in hours), calendar=calendar))
    assert told.days[0].about == "spring, may fair"
    assert [part.title for part in told.days[0].parts] == ["Before dawn", "Morning", "Afternoon", "Evening", "Night"]


# Choosing


def test_one_character_and_one_day_can_be_chosen():
    story = run(event(500, "built", "ada", what="wall"), event(600, "gave", "bram", "ada", "bread"))
    story.events += [event(700, "built", "cleo", what="wall"), event(2000, "built", "ada", what="oven")]
    assert texts(story, who="Ada", day=1) == ["Ada built a wall.", "Bram gave Ada bread."]
    assert texts(story, who="ada", day=2) == ["Ada built an oven."]


@pytest.mark.parametrize(("options", "words"), [({"who": "nobody"}, "no actor 'nobody'"), ({"day": 3}, "days 1 to 2")])
def test_who_or_what_is_not_in_the_run_is_refused(options, words):
    with pytest.raises(RecordError, match=words):
        chronicle(run(), **options)


def test_an_empty_run_has_no_days():
    told = chronicle(run(last_tick_id=-1, first_tick_id=0, names={}, minds=0))
    assert (told.days, told.ending) == ((), ())
    assert as_markdown(told) == "# willowbrook: the run w-1\n"


def test_the_end_says_who_kept_gave_talked_and_knew():
    kept = [event(tick, "kept", "ada", "bram", "bread") for tick in (100, 200)]
    events = [*kept, event(300, "broke", "cleo", "bram", "bread"), event(50, "met", "ada", "bram")]
    events += [event(400, "talked", "ada", "bram"), event(60, "learnt", "bram", "ada", FACT)]
    assert chronicle(run(*events, origins={FACT: ("ada",)})).ending == (
        "Of three promises, two were kept; Cleo broke the rest.",
        "No one gave as often as Ada: twice.",
        "Ada and Bram talked more often than any others: twice.",
        f"The best known news, which at first only Ada knew, had reached two of eight: “{FACT}”",
    )
    assert chronicle(run(*events), day=1).ending == ()


def test_an_id_that_is_a_name_keeps_its_letters():
    story = run(event(600, "built", "entity:1", what="wall"), names={"entity:1": "entity:1"})
    assert texts(story) == ["entity:1 built a wall."]


def test_a_fact_of_unknown_origin_spreads_too():
    learnt = [event(400 + tick, "learnt", who, "ada", FACT) for tick, who in enumerate(NAMES[1:4])]
    assert texts(run(*learnt)) == [f"Word spread to Bram, Cleo and Dov: “{FACT}”"]


# Forms


HOSTILE = "Eve\x1b]0;pwned\x07\n\n# [click](http://evil.example)\u202e<script>"


def test_names_and_texts_of_a_run_change_no_line_and_no_form():
    names = {"eve": HOSTILE, "bram": "Bram"}
    story = run(event(600, "learnt", "bram", "eve", f"{HOSTILE} ”quoted” {'x' * 900}"), names=names, world=HOSTILE)
    (text,) = texts(story)
    assert text.isprintable()
    assert text.count("”") == 1
    assert len(text) < 400
    written = as_markdown(chronicle(story))
    assert "\x1b" not in written
    assert "\u202e" not in written
    assert [line for line in written.splitlines() if line.startswith("#")][1:] == [
        "## Day 1",
        "### Morning",
        "## In the end",
    ]
    assert re.findall(r"(?<!\\)\]\((?!http://127)|(?<!\\)<", written) == []


def test_addresses_open_the_replay_at_the_tick_with_the_character():
    told = chronicle(run(event(600, "built", "ada:2 &x", what="wall"), event(700, "crowd", amount=5, place="square")))
    one, other = (sentence for part in told.days[0].parts for sentence in part.sentences)
    assert address(one) == "http://127.0.0.1:8700/#tick=600&actor=ada:2%20%26x"
    assert address(other, "https://host/") == "https://host/#tick=700"


def test_markdown_links_each_sentence():
    written = as_markdown(chronicle(run(event(600, "built", "ada", what="wall"))))
    assert written.splitlines()[-1] == "- Ada built a wall. [tick 600](http://127.0.0.1:8700/#tick=600&actor=ada)"


def test_json_has_all_of_it():
    found = json.loads(as_json(chronicle(run(event(600, "built", "ada", what="wall")))))
    assert (found["run"], found["world"], found["people"][:2]) == ("w-1", "willowbrook", ["Ada", "Bram"])
    (day,) = found["days"]
    assert day["parts"] == [
        {
            "part": "Morning",
            "sentences": [
                {
                    "text": "Ada built a wall.",
                    "tick_id": 600,
                    "last_tick_id": 600,
                    "clock": "10:00",
                    "kind": "built",
                    "people": ["ada"],
                    "address": "http://127.0.0.1:8700/#tick=600&actor=ada",
                }
            ],
        }
    ]


# Phrases


@pytest.mark.parametrize(
    ("verb", "done"),
    [
        ("bake", "baked"),
        ("chop", "chopped"),
        ("open", "opened"),
        ("carry", "carried"),
        ("dig", "dug"),
        ("", "worked on"),
    ],
)
def test_verbs_of_the_past(verb, done):
    assert past(verb) == done


def test_numbers_lists_and_things():
    assert (times(1), times(2), times(4), times(15)) == ("once", "twice", "four times", "15 times")
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed([*"abcde"]) == "a, b, c, d and e"
    assert listed([*"abcdef"]) == "a, b, c and three others"
    assert listed([]) == ""
    assert (item_phrase("dry_wood", 2), thing_phrase("oven"), thing_phrase("bush", 3)) == (
        "two dry wood",
        "an oven",
        "three bushes",
    )
    assert [item_phrase("axe"), item_phrase("axe", 2), item_phrase("bread"), item_phrase("berries")] == [
        "an axe",
        "two axes",
        "bread",
        "berries",
    ]
    assert (bare_item("axe"), bare_item("axe", 2), items_phrase("hook")) == ("axe", "two axes", "hooks")
    assert (in_sentence("meet"), in_sentence("meet at old_inn")) == ("meet people", "meet people at the old inn")
    assert plain("a\x00b\tc") == "a\ufffdb c"
    assert quoted("x" * 999).endswith("…”")
