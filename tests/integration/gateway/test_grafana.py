"""Every `/metrics` is as Prometheus wants it, and the Grafana dashboard names only metrics that there are."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from tickmind.protocol import AgentState, AgentStatus
from tickmind.runner import Runner, load_mapping
from tickmind.runner.metrics import metrics_of as runner_metrics
from tickmind.server import ServerConfig, WorldServer
from tickmind.server.metrics import metrics_of as world_metrics
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

DASHBOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "tickmind.json"
MAPPING = "agents:\n  walker: {cmd: [python, -m, tickmind.characters.random_walker]}\nassignments: []\n"


def names_of(text):
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples} | {
        name for family in text_string_to_metric_families(text) for name in (family.name, f"{family.name}_total")
    }


@pytest_asyncio.fixture
async def pages(housing, tmp_path):
    """The text of each `/metrics`, all with something in them."""
    mapping = tmp_path / "agents.yaml"
    mapping.write_text(MAPPING)
    runner = Runner(load_mapping(mapping), tmp_path)
    runner.sight.count(AgentStatus("entity:1", 1, AgentState.RUNNING))
    world = WorldServer(TileWorld.from_scenario(meadow(3)), ServerConfig("127.0.0.1:0"))
    async with housing() as house:
        assert (await house.generate(sessionId="village")).status == 200
        gateway = (await house.get("/metrics")).body.decode()
    return {"gateway": gateway, "world": world_metrics(world.authority), "runner": runner_metrics(runner)}


@pytest.mark.asyncio
async def test_every_metric_of_the_dashboard_exists(pages):
    known = set().union(*map(names_of, pages.values()))
    histograms = {f"{name}_bucket" for name in known}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    named = {
        name for panel in panels for target in panel["targets"] for name in re.findall(r"tickmind_\w+", target["expr"])
    }
    assert len(named) >= 20
    assert named <= known | histograms


@pytest.mark.asyncio
async def test_promtool_has_nothing_to_say_about_any_page(pages):
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed; it is in the package prometheus")
    for name, text in pages.items():
        checked = await asyncio.to_thread(
            subprocess.run,
            ["promtool", "check", "metrics"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, ""), name
