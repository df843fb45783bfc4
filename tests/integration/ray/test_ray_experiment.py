"""The same experiment on this machine's processes and on a Ray cluster."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.long import short_or_long

pytestmark = [pytest.mark.slow(weight=4), pytest.mark.realtime(alone=True), pytest.mark.timeout(280)]
STUDY = Path(__file__).parents[3] / "examples" / "market_and_news.yaml"
SIZE = short_or_long(("--seeds", "1", "--ticks", "10"), ("--seeds", "3", "--ticks", "100"))
WAIT_S = 240.0


async def experiment(cluster, folder, *words):
    """Run the study as a user does; return what is in its results."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tickmind.cli", "experiment", str(STUDY), *SIZE, "--out", str(folder), *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **cluster.environment},
    )
    output, _ = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 0, output.decode()
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.name in TABLES}


TABLES = ("trials.parquet", "curves.parquet", "experiment.json")


@pytest.mark.asyncio
async def test_on_one_process_and_on_ray_the_tables_are_the_same_byte_for_byte(ray_cluster, tmp_path):
    here = await experiment(ray_cluster, tmp_path / "here", "--workers", "1")
    there = await experiment(ray_cluster, tmp_path / "there", "--on", "ray")
    assert "trials.parquet" in here
    assert there == here
