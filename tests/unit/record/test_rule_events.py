"""Goals and what rules of the user's own did are recorded, before and after a run is finished."""

import json
from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.protocol import Effect, RuleEvent
from tickmind.record import DamagedRunError, RunStore
from tickmind.record.log import rule_event_codec
from tickmind.record.report import page, read_figures
from tickmind.record.tables import world_files
from tickmind.world import TileWorld, parse_scenario

PARTY = """
world: party
floors: {grass: {}}
items: {coin: {}}
map: {width: 9, height: 3, floor: grass}
zones: {west: {within: [0, 0, 3, 2]}}
actors:
  - {id: ada, type: guest, at: [0, 0], inventory: {coin: 1}}
  - {id: bo, type: guest, at: [1, 0]}
goals:
  here: {who: {type: guest}, all_in: west, score: 5}
  rich: {carry: {coin: 9}, score: 2}
  night: {tick: 3, score: 1, ends: true}
"""
GIFT = RuleEvent("lottery", ("bo",), own=True, text="a prize", effects=(Effect("inventory.coin", 3),), score=4)


def recorded(folder, *, seal=True):
    """A run of three ticks; in the second one a rule of the user's own gives something."""
    world = TileWorld.from_scenario(parse_scenario(PARTY))
    store = RunStore(folder)
    log = store.create(world.info, "party")
    records = [world.step({}) for _ in range(3)]
    records[1] = replace(records[1], rule_events=(GIFT,))
    for record in records:
        log.publish(record)
    log.close(seal=seal)
    return world.info, store, records


@pytest.mark.parametrize("seal", [False, True])
def test_a_reader_has_them_by_tick(tmp_path, seal):
    info, store, records = recorded(tmp_path, seal=seal)
    with store.open("party") as run:
        assert run.info.goals == info.goals
        assert [record.rule_events for record in run.records()] == [record.rule_events for record in records]
        assert [record.ends for record in run.records()] == [False, False, True]
        assert [tick_id for tick_id, _ in run.rule_events()] == [1, 2, 3]
        assert list(run.rule_events(2, 2)) == [(2, (GIFT,))]
        assert run.tick(3).rule_events == (RuleEvent("night", score=1, ends=True),)


@pytest.mark.parametrize("seal", [False, True])
def test_items_of_a_rule_are_in_the_inventories(tmp_path, seal):
    _, store, _ = recorded(tmp_path, seal=seal)
    with store.open("party") as run:
        assert [run.inventories_at(tick_id)["bo"].get("coin", 0) for tick_id in (2, 3)] == [3, 3]
        assert "bo" not in run.inventories_at(1)


def test_the_table_has_a_row_for_each_actor(tmp_path):
    recorded(tmp_path)
    table = pl.read_parquet(tmp_path / "party" / "rule_events.parquet")
    assert table.select("tick_id", "event", "name", "actor_id", "score", "ends", "own", "text").rows() == [
        (1, 0, "here", "ada", 5, False, False, ""),
        (1, 0, "here", "bo", 5, False, False, ""),
        (2, 0, "lottery", "bo", 4, False, True, "a prize"),
        (3, 0, "night", None, 1, True, False, ""),
    ]
    assert json.loads(table["effects_json"][2]) == [{"name": "inventory.coin", "value": 3}]


def test_a_world_without_goals_writes_none_into_its_description(tmp_path):
    world = TileWorld.from_scenario(parse_scenario(PARTY[: PARTY.index("goals:")]))
    assert "goals" not in world_files.world_document(world.info)


def test_the_report_lists_goals_and_scores(tmp_path):
    recorded(tmp_path)
    figures = read_figures(tmp_path / "party")
    assert [(one.name, one.first_tick_id, one.times, one.points, one.ended) for one in figures.goals] == [
        ("here", 1, 2, 10, False),
        ("night", 3, 1, 1, True),
        ("rich", None, 0, 0, False),
    ]
    assert [(one.name, one.first_tick_id, one.times, one.points) for one in figures.own_rules] == [("lottery", 2, 1, 4)]
    assert [(one.actor_id, one.points) for one in figures.scores] == [("bo", 9), ("ada", 5), ("", 1)]
    html = page(figures)
    for text in ("guest: all in west", "not reached", "tick 3, the end", "the world"):
        assert text in html
    goals, own_rules, scores = (html.index(f">{title}</h2>") for title in ("Goals", "Rules of your own", "Scores"))
    assert goals < html.index("rich") < own_rules < html.index("lottery") < scores


def test_the_summary_of_a_report_tells_goals_from_rules(tmp_path):
    recorded(tmp_path)
    shown = CliRunner().invoke(app, ["report", "party", "--runs", str(tmp_path)]).output
    goals, own_rules, scores = (shown.index(f"{title}") for title in ("Goals", "Rules of your own", "Scores"))
    assert goals < shown.index("rich") < own_rules < shown.index("lottery") < scores


def test_the_page_escapes_what_a_run_says(tmp_path, monkeypatch):
    monkeypatch.setattr(world_files, "goal_document", lambda goal: {"name": f"<b>{goal.name}", "tick_id": 1})
    recorded(tmp_path)
    html = page(read_figures(tmp_path / "party"))
    assert "&lt;b&gt;rich" in html
    assert "<b>rich" not in html


@pytest.mark.parametrize(
    "document",
    [3, {}, [], {"name": "x", "score": "many"}, {"name": "x", "score": float("inf")}, {"name": "x", "carry": [1]}],
)
def test_a_malformed_goal_is_damage(tmp_path, document):
    _, store, _ = recorded(tmp_path)
    file = tmp_path / "party" / "meta.json"
    meta = json.loads(file.read_text())
    assert meta["world"]["goals"][0]["all_in"] == "west"
    meta["world"]["goals"] = [document]
    file.write_text(json.dumps(meta))
    with pytest.raises(DamagedRunError):
        store.open("party")
    with pytest.raises(DamagedRunError):
        read_figures(tmp_path / "party")


@pytest.mark.parametrize("rows", [b"abc", (7).to_bytes(4, "little"), (-1).to_bytes(4, "little", signed=True)])
def test_an_unknown_actor_in_the_log_is_damage(rows):
    with pytest.raises(DamagedRunError):
        rule_event_codec._names(rows, ("ada", "bo"))


@pytest.mark.parametrize("text", ["{", "3", "[1]", '[{"name": "x"}]'])
def test_malformed_effects_are_damage(text):
    with pytest.raises(DamagedRunError):
        rule_event_codec.read_effects(text)
