"""`tickmind up --reload`: a saved scenario begins a new run, a broken one does not, and nothing is left."""

import json
import re
import signal
import time
import urllib.request
import uuid

import pytest
from tests.acceptance.test_documents import ROOT
from tests.acceptance.test_running_many import READY_S, Process, gone, wait_for_tick

from tickmind.viewer.errors import PageMissingError
from tickmind.viewer.page import page_files

pytestmark = [pytest.mark.slow, pytest.mark.timeout(290)]

BEGINS = r"world: Run (\S+) begins\."
SAVED = r"(\S+) was saved: run (\S+) ends, run (\S+) begins\."


@pytest.fixture
def mark():
    return uuid.uuid4().hex


@pytest.fixture
def scenario(tmp_path):
    """A scenario under development, with a persona in a file of its own."""
    text = (ROOT / "scenarios" / "clearing.yaml").read_text()
    file = tmp_path / "clearing.yaml"
    file.write_text(f"{text}\npersona_files: [people.yaml]\n")
    (tmp_path / "people.yaml").write_text('"entity:1": {name: Ada}\n')
    return file


@pytest.fixture
def up(warm, tmp_path, mark, scenario):
    started = []

    def run(*words):
        given = ["up", scenario.name, "--reload", "--no-gateway", "--port", "0", "--tps", "10", *words]
        started.append(Process(warm, given, tmp_path, mark))
        started[-1].says(r"entity:\d: \w+ is running", times=3)
        return started[-1]

    yield run
    for process in started:
        process._process.kill()
        process._process.wait()


def kept(folder, run_id):
    return (folder / "runs" / run_id / "scenario.yaml").read_text()


def test_a_saved_scenario_begins_another_run_and_a_broken_one_does_not(up, scenario, tmp_path, mark):
    process = up("--no-viewer")
    first = process.says(BEGINS)
    wait_for_tick(tmp_path / "runs", first)
    good = scenario.read_text()
    scenario.write_text(good.replace("seed: 1", "sead: 1").replace("stock: {item: berries", "stock: {item: plums"))
    process.says(rf"Run {first} goes on as it is")
    process.says(r"clearing\.yaml:\d+:\d+: .*sead")
    process.says(r"clearing\.yaml:\d+:\d+: .*plums")
    scenario.write_text(good)  # as it runs: no reason for another run
    scenario.write_text(good.replace("tags: [player]}\n    use: walker", "tags: [player]}\n    use: berry_eater"))
    assert process.says(r"clearing\.yaml was saved: the world is as before, so run (\S+) goes on") == first
    process.says(r"The mapping was reloaded: 1 agents? stops?, 1 starts?\.")
    process.says(r"entity:\d: \w+ is running", times=4)
    (tmp_path / "people.yaml").write_text('"entity:1": {name: Bea}\n')
    name, ended, second = process.says(SAVED)
    assert (name, ended) == ("people.yaml", first)
    assert process.says(BEGINS, times=2) == second
    process.says(r"entity:\d: \w+ is running", times=7)
    wait_for_tick(tmp_path / "runs", second)
    scenario.write_text(good.replace("hunger_per_tick: 2", "hunger_per_tick: 3"))
    name, ended, third = process.says(SAVED, times=2)
    assert (name, ended) == ("clearing.yaml", second)
    assert process.says(BEGINS, times=3) == third
    process.says(r"entity:\d: \w+ is running", times=10)
    wait_for_tick(tmp_path / "runs", third)
    code, said = process.end(signal.SIGINT)
    assert code == 0, said
    assert "Traceback" not in said
    assert said.count("The mapping was reloaded") == 1
    assert len(set(re.findall(r"The world clearing is at (\S+);", said))) == 1
    assert gone(mark)
    assert "Ada" in kept(tmp_path, first)
    assert "Bea" in kept(tmp_path, second)
    assert "hunger_per_tick: 2" in kept(tmp_path, second)
    assert "hunger_per_tick: 3" in kept(tmp_path, third)
    for run_id in (first, second, third):
        assert json.loads((tmp_path / "runs" / run_id / "meta.json").read_text())["run_id"] == run_id


def test_the_page_follows_into_the_next_run(up, scenario, mark):
    try:
        page_files()
    except PageMissingError:
        pytest.skip("the page is not built")
    process = up("--viewer-port", "0")
    page = process.says(r"Watch it at (\S+)")
    first = process.says(BEGINS)
    assert shown_run(page, first) == first
    scenario.write_text(scenario.read_text().replace("hunger_per_tick: 2", "hunger_per_tick: 3"))
    _, _, second = process.says(SAVED)
    assert shown_run(page, second) == second
    _, said = process.end(signal.SIGINT)
    assert said.count("Watch it at") == 1
    assert "Traceback" not in said
    assert gone(mark)


def shown_run(page, wanted):
    """Wait until the page at an address shows a run; return the one that it shows at last."""
    until_s = time.monotonic() + READY_S
    shown = ""
    while shown != wanted and time.monotonic() < until_s:
        with urllib.request.urlopen(f"{page.rstrip('/')}/api/span", timeout=60) as reply:
            shown = json.load(reply)["run_id"]
        time.sleep(0.05)
    return shown
