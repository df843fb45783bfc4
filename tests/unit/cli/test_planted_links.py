"""A run or a folder from anywhere may hold links: no command writes through one, or clears what one leads to."""

import re
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.llm import LLMConfigError
from tickmind.llm.cassettes.cassette import CassetteRecorder
from tickmind.llm.local.cache import install_lock
from tickmind.llm.testing import ScriptedTransport
from tickmind.record import LogOptions, RecordError, RunStore, SyncPolicy
from tickmind.record.report import note_outages
from tickmind.record.testing import RandomRun
from tickmind.runner import RunnerError, hold_folder
from tickmind.runner.logs import AgentLog

QUICK = LogOptions(sync=SyncPolicy.NEVER, segment_ticks=2)


@pytest.fixture
def victim(tmp_path: Path):
    """A file of the user's, in a folder of the user's, that nothing here may change."""
    folder = tmp_path / "home"
    folder.mkdir()
    file = folder / "thesis.txt"
    file.write_text("years of work")
    (folder / "ticks.parquet").write_text("more of it")
    yield file
    assert file.read_text() == "years of work"
    assert (folder / "ticks.parquet").read_text() == "more of it"
    assert sorted(folder.iterdir()) == [file, folder / "ticks.parquet"]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run that a crash has left, and a finished one."""
    for run_id in ("crashed", "finished"):
        run = RandomRun(1, 4)
        log = RunStore(tmp_path / "runs").create(run.info, run_id, options=QUICK)
        for _ in range(3):
            log.publish(run.tick())
        log.close(seal=run_id == "finished")
    return tmp_path / "runs"


def assert_plain(done):
    """A command that refuses says why in a sentence."""
    assert done.exit_code in (0, 1)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    if done.exit_code:
        assert "link" in done.stderr
        assert re.search("remove|choose|give", done.stderr)


@pytest.mark.parametrize(
    "name", ["meta.json.new", "lock", "sealing", "discarded", "ticks.parquet", "live/00000002.tmlog"]
)
def test_recover_writes_through_no_link(tickmind, runs, victim, name):
    path = runs / "crashed" / name
    path.unlink(missing_ok=True)
    path.symlink_to(victim.parent if name in {"sealing", "discarded"} else victim)
    assert_plain(tickmind("recover", "crashed"))


def test_recover_writes_through_no_link_among_half_finished_files(tickmind, runs, victim):
    (runs / "crashed" / "sealing").mkdir()
    (runs / "crashed" / "sealing" / "ticks.parquet").symlink_to(victim)
    done = tickmind("recover", "crashed")
    assert done.exit_code == 0
    assert "3 ticks" in done.stdout


def test_recover_clears_no_folder_that_a_link_leads_to(tickmind, runs, victim, tmp_path):
    for name in ("crashed", "finished"):
        (tmp_path / name).symlink_to(victim.parent)
        live = runs / name / "live"
        live.rename(runs / name / "aside") if live.exists() else None
        live.symlink_to(victim.parent)
        assert_plain(tickmind("recover", name))


def test_a_run_that_is_a_link_is_read_and_not_written(tickmind, runs, tmp_path):
    (runs / "crashed").rename(tmp_path / "moved")
    (runs / "crashed").symlink_to(tmp_path / "moved")
    before = sorted(tmp_path.joinpath("moved").iterdir())
    assert RunStore(runs).summary("crashed").ticks == 3
    done = tickmind("recover", "crashed")
    assert done.exit_code == 1
    assert_plain(done)
    assert sorted(tmp_path.joinpath("moved").iterdir()) == before


@pytest.mark.parametrize("name", ["meta.json.new", "map.parquet", "lock", "live", "live/00000001.tmlog"])
def test_a_new_run_writes_through_no_link(runs, victim, name):
    path = runs / "fresh" / name
    path.parent.mkdir(parents=True)
    path.symlink_to(victim.parent if name == "live" else victim)
    run = RandomRun(1, 4)
    try:
        with RunStore(runs).create(run.info, "fresh", options=QUICK) as log:
            log.publish(run.tick())
    except RecordError as error:
        assert "link" in str(error)  # noqa: PT017  # both ends are fine


@pytest.mark.parametrize("name", ["meta.json.new", "lock", "live/00000002.tmlog", "live/00000003.tmlog", "sealing"])
def test_a_resumed_run_writes_through_no_link(runs, victim, name):
    path = runs / "crashed" / name
    path.unlink(missing_ok=True)
    path.symlink_to(victim.parent if name == "sealing" else victim)
    run = RandomRun(1, 4)
    records = [run.tick() for _ in range(4)]
    try:
        with RunStore(runs).resume("crashed", options=QUICK) as log:
            log.publish(records[log.last_tick_id or 0])
    except RecordError as error:
        assert re.search("link|regular|recover", str(error))  # noqa: PT017  # both ends are fine


def test_what_is_kept_beside_a_run_goes_through_no_link(runs, victim):
    folder = runs / "finished"
    (folder / "checkpoints").mkdir()
    name = "checkpoints/000000000007-1"
    for planted in (f"{name}.new", "outages.json.new", name, "outages.json"):
        (folder / planted).symlink_to(victim)
    RunStore(runs).checkpoints("finished").save(b"state", after_tick=7, incarnation=1)
    note_outages(folder, [])
    assert (folder / name).read_bytes() == b"state"


def test_report_writes_through_no_link(tickmind, runs, victim, tmp_path):
    (runs / "finished" / "report.html").symlink_to(victim)
    (tmp_path / "page.html").symlink_to(victim)
    for option in ((), ("--out", str(tmp_path / "page.html"))):
        done = tickmind("report", "finished", *option)
        assert done.exit_code == 1
        assert_plain(done)
    assert tickmind("report", "finished", "--out", str(tmp_path / "other.html")).exit_code == 0
    assert "years" not in (tmp_path / "other.html").read_text()


def test_replay_writes_through_no_link(tickmind, runs, victim, tmp_path, monkeypatch):
    monkeypatch.setattr("tickmind.viewer.export.clip.clip_of", lambda *_: b"<p>clip</p>")
    (tmp_path / "clip.html").symlink_to(victim)
    done = tickmind("replay", "finished", "--export", str(tmp_path / "clip.html"))
    assert done.exit_code == 1
    assert_plain(done)


def test_new_agent_writes_through_no_link(tickmind, victim, tmp_path):
    for name in ("gatherer.py", "test_gatherer.py"):
        (tmp_path / name).symlink_to(victim.parent / "elsewhere")  # nothing is there yet
        done = tickmind("new", "agent", "gatherer")
        assert done.exit_code == 1
        assert "exists already" in done.stderr
        (tmp_path / name).unlink()


def test_a_runner_writes_through_no_link(victim, tmp_path):
    for name in ("lock", "agent.log"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(RunnerError, match="it is a link"), hold_folder(tmp_path):
        pass
    with pytest.raises(OSError, match="it is a link"):
        AgentLog(tmp_path / "agent.log", ManualClock())


def test_a_log_that_is_rotated_leaves_what_links_lead_to_alone(victim, tmp_path):
    log = AgentLog(tmp_path / "agent.log", ManualClock())
    (tmp_path / "agent.log.1").symlink_to(victim)
    log.note("first")
    (tmp_path / "agent.log").unlink()
    (tmp_path / "agent.log").symlink_to(victim)
    log._rotate()
    log.note("second")
    log.close()
    assert (tmp_path / "agent.log").read_text() == "--- second\n"


def test_a_cassette_is_recorded_through_no_link(victim, tmp_path):
    (tmp_path / "tape").symlink_to(victim)
    with pytest.raises(LLMConfigError, match="it is a link"):
        CassetteRecorder(ScriptedTransport([]), tmp_path / "tape", mode="replace")


def test_an_install_makes_no_file_through_a_link(victim, tmp_path):
    (tmp_path / "x.lock").symlink_to(victim.parent / "elsewhere")
    with pytest.raises(LLMConfigError, match="it is a link"), install_lock(tmp_path / "x.lock"):
        pass
