"""Measures of minds: each with a run whose value is known by hand, and one that is made to fool it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.protocol import BoardEntry, Insight, MemoryNote, ObjectDelta, RuleEvent
from tickmind.protocol.setting import CalendarInfo, ZoneInfo
from tickmind.record.measures import Measure, MindMaterial, measure, measure_names, measures_page, pooled
from tickmind.record.measures.lines import SAMPLE, distinct_2, masked, repeated, self_bleu, spread
from tickmind.record.measures.material import SaidLine, TalkSpan, _read_insights, emptied, goals_reached
from tickmind.record.measures.parties import is_near
from tickmind.record.reader import LlmCall
from tickmind.record.tables.gifts import Gift

DAY = CalendarInfo(day_ticks=1440, first_minute=0)  # a tick is a minute
FACT = "There is a feast at the square at 18:00."


def village(*who, **more):
    """A run of minds of two days."""
    return MindMaterial(
        DAY, 2880, names={one: one.capitalize() for one in who}, facts={who[0]: (FACT,)}, minds=set(who), **more
    )


def value(found, name, facts=()):
    return next(figure for figure in measure(found, facts) if figure.name == name).value


def lines(*said):
    return [SaidLine(tick, who, text) for tick, who, text in said]


# Lines


def test_a_line_is_a_repetition_if_its_speaker_has_said_it_whatever_the_name():
    said = [
        (1, "ada", "Good day, Bram."),
        (2, "ada", "Good day, Cleo."),
        (3, "bram", "Good day, Ada."),
        (4, "ada", "Hi."),
    ]
    assert value(village("ada", "bram", "cleo", lines=lines(*said)), "self-repeat") == 1 / 4


def test_names_inside_words_and_of_strangers_make_no_repetition_and_lines_of_strangers_do_not_count():
    said = [(1, "ada", "I bramble."), (2, "ada", "I cleoble."), (3, "eve", "Hi."), (4, "eve", "Hi.")]
    assert value(village("ada", "bram", "cleo", lines=lines(*said)), "self-repeat") == 0


def test_masks_do_not_touch_other_words():
    assert masked("Ada, is Adalbert Ada's?", ["Ada"]) == "*, is adalbert *'s?"
    assert masked("Hello.", []) == "hello."


def test_pairs_of_words_are_counted_by_hand():
    assert distinct_2(["a b c", "a b d"]) == 3 / 4
    assert distinct_2(["a", ""]) is None


def test_bleu_is_one_for_equal_lines_and_near_zero_for_different_ones():
    assert self_bleu(["one two three four five"] * 3) == pytest.approx(1)
    assert self_bleu(["one two three four", "five six seven eight"]) == pytest.approx(0, abs=0.1)
    assert self_bleu(["alone"]) is None
    assert self_bleu(["", ""]) == 0


def test_a_line_does_not_match_itself():
    """Else every line would be a copy of one."""
    odd = "nobody says these words again"
    assert self_bleu([odd, *["good day to you all"] * 4]) == pytest.approx(4 / 5, abs=0.05)


@given(st.lists(st.text(alphabet="ab ", max_size=12), min_size=2, max_size=12))
def test_bleu_is_a_share(texts):
    score = self_bleu(texts)
    assert score is not None
    assert 0 <= score <= 1 + 1e-9


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))))
def test_repetitions_are_all_but_the_first_of_each(said):
    again, count = repeated(said)
    assert (again, count) == (len(said) - len(set(said)), len(said))


@given(st.integers(0, 1000))
def test_a_sample_is_spread_over_all(number):
    texts = [str(place) for place in range(number)]
    chosen = spread(texts, SAMPLE)
    assert len(chosen) == min(number, SAMPLE)
    assert chosen == sorted(set(chosen), key=int)


# Talks

GOOD = [
    (10, "ada", "Good day, Bram."),
    (12, "bram", "I saw a fox."),
    (14, "ada", "Goodbye, Bram."),
    (16, "bram", "Bye."),
]


def test_a_talk_is_ended_by_a_farewell():
    spans = [TalkSpan("ada", "bram", 10, 16), TalkSpan("bram", "ada", 11, 17)]
    assert value(village("ada", "bram", lines=lines(*GOOD), talks=spans), "talks ended") == 1


@pytest.mark.parametrize(
    ("said", "spans"),
    [
        (GOOD[:2], [TalkSpan("ada", "bram", 10, 30)]),  # they fall silent
        (GOOD, [TalkSpan("ada", "bram", 10, 16), TalkSpan("ada", "bram", 40, 60)]),  # they begin again soon
        (
            [*GOOD[:2], *[(20 + tick, "ada", f"Word {tick}.") for tick in range(8)], (30, "bram", "Bye.")],
            [TalkSpan("ada", "bram", 10, 30)],
        ),
        (
            [(10, "ada", "Goodbye was his last word."), (12, "bram", "So?"), (13, "ada", "So."), (14, "bram", "Yes.")],
            [TalkSpan("ada", "bram", 10, 15)],
        ),
    ],
)
def test_a_talk_without_an_end_is_none(said, spans):
    found = village("ada", "bram", lines=lines(*said, (41, "ada", "And?"), (42, "bram", "Nothing.")), talks=spans)
    assert value(found, "talks ended") == 0


def test_who_gets_no_answer_has_no_talk():
    found = village("ada", "bram", lines=lines((10, "ada", "Goodbye!")), talks=[TalkSpan("ada", "bram", 10, 30)])
    assert value(found, "talks ended") is None


# Promises

ASKED = [(100, "bram", "Will you bring me 2 bread by 04:00?"), (102, "ada", "I will bring you 2 bread by 04:00.")]


@pytest.mark.parametrize(
    ("gifts", "kept"),
    [
        ([(200, Gift("ada", "bram", "bread", 2))], 1),
        ([(150, Gift("ada", "bram", "bread", 1)), (200, Gift("ada", "bram", "bread", 1))], 1),
        ([(250, Gift("ada", "bram", "bread", 2))], 0),  # 04:00 is tick 240
        ([(200, Gift("ada", "bram", "bread", 1))], 0),
        ([(200, Gift("ada", "cleo", "bread", 2))], 0),
        ([(200, Gift("bram", "ada", "bread", 2))], 0),
        ([(200, Gift("ada", "bram", "wheat", 2))], 0),
        ([(101, Gift("ada", "bram", "bread", 2))], 0),  # before it was promised
        ([], 0),
    ],
)
def test_a_promise_is_kept_by_what_is_given_in_time(gifts, kept):
    found = village("ada", "bram", "cleo", lines=lines(*ASKED), gifts=gifts, talks=[TalkSpan("ada", "bram", 101, 110)])
    assert value(found, "promises kept") == kept
    assert value(found, "promises per villager and day") == pytest.approx(1 / 6)


def test_what_nobody_asked_for_or_what_is_quoted_is_no_promise():
    said = [
        (100, "ada", "I will bring you 2 bread by 04:00."),
        (101, "bram", 'Ada said "I will bring you 2 bread by 04:00."'),
    ]
    spans = [TalkSpan("ada", "bram", 99, 110), TalkSpan("bram", "ada", 99, 110)]
    assert value(village("ada", "bram", lines=lines(*said), talks=spans), "promises kept") is None


def test_of_two_talks_at_once_each_promise_is_to_its_partner():
    said = [
        (100, "bram", "Will you bring me 2 bread by 04:00?"),
        (101, "dov", "Will you bring me 2 bread by 04:00?"),
        (102, "ada", "I will bring you 2 bread by 04:00."),
        (103, "cleo", "I will bring you 2 bread by 04:00."),
    ]
    spans = [TalkSpan("ada", "bram", 95, 110), TalkSpan("cleo", "dov", 95, 110)]
    gifts = [(150, Gift("ada", "bram", "bread", 2)), (160, Gift("cleo", "dov", "bread", 2))]
    found = village("ada", "bram", "cleo", "dov", lines=lines(*said), talks=spans, gifts=gifts)
    assert value(found, "promises kept") == 1
    assert value(found, "promises per villager and day") == 2 / 8


def test_a_village_keeps_more_promises_than_one_mind_has_in_mind():
    said, spans, gifts = [], [], []
    for number in range(100):
        ada, bram = f"ada{number}", f"bram{number}"
        said += [(100, bram, ASKED[0][2]), (102, ada, ASKED[1][2])]
        spans.append(TalkSpan(ada, bram, 99, 110))
        gifts.append((150, Gift(ada, bram, "bread", 2)))
    found = village("ada", lines=lines(*said), talks=spans, gifts=gifts)
    assert value(found, "promises per villager and day") == 100 / 2


# Plans, needs, relations


def test_errands_of_days_that_are_over_count():
    plans = {
        ("ada", 1): ("08:00 work at mill: done", "12:00 meet: failed", "21:00 rest: done", "22:00 sit: under way"),
        ("ada", 3): ("08:00 work at mill: done",),  # the day is not over
    }
    assert value(village("ada", plans=plans), "plan") == 2 / 4


def test_needs_are_a_share_of_ticks():
    assert value(village("ada", well_ticks=97, actor_ticks=100), "needs") == 0.97
    assert value(village("ada"), "needs") is None


def test_goals_are_those_of_the_world_and_not_what_a_rule_calls_so():
    found = village("ada", goals=frozenset({"bridge", "feast"}))
    assert value(found, "goals") == 0
    events = [RuleEvent("feast", own=True), RuleEvent("bridge"), RuleEvent("bridge"), RuleEvent("decay")]
    found.reached = goals_reached(events, found.goals)
    assert value(found, "goals") == 1 / 2
    assert not [figure for figure in measure(village("ada")) if figure.name == "goals"]


def note(text, about="", told_by=""):
    return MemoryNote(1, text, about, told_by=told_by)


def notes(*some):
    return {one.text: one for one in some}


def test_two_are_related_if_each_knows_something_of_the_other():
    known = {
        "ada": notes(note("I saw Bram at the mill.", "bram"), note("I saw Cleo.", "cleo")),
        "bram": notes(note("Ada likes bread.", "ada")),
        "cleo": notes(note("I met Ada.", "ada")),  # no more than the name
    }
    assert value(village("ada", "bram", "cleo", notes=known), "density") == 1 / 3


# Interviews

HEARD = [(12, "bram", "Have you heard: The miller has lost his hat."), (14, "ada", "Is that so?")]
KNOWN = {
    "ada": notes(
        MemoryNote(12, "The miller has lost his hat.", "bram", kind="heard", told_by="bram"),
        MemoryNote(20, "Bram gave me bread.", "bram", kind="got"),
        MemoryNote(30, "I gave berries to Cleo at the square.", "berries", kind="gave"),
        MemoryNote(102, "I promised to bring Bram 2 bread by 04:00.", "bram", kind="promised"),
        MemoryNote(103, "I saw Cleo at the square.", "cleo", kind="saw"),
    )
}
LIVED = {
    "lines": lines(*HEARD, *ASKED),
    "talks": [TalkSpan("ada", "bram", 10, 18), TalkSpan("ada", "bram", 99, 110)],
    "gifts": [(20, Gift("bram", "ada", "bread", 1)), (30, Gift("ada", "cleo", "berries", 1))],
}


def interviewed(**more):
    found = village("ada", "bram", "cleo", **{**LIVED, **more})
    found.minds = {"ada"}
    found.facts = {}
    return {figure.name: (figure.value, figure.of) for figure in measure(found)}


def test_a_mind_recalls_gifts_promises_and_who_told_it_what():
    figures = interviewed(notes=KNOWN)
    assert figures["recall"] == (1, 4)
    assert figures["refused"] == (1, 3)  # berries and two things that nobody has


def test_a_mind_that_notes_nothing_recalls_nothing():
    figures = interviewed(notes={})
    assert figures["recall"] == (0, 4)
    assert figures["refused"] == (1, 3)


def test_a_mind_that_mixes_up_who_gave_what_is_found_out():
    mixed = notes(MemoryNote(20, "Cleo gave me bread.", "cleo", kind="got"))
    assert interviewed(notes={"ada": mixed})["recall"] == (0, 4)


def test_without_experiences_there_is_no_recall():
    assert value(village("ada"), "recall") is None


def test_a_name_inside_another_is_no_right_answer():
    found = village("ada", "bram", gifts=[(20, Gift("bram", "ada", "bread", 1))])
    found.minds, found.facts, found.names["bram"] = {"ada"}, {}, "Ann"
    found.notes = {"ada": notes(MemoryNote(20, "Anna gave me bread.", "anna", kind="got"))}
    assert value(found, "recall") == 0
    found.notes = {"ada": notes(MemoryNote(20, "Ann gave me bread.", "bram", kind="got"))}
    assert value(found, "recall") == 1


def test_of_many_people_those_count_that_a_mind_knows():
    names = {f"p{number}": f"Name{number}" for number in range(150)}
    found = village(
        "ada", lines=lines((12, "p3", "Have you heard: The mill burns.")), talks=[TalkSpan("ada", "p3", 10, 18)]
    )
    found.names |= names
    found.minds, found.facts = {"ada"}, {}
    found.notes = {"ada": notes(MemoryNote(12, "The mill burns.", "p3", kind="heard", told_by="p3"))}
    assert value(found, "recall") == 1


# Facts


def test_a_fact_spreads_along_its_tellers():
    known = {"bram": notes(note(FACT, told_by="ada")), "cleo": notes(note(FACT, told_by="bram")), "dov": notes()}
    found = village("ada", "bram", "cleo", "dov", notes=known)
    assert value(found, f"diffusion: {FACT}", [FACT]) == 3 / 4
    assert value(found, f"invented: {FACT}", [FACT]) == 0


@pytest.mark.parametrize(
    ("fact", "noted"),
    [
        ("My brother fishes.", "Ada's brother fishes."),
        ("The " + "old " * 40 + "mill burns.", "The " + "old " * 28 + "old…"),
    ],
)
def test_a_fact_is_found_as_minds_note_it(fact, noted):
    found = village("ada", "bram", notes={"bram": notes(note(noted, told_by="ada"))})
    found.facts["ada"] = (fact,)
    assert value(found, f"diffusion: {fact}", [fact]) == 1


@pytest.mark.parametrize(
    "known",
    [
        {"bram": notes(note(FACT))},  # from nowhere
        {"bram": notes(note(FACT, told_by="eve"))},  # who does not know it
        {"bram": notes(note(FACT, told_by="cleo")), "cleo": notes(note(FACT, told_by="bram"))},  # from each other
    ],
)
def test_what_no_teller_had_from_its_source_is_invented(known):
    found = village("ada", "bram", "cleo", notes=known)
    assert value(found, f"diffusion: {FACT}", [FACT]) == 1 / 3  # the one in whom it was planted
    assert value(found, f"invented: {FACT}", [FACT]) == len(known)


def test_who_knew_in_time_and_came_was_at_the_party():
    known = {
        "bram": notes(note(FACT, told_by="ada")),  # in tick 1
        "cleo": notes(replace(note(FACT, told_by="ada"), tick_id=1500)),
        "dov": notes(replace(note(FACT, told_by="ada"), tick_id=2600)),  # too late for any
    }
    parties = {FACT: {1080: frozenset({"ada", "eve"}), 2520: frozenset({"bram", "cleo", "dov"})}}
    found = village("ada", "bram", "cleo", "dov", "eve", notes=known, parties=parties)
    figure = next(one for one in measure(found, [FACT]) if one.name == f"party: {FACT}")
    assert (figure.value, figure.of) == (2 / 3, 3)  # Ada on the first day, Cleo on the second, and not Bram
    assert not [one for one in measure(village("ada"), [FACT]) if one.name.startswith("party")]


def test_near_is_within_four_steps_of_a_rectangle():
    zone = ZoneInfo("square", ((10, 10, 12, 12), (30, 10, 30, 10)))
    x, y = np.array([6, 5, 16, 17, 10, 34, 34, -1]), np.array([10, 10, 16, 12, 11, 14, 15, -1])
    assert is_near(zone, x, y).tolist() == [True, False, True, False, True, True, False, False]
    assert not is_near(ZoneInfo("corner", ((0, 0, 3, 3),)), np.array([-1]), np.array([-1])).any()


def test_of_two_forms_of_a_fact_the_first_counts():
    fact = "My mill burns at the square at 18:00."
    first = note("Ada's mill burns at the square at 18:00.", told_by="ada")
    known = notes(first, replace(note(fact, told_by="cleo"), tick_id=9))
    found = village("ada", "bram", notes={"bram": known}, parties={fact: {5: frozenset({"bram"})}})
    found.facts = {"ada": (fact,)}
    figure = next(one for one in measure(found, [fact]) if one.name.startswith("party"))
    assert (figure.value, figure.of) == (1 / 2, 2)


# Cost


def call(latency_s=1.0, error="", prompt=100, completion=10, cached=None):
    return LlmCall(
        "ada", 1, 1, 2, "", latency_s, error, prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached
    )


def test_cost_is_that_of_thoughts_that_were_answered():
    found = village("ada", calls=[call(1.0, cached=80), call(3.0, cached=60), call(60.0, "timeout", None, None)])
    assert value(found, "thoughts answered") == 2 / 3
    assert value(found, "median thought in seconds") == 2
    assert value(found, "tokens per villager and day") == 110
    assert value(found, "prompt tokens from the cache") == 0.7


def test_without_counted_tokens_there_is_no_figure_of_them():
    assert value(village("ada"), "tokens per villager and day") is None
    assert value(village("ada", calls=[call(prompt=None, completion=None)]), "tokens per villager and day") is None


def test_an_endpoint_that_claims_more_than_it_read_and_thoughts_that_failed_quickly_make_no_figure_better():
    found = village("ada", calls=[call(9.0, cached=500), call(0.01, "timeout", None, None), call(0.01, "late")])
    assert value(found, "prompt tokens from the cache") == 1
    assert value(found, "thoughts answered") == 1 / 3
    assert value(found, "median thought in seconds") == 9


# Several runs, and reading


def test_several_runs_have_a_mean_and_an_interval():
    (mean,) = pooled([[Measure("plan", 0.8, 10)], [Measure("plan", 0.9, 20)], [Measure("plan", None, 0)]])
    assert mean.value == pytest.approx(0.85)
    assert mean.of == 30
    assert mean.spread == pytest.approx(12.706 * 0.0707 / 2**0.5, rel=0.01)
    assert pooled([[Measure("plan", None, 0)]]) == [Measure("plan", None, 0)]
    assert pooled([[Measure("plan", 0.8, 10)], [Measure("plan", None, 0)]])[0].spread is None


def test_talks_and_plans_are_read_from_what_minds_show():
    def seen(tick_id, who="ada", **board):
        return Insight(who, tick_id, board=tuple(BoardEntry(key, value) for key, value in board.items()))

    found = MindMaterial(DAY, 100)
    _read_insights(
        found,
        [
            seen(5, talk='{"with": "bram", "lines": 0}'),
            seen(7, talk='{"with": "bram", "lines": 1}'),
            seen(9, talk='{"with": "cleo", "lines": 0}'),
            seen(12, talk="null", today='["08:00 work: waiting"]'),
            seen(13, today='["08:00 work: done"]'),
            seen(14, talk='{"wi', today="7"),  # cut, or something else
            seen(90, "bram", talk='{"with": "ada"}'),
        ],
    )
    assert found.talks == [
        TalkSpan("ada", "bram", 5, 9),
        TalkSpan("ada", "cleo", 9, 12),
        TalkSpan("bram", "ada", 90, 100),
    ]
    assert found.plans == {("ada", 1): ("08:00 work: done",)}
    assert found.minds == {"ada", "bram"}


# The page


def test_a_page_shows_who_learnt_what_from_whom_promises_plans_and_relations():
    found = village(
        "ada",
        "bram",
        "cleo",
        lines=lines(*ASKED),
        talks=[TalkSpan("ada", "bram", 101, 110)],
        gifts=[(200, Gift("ada", "bram", "bread", 2))],
        notes={
            "ada": notes(note("Bram likes bread.", "bram")),
            "bram": notes(note(FACT, told_by="ada"), note("Ada has a mill.", "ada")),
        },
        plans={("ada", 1): ("08:00 work: done", "12:00 meet: failed")},
    )
    shown = measures_page(["run-1"], {"run-1": found}, measure(found, [FACT]), [FACT])
    assert f"<h2>Who knows: {FACT}</h2>" in shown
    assert "<td>day 1, 00:01</td><td>Bram</td><td>Ada</td>" in shown
    assert "<td>day 1, 01:42</td><td>Ada</td><td>Bram</td><td>2 bread</td><td>04:00</td><td>kept</td>" in shown
    assert shown.count("opacity=") == 1  # of the three, Ada and Bram know each other
    assert shown.count("<circle ") == 3
    assert '<span class="name">Ada</span><span class="track">' in shown  # her plan
    assert "<polyline" in shown


def test_texts_of_a_run_stay_texts_on_the_page():
    name = "<script>alert(1)</script>"
    found = village("ada", "bram", notes={"bram": notes(note(FACT, told_by="ada"))})
    found.names = {"ada": name, "bram": name}
    shown = measures_page([name], {name: found}, measure(found, [FACT]), [FACT])
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_a_page_stays_small_and_says_what_is_left_out():
    many = [f"mind{number}" for number in range(100)]
    found = village(*many, notes={one: notes(*(note(f"{other} sings.", other) for other in many)) for one in many})
    shown = measures_page([f"run-{number}" for number in range(9)], {"run-0": found}, measure(found))
    assert len(shown) < 400_000
    assert "and 40 more" in shown
    assert "Details of the first 1 runs follow." in shown


def test_a_page_of_runs_without_minds_says_so():
    shown = measures_page(["a", "b"], {"a": MindMaterial(), "b": MindMaterial()}, measure(MindMaterial()))
    assert shown.count("Nothing to show.") == 4
    assert "Promises (b)" in shown


# Commons


def test_the_commons_measure_is_through_how_many_periods_sources_lasted():
    lasting = village("ada", doubling={"meadow": 240})
    assert value(lasting, "commons") == 1
    lost = village("ada", doubling={"meadow": 240, "pond": 480}, used_up={"meadow": 1000})
    assert value(lost, "commons") == (4 + 6) / (12 + 6)
    assert all(figure.name != "commons" for figure in measure(village("ada")))
    assert "commons" in measure_names(), "an experiment may ask for it"


def test_a_source_that_was_used_up_once_does_not_last_though_it_is_filled_again():
    found = village("ada", doubling={"meadow": 240}, used_up={"meadow": 239})
    assert value(found, "commons") == 0


def test_only_an_empty_stock_that_doubles_is_used_up():
    deltas = [
        ObjectDelta("meadow", "stock", 1),
        ObjectDelta("bush", "stock", 0),
        ObjectDelta("meadow", "work_remaining", 0),
        ObjectDelta("pond", "stock", 0),
    ]
    assert emptied(deltas, {"meadow", "pond"}) == ["pond"]
