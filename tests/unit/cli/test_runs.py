"""`tickmind runs`, `tickmind runs show` and `tickmind recover`, as a person uses them."""

import errno
from pathlib import Path

import pytest

from tickmind.record import LogOptions, OsDisk, RunStore, SyncPolicy
from tickmind.record.meta import RunPace, RunParent
from tickmind.record.testing import RandomRun


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs: finished, crashed, and one that can't be read."""
    folder = tmp_path / "runs"
    for run_id in ("clean-1", "crashed-1", "damaged-1"):
        run = RandomRun(1, 4)
        log = RunStore(folder).create(run.info, run_id, options=LogOptions(sync=SyncPolicy.NEVER))
        for _ in range(1200):
            log.publish(run.tick())
            if run_id != "clean-1" and run.tick_id == 5:
                break
        log.close(seal=run_id == "clean-1")
    (folder / "damaged-1" / "meta.json").write_text("{")
    return folder


def test_an_empty_folder_says_how_to_fill_it(tickmind):
    done = tickmind("runs")
    assert done.exit_code == 0
    assert "There are no runs in runs" in done.stdout


@pytest.mark.slow
def test_runs_are_listed_shown_and_recovered(tickmind, runs):
    done = tickmind("runs")
    assert done.exit_code == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "clean" in lines["clean-1"]
    assert "1,200" in lines["clean-1"]
    assert "crashed" in lines["crashed-1"]
    assert "damaged-1: meta.json is no JSON" in done.stdout
    assert "tickmind recover crashed-1" in done.stdout

    shown = tickmind("runs", "show", "crashed-1")
    assert shown.exit_code == 0
    assert "1 to 5" in shown.stdout
    assert "tickmind recover crashed-1" in shown.stdout

    recovered = tickmind("recover", "crashed-1")
    assert recovered.exit_code == 0, recovered.output
    assert "Run crashed-1 is finished: 5 ticks" in recovered.stdout
    assert "nothing was changed" in tickmind("recover", "crashed-1").stdout
    shown = tickmind("runs", "show", "crashed-1")
    assert "clean, recovered after a crash" in shown.stdout
    told = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines())
    assert told["ticks"] == "1 to 5"
    assert told["ticks.parquet"].startswith("5 rows, ")


def test_recovering_a_finished_run_changes_nothing_unless_its_log_is_to_go(tickmind, tmp_path):
    run = RandomRun(1, 4)
    store = RunStore(tmp_path / "runs")
    with store.create(run.info, "spring", options=LogOptions(sync=SyncPolicy.NEVER, keep_log=True)) as log:
        log.publish(run.tick())
    assert (store.folder("spring") / "live").exists()
    assert tickmind("recover", "spring").stdout == "Run spring is finished already; nothing was changed.\n"
    assert (store.folder("spring") / "live").exists()
    said = tickmind("recover", "spring", "--drop-log").stdout
    assert said == "Run spring is finished already; its log is gone now, so it can't be resumed.\n"
    assert not (store.folder("spring") / "live").exists()
    assert "nothing was changed" in tickmind("recover", "spring", "--drop-log").stdout


def test_recovering_a_damaged_run_says_what_is_lost_and_where_the_rest_is(tickmind, tmp_path):
    run, store = RandomRun(1, 4), RunStore(tmp_path / "runs")
    log = store.create(run.info, "spring", options=LogOptions(sync=SyncPolicy.NEVER, segment_ticks=3))
    for _ in range(9):
        log.publish(run.tick())
    log.close(seal=False)
    (store.folder("spring") / "live" / "00000002.tmlog").unlink()
    said = " ".join(tickmind("recover", "spring").stdout.split())
    assert "It ends with tick 3, because the log is damaged: ticks 4 to 6 can't be read" in said
    assert "ticks 7 to 9 after that can't be part of the tables, and are kept in" in said
    assert (store.folder("spring") / "damaged" / "00000003.tmlog").exists()


def test_a_run_takes_one_line_of_an_ordinary_terminal(tickmind, tmp_path):
    run = RandomRun(1, 4)
    with RunStore(tmp_path / "runs").create(run.info, options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        log.publish(run.tick())
    lines = tickmind("runs").stdout.splitlines()
    assert len(lines) == 2, lines


@pytest.mark.parametrize("command", [("runs", "show"), ("recover",)])
def test_a_run_that_there_is_not_is_one_plain_sentence(tickmind, command):
    done = tickmind(*command, "nothing")
    assert done.exit_code == 1
    assert done.stderr.strip() == "no run nothing in runs; `tickmind runs` lists the runs"
    done = tickmind(*command, "../etc")
    assert done.exit_code == 1
    assert "can't be a run id" in done.stderr


def test_a_run_in_the_place_of_a_command_is_answered_with_the_command(tickmind):
    done = tickmind("runs", "demo-1")
    assert done.exit_code == 2
    assert "use `tickmind runs show demo-1`" in done.stderr


def test_another_folder_can_be_named(tickmind, tmp_path):
    done = tickmind("runs", "--runs", str(tmp_path / "elsewhere"))
    assert "There are no runs in" in done.stdout
    assert "elsewhere" in done.stdout.replace("\n", "")


def left(folder, run_id="left-1"):
    """A run that was not finished."""
    run = RandomRun(1, 4)
    log = RunStore(folder).create(run.info, run_id, options=LogOptions(sync=SyncPolicy.NEVER))
    log.publish(run.tick())
    log.close(seal=False)


@pytest.mark.parametrize("name", ["runs", "else where"])
def test_what_to_do_with_an_unfinished_run_names_its_folder_and_going_on_first(tickmind, tmp_path, name):
    left(tmp_path / name)
    option = () if name == "runs" else ("--runs", str(tmp_path / name))
    where = "" if name == "runs" else f" --runs '{tmp_path / name}'"
    for command in (("runs",), ("runs", "show", "left-1")):
        told = " ".join(tickmind(*command, *option).stdout.split())
        going_on, finishing = f"`tickmind world --resume left-1{where}`", f"`tickmind recover left-1{where}`"
        assert 0 < told.find(going_on) < told.find(finishing)
    told = tickmind("report", "left-1", *option).stderr
    assert 0 < told.find(f"tickmind world --resume left-1{where}") < told.find(f"tickmind recover left-1{where}")
    assert f"`tickmind runs{where}` lists" in tickmind("runs", "show", "nothing", *option).stderr
    told = " ".join(tickmind("runs", *option, "left-1").stderr.split())
    assert f"use `tickmind runs show left-1{where}`" in told.replace("│ ", "").replace(" │", "")


def test_a_run_that_may_not_be_read_is_listed_with_its_problem(tickmind, tmp_path, monkeypatch):
    left(tmp_path / "runs", "mine")
    left(tmp_path / "runs", "theirs")

    def refuse(_disk, path):
        if path.parent.name == "theirs":
            raise PermissionError(errno.EACCES, "Permission denied")
        return False

    monkeypatch.setattr(OsDisk, "is_locked", refuse)
    done = tickmind("runs")
    assert done.exit_code == 0, done.output
    assert "theirs: reading run theirs failed: this user may not read it" in " ".join(done.stdout.split())
    assert "crashed" in next(line for line in done.stdout.splitlines() if line.startswith("mine"))


@pytest.mark.parametrize(
    ("pace", "says"),
    [(None, "not recorded"), (RunPace(lockstep=True, tps=None), "lockstep"), (RunPace(False, 2.0), "2 ticks a second")],
)
def test_a_run_shows_its_pace_and_where_it_comes_from(tickmind, tmp_path, pace, says):
    run = RandomRun(1, 4)
    log = RunStore(tmp_path).create(
        run.info, "child", options=LogOptions(sync=SyncPolicy.NEVER), parent=RunParent("old", 7)
    )
    log.pace = pace
    log.publish(run.tick())
    log.close()
    lines = dict(
        line.split(maxsplit=1)
        for line in tickmind("runs", "show", "child", "--runs", str(tmp_path)).stdout.splitlines()
    )
    assert lines["pace"] == says
    assert lines["parent"] == "old, tick 7"
