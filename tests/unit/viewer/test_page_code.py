"""The page's own tests, with frames that were written here: both sides must mean the same."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tickmind.viewer.frames import hello
from tickmind.viewer.sources.frame_builder import FrameBuilder, scene_of_snapshot

VIEWER = Path(__file__).parents[3] / "viewer"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("npm") and (VIEWER / "node_modules" / "vitest").exists()),
        reason="the page's tests need node, and `make page` to have set up viewer/node_modules",
    ),
]


def truth_of(life, record):
    now, view = record.actor_state, life.world.view()
    done = zip(record.results.action.tolist(), record.results.reason.tolist(), strict=True)
    return {
        "x": now.x.tolist(),
        "y": now.y.tolist(),
        "facing": now.facing.tolist(),
        "status": now.status_bits.tolist(),
        "state": view.object_state.tolist(),
        "things": [view.object_x.tolist(), view.object_y.tolist()],
        "results": dict(zip(record.results.actor.tolist(), done, strict=True)),
    }


def seen_by(life, tick, rows):
    for row in rows:
        (observation,) = life.world.observe([row])
        tiles = observation.visible_tiles
        radius = life.info.sight_radius
        me = observation.me
        around = [(me.x + dx, me.y + dy) for dy in range(-radius, radius + 1) for dx in range(-radius, radius + 1)]
        yield {"tick": tick, "row": row, "tiles": [tile for tile in around if tiles.sees(*tile)]}


def test_python_and_the_page_mean_the_same_by_a_frame(lively, tmp_path):
    life = lively(seed=9, side=20, rocks=0.12, walls=30)
    stage = FrameBuilder(life.info, scene_of_snapshot(life.snapshot()))
    frames = [hello(life.info, mode="replay", window_ticks=64), stage.keyframe()]
    deltas = []
    truth: dict[str, list[object]] = {"ticks": [], "seen": []}
    for _ in range(30):
        record, _event = life.step()
        frames.append(stage.record(record))
        deltas += record.object_deltas
        truth["ticks"].append(truth_of(life, record))
        truth["seen"] += seen_by(life, record.tick_id, (0, 7, 23))
    assert sum(delta.field == "tile" for delta in deltas) > 5
    assert any(delta.new_value == "" for delta in deltas)
    (tmp_path / "frames.bin").write_bytes(b"".join(frames))
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    done = subprocess.run(
        ["npm", "test", "--silent"],
        cwd=VIEWER,
        env={**os.environ, "VIEWER_FRAMES": str(tmp_path), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
