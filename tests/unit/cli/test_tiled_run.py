"""A run of a world with a Tiled map keeps the map, and never reads its file again."""

from tests.kits.tiled_files import TWIN, tmx, write_village
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.cli.world.run import SCENARIO, WorldRuns
from tickmind.world import load_scenario, parse_scenario


def test_a_run_keeps_its_map_inside_its_scenario(tmp_path):
    scenario = write_village(tmp_path, tmx("base64", "gzip"))
    runs = WorldRuns(tmp_path / "runs")
    run = runs.begin(scenario.read_text(), str(scenario), "first", folder=tmp_path)
    run.pause()
    (tmp_path / "village.tmx").unlink()
    resumed = runs.resume("first")
    assert resumed.scenario == run.scenario == parse_scenario(TWIN)
    resumed.abandon()
    assert load_scenario(tmp_path / "runs" / "first" / SCENARIO) == run.scenario


def test_check_reads_the_map_of_a_scenario(tmp_path):
    scenario = write_village(tmp_path, tmx())
    done = CliRunner().invoke(app, ["check", str(scenario)])
    assert done.exit_code == 0, done.output
    assert "6 x 4" in done.output
    (tmp_path / "village.tmx").write_text(tmx().replace('value="rock"', 'value="rokc"'))
    done = CliRunner().invoke(app, ["check", str(scenario)])
    assert done.exit_code == 1
    assert "village.tmx: tileset 'basic': tile 2: property 'floor': there is no floor 'rokc'" in done.output
