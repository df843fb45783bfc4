"""`tickmind measure`: how minds lived, from recorded runs."""

import json

import pytest
from tests.kits.lived_runs import record_villagers


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured") / "runs"
    for run_id in ("clearing-1", "clearing-2"):
        record_villagers(folder, run_id, ticks=60)
    return folder


def test_a_table_has_the_means_of_runs(tickmind, runs):
    result = tickmind("measure", "clearing-1", "clearing-2", "--runs", str(runs))
    assert result.exit_code == 0
    shown = {line.split("  ")[0]: line for line in result.stdout.splitlines()}
    assert "±" in shown["needs"]
    assert "100.0%" in shown["thoughts answered"]
    assert {"self-repeat", "talks ended", "promises kept", "plan", "density"} <= shown.keys()


def test_json_has_each_run_and_all_together(tickmind, runs):
    result = tickmind("measure", "clearing-1", "--runs", str(runs), "--fact", "Nobody knows this.", "--json")
    found = json.loads(result.stdout)
    assert list(found["runs"]) == ["clearing-1"]
    figures = {figure["name"]: figure for figure in found["together"]}
    assert figures["diffusion: Nobody knows this."]["value"] in (0, None)
    assert figures["self-repeat"]["spread"] is None


def test_an_unknown_run_is_named(tickmind, runs):
    result = tickmind("measure", "clearing-9", "--runs", str(runs))
    assert result.exit_code != 0
    assert "clearing-9" in result.output


def test_a_page_is_written_beside_the_table(tickmind, runs, tmp_path):
    page = tmp_path / "new" / "minds.html"
    result = tickmind("measure", "clearing-1", "--runs", str(runs), "--page", str(page))
    assert result.exit_code == 0
    assert str(page) in result.stderr
    assert page.read_text().startswith("<!doctype html>")
