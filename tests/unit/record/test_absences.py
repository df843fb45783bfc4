"""Actors that come into the world and leave it: on record, in the figures of a run, and in its events."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.world.test_arrivals import GUEST, HOST, INN

from tickmind.protocol import Direction, Give, Move, Placement, Reason, Say, Wait
from tickmind.record import EventKind, OsDisk, RunStore, TickCounts, TileArea
from tickmind.record.meta import read_meta
from tickmind.record.replay.past_world import PastWorld
from tickmind.record.report import page, read_figures
from tickmind.record.report.comparison import compare_runs
from tickmind.record.report.figures import AverageNeeds
from tickmind.record.testing import differences
from tickmind.world import TileWorld, parse_scenario

ZONES = "zones: {bar: {within: [0, 0, 1, 0]}, porch: {within: [4, 0, 4, 0]}}\n"
NOT_YET = "  - {id: traveller, at: [4, 0], arrives: {tick: 1000}}\n"
TEXT = INN.replace("actors:\n", f"{ZONES}actors:\n") + NOT_YET
TICKS = 9
LAST_TICK = 5  # of the guest, who is gone after it


def intents(tick_id):
    if tick_id == 4:
        return {GUEST: Say(text="Good evening"), HOST: Say(text="Welcome")}
    return {GUEST: Give("host", "coin"), HOST: Wait()} if tick_id == LAST_TICK else {}


def recorded(store, run_id, text=TEXT):
    """Record a run in which the guest comes, talks, pays and leaves; controlled is who is there, but for a while."""
    world, records = TileWorld.from_scenario(parse_scenario(text)), []
    log = store.create(world.info, run_id)
    for _tick in range(TICKS):
        controlled = world.present.copy()
        controlled[GUEST] &= world.tick_id > 3  # its agent needs a tick
        controlled[HOST] = world.tick_id != 7
        records.append(world.step(intents(world.tick_id), controlled))
        log.publish(records[-1])
    return log, records


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("runs"))
    log, records = recorded(store, "inn")
    log.close()
    return store, records, read_figures(store.folder("inn"))


def test_a_run_is_read_as_it_happened_before_and_after_it_is_finished(tmp_path):
    store = RunStore(tmp_path)
    log, records = recorded(store, "inn")
    there = [bool(record.actor_state.x[GUEST] >= 0) for record in records]
    assert there == [False, True, True, True, False, False, False, False, False]
    for finish in (lambda: None, log.close):
        finish()
        with store.open("inn") as run:
            assert [differences(*both) for both in zip(run.records(), records, strict=True)] == [[]] * TICKS
            history = run.actor_history("guest")
            assert history.state.x.tolist() == [-1, 1, 1, 1, -1, -1, -1, -1, -1]
            assert run.state_at(1).present.tolist() == [False, True, False]
            assert [one.away.tolist() for one in run.counts()] == [
                np.flatnonzero(~record.actor_state.present).tolist() for record in records
            ]
            assert [one.actors for one in run.counts()] == [1, 2, 2, 2, 1, 1, 1, 1, 1]
            assert [one.uncontrolled for one in run.counts()] == [TickCounts.of(each).uncontrolled for each in records]
            assert sum(one.uncontrolled for one in run.counts()) == 3  # the guest when it comes, the host in tick 7
    assert read_meta(OsDisk(), store.folder("inn"))[0].absences


def test_a_run_in_which_all_were_there_says_so(tmp_path):
    store = RunStore(tmp_path)
    log, _ = recorded(store, "inn", INN.replace(", arrives: {tick: 3}, leaves: {tick: 6}", ""))
    log.close()
    assert not read_meta(OsDisk(), store.folder("inn"))[0].absences
    figures = read_figures(store.folder("inn"))
    assert str(figures.presence) == ""
    assert "arrived" not in page(figures)


def test_the_log_keeps_an_arrival_beside_the_corner_of_the_map(tmp_path):
    # From (-1, -1) to (0, 0) is as far as a step, and so is the way back.
    store = RunStore(tmp_path)
    log, records = recorded(store, "inn", TEXT.replace("at: [1, 0]", "at: [0, 0]"))
    with store.open("inn") as run:
        assert [differences(*both) for both in zip(run.records(), records, strict=True)] == [[]] * TICKS
        assert run.state_at(2).x[GUEST] == 0
    log.close(seal=False)


def test_what_an_actor_does_in_its_last_tick_happens_where_it_was(finished):
    store = finished[0]
    with store.open("inn") as run:
        found = list(run.events(LAST_TICK, LAST_TICK, kinds=[EventKind.ACTION, EventKind.GIFT]))
        assert {(event.kind, event.subject_id, event.x) for event in found} == {
            (EventKind.ACTION, "guest", 1),
            (EventKind.ACTION, "host", 2),
            (EventKind.GIFT, "guest", 1),
            (EventKind.GIFT, "host", 2),
        }
        bar = list(run.events(region=TileArea(0, 0, 1, 0), kinds=[EventKind.ACTION]))
        assert [(event.tick_id, event.subject_id) for event in bar] == [(4, "guest"), (LAST_TICK, "guest")]


def test_an_actor_that_is_away_is_in_no_region(tmp_path):
    store, world = RunStore(tmp_path), TileWorld.from_scenario(parse_scenario(TEXT))
    log = store.create(world.info, "inn")
    for _ in range(2):
        log.publish(world.step({GUEST: Move(Direction.E)}))
    with store.open("inn") as run:
        assert [(event.x, event.y) for event in run.events(1, 1)] == [(-1, -1)]
        assert not list(run.events(1, 1, region=TileArea(-9, -9, 99, 99)))
    log.close(seal=False)


def test_time_away_counts_neither_in_zones_nor_outside(finished):
    _, _, figures = finished
    stays = {one.actor_id: dict(one.shares) for one in figures.stays}
    assert stays["guest"] == {"bar": 1.0}
    assert stays["host"] == {"": 1.0}
    assert "traveller" not in stays
    assert figures.actor_ticks == 3 + TICKS
    assert {zone.name: (zone.visitors, zone.actor_ticks) for zone in figures.zones} == {"bar": (1, 3), "porch": (0, 0)}
    assert "more</p>" not in page(figures)  # the traveller never was anywhere


def test_the_report_counts_those_that_are_there(finished):
    _, _, figures = finished
    assert [one.awake + one.asleep + one.uncontrolled for one in figures.moments] == [1, 2, 2, 2, 1, 1, 1, 1, 1]
    assert str(figures.presence) == "1 arrived, 1 left, 1 never came, at most 2 there at once"
    assert str(figures.presence) in page(figures)
    (talk,) = figures.conversations
    assert talk.speakers == ("guest", "host")


def test_where_one_state_is_usual_only_the_others_are_drawn(finished):
    _, _, figures = finished
    night = tuple(AverageNeeds(tick, 10 - asleep, asleep, 0, 0) for tick, asleep in enumerate([0, 0, 5, 1, 0]))
    drawn = page(replace(figures, moments=night))
    assert "How many actors were not awake and controlled" in drawn
    assert "How many actors were in which state" not in drawn
    half = tuple(AverageNeeds(tick, 5, 5, 0, 0) for tick in range(5))
    assert "How many actors were in which state" in page(replace(figures, moments=half))
    assert "How many actors" not in page(replace(figures, moments=()))


def test_no_agent_is_missed_by_an_actor_that_is_away_or_has_just_come(finished):
    _, _, figures = finished
    assert [(one.name, one.first_tick_id, one.last_tick_id) for one in figures.outages] == [("host", 7, 7)]


def test_its_past_can_be_stepped_again_and_compared(finished):
    store = finished[0]
    again, _ = recorded(store, "again")
    again.close()
    with store.open("inn") as run, store.open("again") as other:
        assert compare_runs(run, other).equal
        there = [tick.present.tolist() for tick in PastWorld(run, parse_scenario(TEXT)).ticks()]
    assert there == [[here, True, False] for here in (False, False, True, True, True, False, False, False, False)]


def test_orders_of_operators_are_on_record_and_its_world_is_stepped_again(tmp_path):
    store = RunStore(tmp_path)
    scenario = parse_scenario(INN.replace("{tick: 3}, leaves: {tick: 6}", "never"))
    world, records = TileWorld.from_scenario(scenario), []
    log = store.create(world.info, "inn")
    for orders in [(), (Placement("guest", 4, 0), Placement("guest", 3, 0)), (), (Placement("host"),), ()]:
        records.append(world.step({HOST: Move(Direction.W)}, None, orders))
        log.publish(records[-1])
    assert [order.reason for order in records[1].placements] == [Reason.NONE, Reason.ALREADY_THERE]
    for finish in (lambda: None, log.close):
        finish()
        with store.open("inn") as run:
            assert [differences(*both) for both in zip(run.records(), records, strict=True)] == [[]] * 5
            assert [tick.record.tick_id for tick in PastWorld(run, scenario).ticks()] == [1, 2, 3, 4, 5]
