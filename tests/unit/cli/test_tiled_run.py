"""A run of a world with a Tiled map keeps the map, and never reads its file again."""

from pathlib import Path

from tests.kits.tiled_files import TWIN, tmx, write_village
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.cli.world.run import WorldRuns
from tickmind.cli.world.scenarios import TILE_ART
from tickmind.record.replay.run_files import SCENARIO
from tickmind.viewer.frames.tile_art import read_tile_art
from tickmind.world import load_scenario, parse_scenario

TILES_PNG = Path(__file__).parents[1] / "world" / "tiled" / "tiles.png"


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
    assert not (tmp_path / "runs" / "first" / TILE_ART).exists()  # there is no image


def test_a_run_keeps_the_picture_of_its_map(tmp_path):
    (tmp_path / "tiles.png").write_bytes(TILES_PNG.read_bytes())
    scenario = write_village(tmp_path, tmx())
    run = WorldRuns(tmp_path / "runs").begin(scenario.read_text(), str(scenario), "first", folder=tmp_path)
    run.pause()
    file = tmp_path / "runs" / "first" / TILE_ART
    art = read_tile_art(file)
    assert art is not None
    assert (art["width"], art["height"], len(art["sets"]), len(art["layers"])) == (6, 4, 1, 2)
    for damage in (b"{", b"[]", b"\xff"):
        file.write_bytes(damage)
        assert read_tile_art(file) is None
    file.unlink()
    assert read_tile_art(file) is None


def test_check_reads_the_map_of_a_scenario(tmp_path):
    scenario = write_village(tmp_path, tmx())
    done = CliRunner().invoke(app, ["check", str(scenario)])
    assert done.exit_code == 0, done.output
    assert "6 x 4" in done.output
    (tmp_path / "village.tmx").write_text(tmx().replace('value="rock"', 'value="rokc"'))
    done = CliRunner().invoke(app, ["check", str(scenario)])
    assert done.exit_code == 1
    assert "village.tmx: tileset 'basic': tile 2: property 'floor': there is no floor 'rokc'" in done.output
