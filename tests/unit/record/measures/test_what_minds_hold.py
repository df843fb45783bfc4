"""Measures of what minds still hold, what others conclude of them, and the hours that they work."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.memory import HeldNumbers, Memory
from tickmind.protocol import BoardEntry, Insight, MemoryNote, Persona
from tickmind.protocol.setting import CalendarInfo
from tickmind.record.measures import MindMaterial, measure, measures_page
from tickmind.record.measures.material import BondChange, _read_insights
from tickmind.record.measures.presence import Presence, working_hours
from tickmind.record.pages import charts
from tickmind.record.tables.gifts import Gift
from tickmind.world import TileWorld, parse_scenario

DAY = CalendarInfo(day_ticks=1440, first_minute=0)
FACT = "There is a feast at the square at 18:00."


def lived(*who, notes=(), held=None, **more):
    """A run of minds of two days: `notes` are pairs of a mind and a note, `held` what some still have."""
    found = MindMaterial(DAY, 2880, names={one: one.capitalize() for one in who}, minds=set(who), **more)
    found.facts = {who[0]: (FACT,)}
    for mind, note in notes:
        found.notes.setdefault(mind, {}).setdefault(note.text, note)
        found.numbered.setdefault(mind, {})[note.number] = note
    found.held = dict(held or {})
    return found


def figure(found, name, facts=()):
    return next(one for one in measure(found, facts) if one.name == name)


# What is held


@given(st.sets(st.integers(1, 5000)), st.integers(0, 6000))
def test_numbers_come_back_from_their_short_form(numbers, more):
    held = HeldNumbers(max(numbers, default=0) + more, frozenset(numbers))
    assert HeldNumbers.read(held.packed()) == held
    assert not held.lost(held.last + 1), "of later ones nothing is known"


@pytest.mark.parametrize("text", ["", "7", "x:AA==", "7:A", "7:????", "9999999999:AA==", "7:AA==x"])
def test_another_text_is_no_such_form(text):
    with pytest.raises(ValueError, match=r"numbers|base64|[Pp]add"):
        HeldNumbers.read(text)


def test_a_memory_says_which_entries_it_has_lost():
    memory = Memory()
    for number in range(1, 5):
        memory.note(number, f"I saw fox {number}.")
    before = memory.losses
    memory.forget(2)
    assert memory.losses > before
    assert [number for number in range(1, 9) if memory.held().lost(number)] == [2]


def test_what_a_mind_shows_of_its_memory_is_read_and_something_else_is_not():
    def seen(value):
        return Insight("ada", 5, board=(BoardEntry("remembers", value),), memories=(MemoryNote(1, "A.", number=3),))

    found = MindMaterial(DAY, 10)
    _read_insights(found, [seen('"4:AA=="')])
    assert found.held["ada"].lost(3)
    for other in ("7", '"many"', '"4:AA'):
        found = MindMaterial(DAY, 10)
        _read_insights(found, [seen(other)])
        assert not found.held
        assert [note.text for note in found.remembered("ada")] == ["A."]


GOT = MemoryNote(20, "Bram gave me bread.", "bram", kind="got", number=1)
TOLD = MemoryNote(30, FACT, "ada", kind="heard", told_by="ada", number=2)


def test_what_was_forgotten_is_not_recalled_and_not_held():
    gifts = [(20, Gift("bram", "ada", "bread", 1))]
    notes = [("ada", GOT), ("bram", TOLD)]
    assert figure(lived("ada", "bram", notes=notes, gifts=gifts), "recall").value == 1 / 2  # Bram has no note of it
    gone = {"ada": HeldNumbers(1, frozenset()), "bram": HeldNumbers(2, frozenset())}
    lost = lived("ada", "bram", notes=notes, gifts=gifts, held=gone)
    assert figure(lost, "recall").value == 0
    assert figure(lost, f"diffusion: {FACT}", [FACT]).value == 1 / 2


def test_a_chain_of_tellers_counts_though_one_of_them_has_forgotten():
    notes = [("bram", TOLD), ("cleo", replace(TOLD, told_by="bram"))]
    found = lived("ada", "bram", "cleo", notes=notes, held={"bram": HeldNumbers(2, frozenset())})
    assert figure(found, f"diffusion: {FACT}", [FACT]).value == 2 / 3
    assert figure(found, f"invented: {FACT}", [FACT]).value == 0


# Relations


def test_to_have_seen_another_or_to_have_heard_its_news_of_others_is_no_relation():
    known = [
        ("ada", MemoryNote(1, "I saw Bram at the mill.", "bram", kind="saw", number=1)),
        ("bram", MemoryNote(1, "Cleo picked berries.", "ada", kind="heard", told_by="ada", number=1)),
        ("cleo", MemoryNote(1, "I gave bread to Bramble.", "bread", kind="gave", number=1)),
    ]
    assert figure(lived("ada", "bram", "cleo", notes=known), "density").value == 0
    known.append(("ada", MemoryNote(2, "One often sees Bram at the mill.", "bram", kind="insight", number=2)))
    known.append(("bram", MemoryNote(2, "Ada is warm.", "cleo", kind="heard", told_by="cleo", number=2)))
    assert figure(lived("ada", "bram", "cleo", notes=known), "density").value == 1 / 3


def test_to_be_greeted_by_name_is_no_relation():
    def heard(mind, text):
        other = "bram" if mind == "ada" else "ada"
        return mind, MemoryNote(1, f"{other.capitalize()} said to me: {text}", other, kind="heard", number=1)

    greeted = [heard("ada", "Hello, ada! I am Bram."), heard("bram", "Good day, Bram. I am Ada.")]
    assert figure(lived("ada", "bram", notes=greeted), "density").value == 0
    told = [heard("ada", "Bram has a mill."), heard("bram", "Ada is afraid of geese.")]
    assert figure(lived("ada", "bram", notes=told), "density").value == 1


# Plans


def test_who_plans_nothing_gains_nothing():
    plans = {("ada", 1): ("08:00 work at mill: done", "16:00 meet: done", "21:00 rest: failed")}
    found = lived("ada", "bram", plans=plans, usual_errands={"ada": 3, "bram": 3})
    assert (figure(found, "plan").value, figure(found, "plan").of) == (2 / 12, 12)  # two minds for two days


# Habits and working hours

VILLAGE = """
world: hours
seed: 1
rules: {world_version: "1.1.0", tick_duration_ms: 100, intent_deadline_ms: 50, sight_radius: 5}
legend: {".": {floor: grass}}
floors: {grass: {}}
zones:
  mill: {within: [0, 0, 2, 2]}
  house: {within: [6, 0, 8, 2]}
calendar: {day_ticks: 48, begins: "00:00", night: ["22:00", "06:00"]}
personas:
  ada: {name: Ada, work: mill, home: house}
  bram: {name: Bram, habits: ["09:00 work at the mill", "12:00 rest"], work: mill}
actors:
  - {id: ada, type: villager, at: [1, 1]}
  - {id: bram, type: villager, at: [7, 1]}
map: |
  .........
  .........
  .........
"""


def present(ticks=48, away=(), village=VILLAGE):
    """Where Ada, at the mill, and Bram, at the house, were in a day; in some ticks Ada was at the house as well."""
    world = TileWorld.from_scenario(parse_scenario(village))
    presence = Presence(world.info)
    for _ in range(ticks):
        record = world.step({})
        state = record.actor_state
        x = np.array([7, 7], dtype=np.int32) if record.tick_id in away else state.x
        presence.follow(replace(record, actor_state=replace(state, x=x, status_bits=state.status_bits * 0)))
    return presence


def test_the_hours_of_work_are_those_of_habits_or_the_usual_ones_less_the_way_there():
    assert working_hours(Persona(work="mill"), ["mill"]) == set(range(9, 16))
    assert working_hours(Persona(work="mill", habits=("09:00 work", "12:00 rest")), ["mill"]) == {10, 11}
    assert working_hours(Persona(work="mill", habits=("20:00 work", "02:00 rest")), ["mill"]) == {21, 22, 23, 0, 1}
    assert working_hours(Persona(habits=("09:00 meet",)), []) == set()


def test_hours_at_the_place_of_work_are_worked_and_those_elsewhere_are_not():
    assert present().haunt("ada") == "mill"
    assert present().haunt("bram") == "house"
    assert present().haunt("nobody") == ""
    assert present().share("bram", "mill") == 0
    assert present().worked == (7, 9)  # all of Ada's, none of Bram's two
    assert present(away=range(20, 26)).worked == (4, 9)
    assert present(away=(20, 21)).worked == (7, 9)  # an hour of walking to and fro, as to fetch something
    assert present(ticks=10).worked == (0, 0)


def test_festivals_are_no_hours_of_work_nor_is_the_hour_after_one_which_is_for_the_way():
    fair = 'calendar: {festivals: {fair: {day: 1, hours: ["10:00", "12:00"], where: house}}, '
    village = VILLAGE.replace("calendar: {", fair)
    assert present(village=village).worked == (4, 4)  # Ada's at 9, 13, 14 and 15, and none of Bram's
    assert present(village=village, away=range(20, 26)).worked == (4, 4)  # at the fair, and on the way back
    assert present(village=village, away=range(20, 28)).worked == (3, 4)  # who stays away does not work


def test_recall_asks_for_the_habits_of_others_and_a_single_sighting_elsewhere_is_a_wrong_answer():
    saw = [MemoryNote(tick, "I saw Ada at the mill.", "ada", kind="saw", number=tick) for tick in (7, 17)]
    wrong = MemoryNote(19, "I saw Ada at the house.", "ada", kind="saw", importance=0.2, number=19)
    often = MemoryNote(20, "One often sees Ada at the mill.", "ada", kind="insight", importance=0.8, number=20)

    def recall(*notes, lost=()):
        held = HeldNumbers(30, frozenset(range(31)) - set(lost))
        found = lived("ada", "bram", notes=[("bram", note) for note in notes], held={"bram": held})
        found.presence, found.facts = present(), {}
        return figure(found, "recall").value, figure(found, "recall").of

    assert recall(*saw, wrong, often) == (1, 1)
    assert recall(*saw, wrong, often, lost=(7, 17, 20)) == (0, 1)
    assert recall(saw[0]) == (None, 0), "it has not seen her often"


def test_a_page_shows_on_a_map_who_knew_a_fact_when_and_from_whom():
    found = lived("ada", "bram", notes=[("bram", replace(TOLD, tick_id=17))])
    found.presence = present()
    shown = measures_page(["run"], {"run": found}, measure(found, [FACT]), [FACT])
    assert "The guide “Measures of minds” defines each measure" in shown
    maps = shown.split('<figure class="moment">')[1:]
    assert len(maps) > 1
    assert "1 of 2" in maps[0]
    assert maps[0].count(f'fill="{charts.SERIES[1]}"') == 1  # Ada knows it
    assert "2 of 2" in maps[-1]
    assert maps[-1].count(f'fill="{charts.SERIES[1]}"') == 2
    assert sum(one.count("<line") for one in maps) == 1  # from Ada to Bram
    found.names = {"ada": "<b>Ada", "bram": "Bram"}
    assert "<b>" not in measures_page(["run"], {"run": found}, measure(found, [FACT]), [FACT])


def test_friends_and_those_who_fell_out_are_thick_lines_between_minds():
    known = [
        (one, MemoryNote(1, f"{other.capitalize()} is warm.", other, kind="insight", number=place))
        for place, (one, other) in enumerate((a, b) for a in ("ada", "bram", "cleo") for b in ("ada", "bram", "cleo"))
        if one != other
    ]
    found = lived("ada", "bram", "cleo", notes=[(one, replace(note, number=note.number + 1)) for one, note in known])
    found.bonds = [
        BondChange(5, "ada", "Bram", "close"),
        BondChange(6, "bram", "Ada", "close"),
        BondChange(7, "cleo", "Ada", "cold"),
        BondChange(8, "cleo", "Bram", "close"),  # of one side only
    ]
    shown = measures_page(["run"], {"run": found}, measure(found))
    assert "95 %" not in shown  # of one run there is no interval
    assert shown.count(f'stroke="{charts.SERIES[0]}" stroke-width="3"') == 1
    assert shown.count(f'stroke="{charts.BAD}" stroke-width="3"') == 1
