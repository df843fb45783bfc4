"""The example of the Godot add-on lives headless in a world that waits for it: it misses no tick."""

import shutil

import pytest
from tests.kits.godot import ADD_ON, godot4
from tests.kits.socket_agents import live
from tests.long import short_or_long

TICKS = short_or_long(300, 1000)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(280), pytest.mark.asyncio]


@pytest.fixture
def command(tmp_path):
    program = godot4()
    if not program:
        pytest.skip("needs Godot 4 as `godot` or `godot4`")
    project = shutil.copytree(ADD_ON, tmp_path / "project", ignore=shutil.ignore_patterns(".godot"))
    return [program, "--headless", "--path", str(project)]


async def test_the_example_answers_every_tick(command, tmp_path):
    life = await live(command, TICKS, tmp_path, env={"HOME": str(tmp_path)})
    life.assert_it_missed_no_tick()
    assert "SCRIPT ERROR" not in life.output, life.output


async def test_after_a_break_it_takes_its_character_back_at_once(command, tmp_path):
    life = await live(command, 100, tmp_path, env={"HOME": str(tmp_path)}, breaks_after=30)
    life.assert_it_came_back(30)
    assert life.output.count("controlling entity:1") == 2, life.output
    assert "waiting: no connection to" in life.output


async def test_a_character_that_is_not_there_is_refused_in_plain_words(command, tmp_path):
    life = await live(command, 1, tmp_path, env={"HOME": str(tmp_path), "ENTITY_ID": "nobody"}, is_refused=True)
    assert life.exit_code == 1
    assert "refused: the world has no entity nobody; choose one that it has" in life.output
