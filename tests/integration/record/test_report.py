"""The report of a run that really happened, against counting by hand."""

import random
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.protocol import ActorStatus, Direction, Intent, Move, Pickup, Say, Thought, ThoughtReport
from tickmind.record import RunStore
from tickmind.record.errors import DamagedRunError, RunNotFinishedError
from tickmind.record.report import Outage, note_outages, page, read_figures
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TICKS = 120


def live(store, run_id, *, close=True):
    """A run of six actors in which agents go missing and a model fails; gives the records."""
    world = TileWorld.from_scenario(meadow(6))
    log, chance, records = store.create(world.info, run_id), random.Random(3), []
    for tick in range(1, TICKS + 1):
        controlled = np.ones(6, dtype=bool)
        controlled[1] = not 40 <= tick < 55
        controlled[4] = tick >= 20
        intents: dict[int, Intent] = {}
        for row in np.flatnonzero(controlled).tolist():
            draw = chance.random()
            if draw < 0.7:
                intents[row] = Move(Direction(chance.randrange(8)))
            elif draw < 0.8:
                intents[row] = Say(text=NASTY if draw < 0.72 else "Good morning")
            elif draw < 0.9:
                intents[row] = Pickup(kind="berries")
        if tick % 4 == 0:
            failed = "RateLimitError" if 60 <= tick <= 80 else ""
            thought = Thought(
                *(0, tick - 1, tick, "s", "u"),
                model=NASTY if tick == 4 else "small",
                prompt_tokens=10,
                completion_tokens=2,
                latency_s=0.5,
                cost_usd=0.25,
                error_type=failed,
            )
            log.thought(ThoughtReport(world.info.actors[0].entity_id, tick, thought))
        record = world.step(intents, controlled)
        log.publish(record)
        records.append(record)
    if close:
        log.close()
    return records


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("runs"))
    records = live(store, "talk")
    return store, records, read_figures(store.folder("talk"))


def test_it_counts_what_a_slow_count_counts(run):
    _, records, figures = run
    results = [result for record in records for result in record.action_results()]
    tried, worked = (
        Counter(str(one.action_type) for one in results),
        Counter(str(one.action_type) for one in results if one.ok),
    )
    assert {one.action: (one.tried, one.worked) for one in figures.actions} == {
        action: (count, worked[action]) for action, count in tried.items()
    }
    failed = Counter((str(one.action_type), str(one.reason)) for one in results if not one.ok)
    assert {(one.action, one.reason): one.count for one in figures.failures} == failed
    assert (figures.ticks, figures.actors) == (TICKS, 6)
    assert figures.utterances == sum(len(record.utterances) for record in records)


def test_the_heat_map_is_where_they_stood(run):
    _, records, figures = run
    counts = np.zeros((figures.height, figures.width), dtype=np.int64)
    for record in records:
        np.add.at(counts, (record.actor_state.y, record.actor_state.x), 1)
    assert figures.heat.tiles_per_cell == 1
    assert np.array_equal(figures.heat.counts, counts)


def test_states_over_time_add_up_to_all_actors(run):
    _, records, figures = run
    assert len(figures.moments) == TICKS
    for moment, record in zip(figures.moments, records, strict=True):
        bits = record.actor_state.status_bits
        assert moment.uncontrolled == np.count_nonzero(bits & ActorStatus.UNCONTROLLED)
        assert moment.awake + moment.asleep + moment.incapacitated + moment.uncontrolled == 6


def test_the_summary_says_how_many_outages_it_leaves_out_and_that_nobody_did_anything(tmp_path):
    store, world = RunStore(tmp_path), TileWorld.from_scenario(meadow(2))
    with store.create(world.info, "quiet") as log:
        log.publish(world.step({}, np.ones(2, dtype=bool)))
    note_outages(store.folder("quiet"), [Outage("noted", f"trouble {number}", 1, 1, "") for number in range(20)])
    told = CliRunner().invoke(app, ["report", "quiet", "--runs", str(tmp_path)])
    assert told.exit_code == 0, told.output
    assert "No character did anything." in told.stdout
    assert "20 outages\n  trouble 0: ticks 1 to 1\n" in told.stdout
    assert "  and 12 more on the page\n" in told.stdout


def test_outages_are_those_that_were_made(run):
    _, records, figures = run
    agents = [(one.name, one.first_tick_id, one.last_tick_id) for one in figures.outages if one.kind == "agent"]
    assert agents == [(records[0].actor_ids[1], 40, 54)]  # who was never controlled before has lost nobody
    models = [(one.name, one.first_tick_id, one.last_tick_id) for one in figures.outages if one.kind == "model"]
    assert models == [("small", 60, 80)]


def test_calls_that_failed_without_a_model_end_with_the_next_answer(tmp_path):
    world = TileWorld.from_scenario(meadow(6))
    store = RunStore(tmp_path)
    log = store.create(world.info, "calls")
    for tick in range(1, 13):
        failed = tick in (2, 3, 4, 8, 9)
        thought = Thought(*(0, tick, tick, "s", "u"), model="" if failed else "small", error_type="Gone" * failed)
        log.thought(ThoughtReport(world.info.actors[0].entity_id, tick, thought))
        log.publish(world.step({}))
    log.close()
    found = read_figures(store.folder("calls")).outages
    assert [(one.first_tick_id, one.last_tick_id) for one in found if one.kind == "model"] == [(2, 4), (8, 9)]


def test_what_was_noted_beside_a_run_is_in_its_report(tmp_path):
    store = RunStore(tmp_path)
    live(store, "noted")
    folder = store.folder("noted")
    note_outages(folder, [Outage("noted", f"the world {NASTY}", 5, 9, "it was killed")])
    figures = read_figures(folder)
    assert figures.outages[0] == Outage("noted", f"the world {NASTY}", 5, 9, "it was killed")
    assert "Noted while it ran" in page(figures)
    assert NASTY not in page(figures)
    for spoilt in ("[1]", "{", '[{"name": "a", "first_tick_id": 3, "last_tick_id": 2, "detail": ""}]'):
        (folder / "outages.json").write_text(spoilt)
        with pytest.raises(DamagedRunError, match=r"outages\.json"):
            read_figures(folder)


def test_model_calls_have_their_tokens_and_their_cost(run):
    _, _, figures = run
    small = next(model for model in figures.models if model.model == "small")
    assert (small.calls, small.failed, small.prompt_tokens, small.completion_tokens) == (29, 6, 290, 58)
    assert figures.cost_usd == pytest.approx(0.25 * 30)
    assert sum(one.answered + one.failed for one in figures.calls) == 30


def test_a_run_that_goes_on_says_to_wait_or_to_recover(tmp_path):
    store = RunStore(tmp_path)
    live(store, "open", close=False)
    with pytest.raises(RunNotFinishedError, match="tickmind recover open"):
        read_figures(store.folder("open"))


def test_a_damaged_table_is_a_plain_error(tmp_path):
    store = RunStore(tmp_path)
    live(store, "spoilt")
    file = store.folder("spoilt") / "utterances.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(DamagedRunError, match="utterances"):
        read_figures(store.folder("spoilt"))


def test_the_command_tells_the_figures_and_where_the_page_is(tmp_path):
    live(RunStore(tmp_path), "told")
    done = CliRunner().invoke(app, ["report", "told", "--runs", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "ticks 1 to 120, 6 actors" in done.stdout
    assert " had no agent: ticks 40 to 54\n" in done.stdout
    assert "the model small failed call after call: ticks 60 to 80" in done.stdout
    assert done.stdout.strip().endswith("report.html")
    assert (tmp_path / "told" / "report.html").stat().st_size > 5000
    missing = CliRunner().invoke(app, ["report", "nothere", "--runs", str(tmp_path)])
    assert missing.exit_code == 1
    assert "tickmind runs" in missing.output
