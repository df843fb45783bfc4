"""What went on between minds: each kind of event from material made by hand."""

import pytest

from tickmind.protocol import BoardEntry, Insight, MemoryNote, Persona, WorldInfo
from tickmind.protocol.entity import EntityInfo
from tickmind.protocol.setting import CalendarInfo, WorldSetting
from tickmind.record.measures import MindMaterial
from tickmind.record.measures.material import BondChange, SaidLine, TalkSpan, _read_insights
from tickmind.record.story.events import StoryKind
from tickmind.record.story.social import acquainted, social_events
from tickmind.record.story.stays import Stays
from tickmind.record.tables.gifts import Gift

DAY = CalendarInfo(day_ticks=1440, first_minute=0)  # a tick is a minute
FACT = "There is a feast at the square at 18:00."


def empty_world(*who):
    """A world without zones, for places that no test asks for."""
    return WorldInfo(
        name="village",
        world_version="1.0.0",
        width=8,
        height=8,
        sight_radius=8,
        hearing_radius=8,
        tick_duration_ms=1000,
        intent_deadline_ms=500,
        floors=(),
        floor_codes=bytes(64),
        item_kinds=(),
        verbs=("",),
        kinds=(),
        objects=(),
        actors=tuple(EntityInfo(one, "villager", persona=Persona(one.capitalize())) for one in who),
        setting=WorldSetting((), DAY),
    )


def village(*who, **more):
    """A run of minds of two days."""
    return MindMaterial(DAY, 2880, names={one: one.capitalize() for one in who}, minds=set(who), **more)


def told(found, kinds, talks=(), secrets=None, known=()):
    events = social_events(found, Stays(empty_world(*found.names)), talks, secrets, known)
    return [(one.tick_id, one.kind.value, one.who, one.other, one.what, one.how) for one in events if one.kind in kinds]


def both(one, other, first, last):
    """A talk as both of two saw it."""
    return [TalkSpan(one, other, first, last), TalkSpan(other, one, first + 1, last + 1)]


def test_the_first_talk_of_two_is_a_meeting_and_one_without_an_answer_is_none():
    spans = [*both("bram", "ada", 10, 16), *both("ada", "bram", 300, 310), TalkSpan("cleo", "ada", 50, 60)]
    found = village("ada", "bram", "cleo", talks=spans)
    kinds = {StoryKind.MET, StoryKind.TALKED}
    assert told(found, kinds) == [(10, "met", "ada", "bram", "", ""), (300, "talked", "ada", "bram", "", "")]


def test_those_who_share_a_relation_or_a_home_do_not_meet_for_the_first_time():
    personas = {
        "ada": Persona("Ada", relations=(("bram", "her cousin"),)),
        "bram": Persona("Bram", home="oak_house"),
        "cleo": Persona("Cleo", home="oak_house"),
        "dov": None,
    }
    starts = [(10, "ada", "bram"), (20, "bram", "cleo"), (30, "ada", "cleo"), (40, "ada", "dov")]
    found = village(*personas)
    kinds = {StoryKind.MET, StoryKind.TALKED}
    kinds_told = [kind for _, kind, *_ in told(found, kinds, starts, known=acquainted(personas))]
    assert kinds_told == ["talked", "talked", "met", "met"]


@pytest.mark.parametrize(("line", "is_told"), [(55, True), (90, False)])
def test_a_partner_without_a_mind_takes_part_by_saying_something(line, is_told):
    found = village("ada", lines=[SaidLine(line, "player", "Hello.")], talks=[TalkSpan("ada", "player", 50, 60)])
    assert bool(told(found, {StoryKind.MET})) is is_told


def test_of_two_minds_everyone_is_not_worth_a_word():
    found = village("ada", "bram", facts={"ada": (FACT,)}, notes={"bram": heard(20, FACT, "ada")})
    assert told(found, {StoryKind.EVERYONE_KNOWS}) == []


def test_talks_of_actors_without_minds_are_taken_as_heard():
    found = village("ada", "bram")
    assert told(found, {StoryKind.MET}, talks=[(5, "ada", "bram")]) == [(5, "met", "ada", "bram", "", "")]


ASKED = [
    SaidLine(100, "bram", "Will you bring me 1 bread by 18:00?"),
    SaidLine(101, "ada", "For you, yes. I will bring you 1 bread by 18:00."),
]
PROMISES = {StoryKind.PROMISED, StoryKind.KEPT, StoryKind.BROKE, StoryKind.DECLINED, StoryKind.GAVE}


@pytest.mark.parametrize(
    ("gifts", "events"),
    [
        ([(200, Gift("ada", "bram", "bread", 1))], [(200, "kept", "ada", "bram", "bread", "")]),
        ([(1075, Gift("ada", "bram", "bread", 1))], [(1075, "kept", "ada", "bram", "bread", "late")]),
        (
            [(200, Gift("ada", "bram", "wheat", 1))],
            [
                (101, "promised", "ada", "bram", "bread", "18:00"),
                (200, "gave", "ada", "bram", "wheat", ""),
                (1081, "broke", "ada", "bram", "bread", "18:00"),
            ],
        ),
    ],
)
def test_a_promise_is_told_once_if_it_is_kept_and_twice_if_it_is_broken(gifts, events):
    found = village("ada", "bram", lines=ASKED, gifts=gifts, talks=both("ada", "bram", 99, 110))
    assert told(found, PROMISES) == events


def test_an_answer_without_a_promise_is_a_request_in_vain():
    lines = [ASKED[0], SaidLine(101, "ada", "I have none to spare.")]
    found = village("ada", "bram", lines=lines, talks=both("ada", "bram", 99, 110))
    assert told(found, PROMISES) == [(101, "declined", "bram", "ada", "bread", "")]


def test_who_thinks_first_and_promises_then_has_not_declined():
    lines = [ASKED[0], SaidLine(101, "ada", "Let me think."), SaidLine(103, "ada", ASKED[1].text)]
    found = village("ada", "bram", lines=lines, talks=both("ada", "bram", 99, 110))
    assert [one[1] for one in told(found, PROMISES)] == ["promised", "broke"]


def test_gifts_each_way_in_the_same_tick_are_a_trade():
    gifts = [(9, Gift("ada", "bram", "bread", 1)), (9, Gift("bram", "ada", "coin", 3))]
    found = village("ada", "bram", gifts=gifts)
    kinds = {StoryKind.TRADED, StoryKind.GAVE}
    assert told(found, kinds) == [(9, "traded", "ada", "bram", "bread", "3 coin")]


def heard(tick_id, text, told_by):
    return {text: MemoryNote(tick_id, text, told_by, kind="heard", told_by=told_by)}


def test_a_fact_is_learnt_from_its_teller_until_everyone_knows_it():
    notes = {"bram": heard(20, FACT, "ada"), "cleo": heard(40, FACT, "bram")}
    found = village("ada", "bram", "cleo", facts={"ada": (FACT,)}, notes=notes)
    assert told(found, {StoryKind.LEARNT, StoryKind.EVERYONE_KNOWS}) == [
        (20, "learnt", "bram", "ada", FACT, ""),
        (40, "learnt", "cleo", "bram", FACT, ""),
        (40, "everyone knows", "cleo", "", FACT, ""),
    ]


def test_a_secret_is_told_by_its_owner_and_given_away_by_others():
    notes = {
        "bram": heard(20, "Ada wanted to be a singer.", "ada"),
        "cleo": heard(40, "Ada wanted to be a singer.", "bram"),
    }
    secrets = {"ada": "I wanted to be a singer."}
    found = village("ada", "bram", "cleo", notes=notes)
    assert told(found, {StoryKind.CONFIDED}, secrets=secrets) == [
        (20, "confided", "bram", "ada", "I wanted to be a singer.", "ada"),
        (40, "confided", "cleo", "bram", "Ada wanted to be a singer.", "ada"),
    ]


def test_friends_and_lost_trust_are_found_by_the_names_that_minds_use():
    bonds = [
        BondChange(5, "ada", "Bram", "close"),
        BondChange(9, "ada", "Bram", ""),
        BondChange(12, "ada", "bram", "cold"),
    ]
    found = village("ada", "bram", bonds=[*bonds, BondChange(13, "ada", "Nobody", "cold")])
    kinds = {StoryKind.BECAME_CLOSE, StoryKind.FELL_OUT}
    assert told(found, kinds) == [(5, "became close", "ada", "bram", "", ""), (12, "fell out", "ada", "bram", "", "")]


def test_bonds_and_moods_are_read_from_blackboards_and_malformed_ones_are_left_out():
    found = village("ada", "bram")
    boards = [
        '{"Bram": {"liking": 0.1, "trust": 0.0}}',
        '{"Bram": {"liking": 0.3, "trust": 0.2}}',
        '{"Bram": {"liking": 0.3, "trust": 0.25}}',
        '{"Bram": {"liking": 0.3, "trust": -0.3}, "Cleo": {"liking": "much"}, "Dov": 3}',
        '["Bram"]',
        '{"Bram": {"lik',
    ]
    insights = [Insight("ada", tick, board=(BoardEntry("people", board),)) for tick, board in enumerate(boards, 1)]
    _read_insights(found, [*insights, Insight("ada", 9, board=(BoardEntry("mood", '"low"'), BoardEntry("mood", "3")))])
    assert found.bonds == [BondChange(2, "ada", "Bram", "close"), BondChange(4, "ada", "Bram", "cold")]

    assert found.moods == []
    _read_insights(found, [Insight("ada", 10, board=(BoardEntry("mood", '"low"'),))])
    assert told(found, {StoryKind.FELT}) == [(10, "felt", "ada", "", "low", "")]


def test_a_quarrel_that_was_there_before_the_first_talk_is_no_news():
    before = '{"Kaya": {"talks": 0, "liking": -0.4, "trust": 0}}'
    after = '{"Kaya": {"talks": 2, "liking": 0.1, "trust": 0}}'
    found = village("edda", "kaya")
    _read_insights(
        found, [Insight("edda", tick, board=(BoardEntry("people", text),)) for tick, text in ((2, before), (9, after))]
    )
    assert found.bonds == [BondChange(9, "edda", "Kaya", "")]


def test_plans_of_days_that_are_over_are_told_at_their_end():
    plans = {
        ("ada", 1): ("08:00 work at market: done", "16:00 meet: done"),
        ("bram", 1): ("08:00 work at wood: failed", "16:00 meet: done"),
        ("ada", 3): ("08:00 work at market: done", "16:00 meet: done"),
    }
    kinds = {StoryKind.PLAN_DONE, StoryKind.PLAN_FAILED}
    assert told(village("ada", "bram", plans=plans), kinds) == [
        (1439, "plan done", "ada", "", "", ""),
        (1439, "plan failed", "bram", "", "work at wood", ""),
    ]


def test_the_time_of_a_promise_is_the_round_one_that_was_named():
    calendar = CalendarInfo(day_ticks=600, first_minute=7 * 60)
    found = village("ada", "bram", lines=ASKED, talks=both("ada", "bram", 99, 110))
    found.calendar = calendar
    assert told(found, {StoryKind.BROKE})[0][-1] == "18:00"
