"""What a person sees of running characters, with and without a terminal."""

import asyncio
import io
import json
import socket
import time
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from tickmind.base import ManualClock
from tickmind.cli.runner import commands as runner_command
from tickmind.cli.runner.status import ModelLine, RunnerStatus
from tickmind.runner import CharacterRow, LifeState, RunnerStatistics


def row(name, state=LifeState.RUNNING, **given):
    values = {
        "agent": "villager",
        "instead_of": "",
        "controlled": True,
        "last_action": "Move",
        "last_tick": 7,
        "restarts": 2,
        "thinking": True,
        "trouble": "",
    }
    return CharacterRow(entity_id=name, state=state, **{**values, **given})


def runner(*rows):
    stats = RunnerStatistics(tick_id=8, characters=len(rows), processes=1, restarts=3, states={})
    return SimpleNamespace(rows=lambda: list(rows), statistics=lambda: stats)


@pytest.fixture
def table():
    """Draws the table as a terminal of a size would show it."""

    def draw(*rows, height=30):
        out = io.StringIO()
        console = Console(file=out, width=140, height=height, force_terminal=True, color_system=None)
        status = RunnerStatus()
        status._live = Live(console=console)
        console.print(status._table(list(rows), runner(*rows)))
        return out.getvalue()

    return draw


def test_the_table_says_all_that_matters(table):
    shown = table(row("entity:1"), row("entity:2", LifeState.FAILED, instead_of="poet", trouble="it exited with 1"))
    head, names, worst, best = (" ".join(line.split()) for line in shown.splitlines())
    assert head == "tick 8: 2 characters in 1 processes, 3 restarts"
    assert names == "character agent state lease last intent restarts thinks"
    assert worst == "entity:2 villager for poet failed held Move in 7 2 yes it exited with 1"
    assert best == "entity:1 villager running held Move in 7 2 yes"


def test_more_characters_than_lines_are_counted(table):
    shown = table(*(row(f"entity:{number}") for number in range(50)), height=16)
    assert "40 more not shown" in shown
    assert len(shown.splitlines()) == 12


def test_what_agents_and_worlds_call_themselves_is_only_text(table):
    shown = table(row("[red]x\x1b[31m", trouble="[bold]\x07"))
    assert "[red]x" in shown
    assert "\x1b[31m" not in shown
    assert "\x07" not in shown


def test_without_a_terminal_each_change_is_one_line(capsys):
    status = RunnerStatus()
    for state in (LifeState.STARTING, LifeState.RUNNING, LifeState.RUNNING, LifeState.BACKING_OFF):
        status.show(runner(row("entity:1", state, trouble="it exited with 1")))
    status.end(runner(row("entity:1")))
    assert capsys.readouterr().err.splitlines() == [
        "entity:1: villager is starting (it exited with 1)",
        "entity:1: villager is running",
        "entity:1: villager is backing off (it exited with 1)",
        "1 characters, 3 restarts; all agents have ended.",
    ]


def test_another_run_is_shown_like_the_first(capsys):
    status = RunnerStatus(ManualClock(), progress=True)
    for _ in range(2):
        status.show(runner(row("entity:1")))
        status.end(runner(row("entity:1")))
    said = capsys.readouterr().err
    assert said.count("entity:1: villager is running") == 2
    assert said.count("tick 8") == 2


def test_the_last_error_of_an_agent_that_runs_is_shown(table, capsys):
    failing = row("entity:1", trouble="it exited with 1", last_error="IntentError: Move.direction (my.py:7)")
    assert "IntentError: Move.direction (my.py:7)" in table(failing)
    clock = ManualClock()
    status = RunnerStatus(clock)
    for error in ("IntentError: (my.py:7)", "IntentError: (my.py:7)", "KeyError: 1", "KeyError: 2", ""):
        status.show(runner(row("entity:1", last_error=error)))
    clock.advance(60)
    status.show(runner(row("entity:1", last_error="KeyError: 3")))
    assert capsys.readouterr().err.splitlines() == [
        "entity:1: villager is running (IntentError: (my.py:7))",
        "entity:1: villager is running",
        "entity:1: villager is running (KeyError: 3)",
    ]


def test_without_a_terminal_many_characters_are_counted_and_do_not_flood(capsys):
    clock = ManualClock()
    status = RunnerStatus(clock)
    for started in range(0, 501, 5):
        rows = [row(f"entity:{n}", LifeState.RUNNING if n < started else LifeState.ASSIGNED) for n in range(500)]
        status.show(runner(*rows))
        clock.advance(0.5)
    backing_off = [row(f"entity:{n}", LifeState.BACKING_OFF, trouble="it exited with 1") for n in range(500)]
    failing = [row(f"entity:{n}", last_error="KeyError: 1") for n in range(500)]
    for _ in range(10):
        status.show(runner(*backing_off))
        status.show(runner(*failing))
        clock.advance(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) < 15
    assert lines[0] == "500 characters: 500 assigned"
    assert lines[1] == "500 characters: 400 assigned, 100 running"
    assert "entity:0 and 499 others: villager is backing off (it exited with 1)" in lines
    assert "entity:0 and 499 others: villager is running (KeyError: 1)" in lines


def test_who_stops_is_not_told_with_the_trouble_of_a_former_life(capsys):
    RunnerStatus().show(runner(row("entity:1", LifeState.STOPPED, trouble="it was ended by signal 9")))
    assert capsys.readouterr().err == "entity:1: villager is stopped\n"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("tick_s", "refused", "said"),
    [
        (0.0, "", ["No world answers at 127.0.0.1:9 yet; agents start when it does."]),
        (0.0, "floors must be set", ["The world at 127.0.0.1:9 answers and can't be used: floors must be set."]),
        (1.0, "", []),
    ],
)
async def test_a_world_that_is_not_there_or_can_not_be_used_is_told_once(
    monkeypatch, capsys, tmp_path, tick_s, refused, said
):
    monkeypatch.setattr(runner_command, "_MISS_WORLD_S", 0.0)
    monkeypatch.setattr(runner_command, "EVERY_S", 0.001)

    async def keeper():
        return "a fence"

    shown_often = asyncio.Event()

    class Status(RunnerStatus):
        times = 0

        def show(self, found):
            super().show(found)
            self.times += 1
            if self.times == 5:
                shown_often.set()

    found = runner()
    found.keeper, found.run, found.stop = keeper, shown_often.wait, lambda: None
    found.sight = SimpleNamespace(tick_s=tick_s, refused=refused)
    found.mapping = SimpleNamespace(world_addr="127.0.0.1:9")
    file: Any = SimpleNamespace(reload=lambda **_: None)
    await runner_command.run_characters(found, file, tmp_path, Status())
    shown = capsys.readouterr().err
    assert shown.count("The world at") + shown.count("No world answers") == len(said)
    assert all(line in shown for line in said)


def test_a_gateway_that_does_not_answer_yet_holds_nothing_up(monkeypatch):
    """Its address is known before its model is loaded, and it may want the key of the environment."""
    monkeypatch.setenv("TICKMIND_GATEWAY_KEY", "sk-tm-for-figures")
    none = {"count": 0, "p50Ms": 0.0, "p99Ms": 0.0}
    lately = {"servedPerS": 0.0, "fallbacks": 0, "usd": 0.0, "waits": none}
    counts = {"at": 1, "upMs": 1, "requests": 3, "answered": 2, "queued": 0, "inFlight": 1, "fallbacks": 0}
    counts |= {"expected": 3, "waitMs": 94_000}
    lists: dict[str, list[str]] = {"lanes": [], "chains": [], "sessions": [], "targets": [], "events": []}
    words = {"sharing": "fair", "shared": {"problem": ""}, "stopping": False}
    body = json.dumps({**counts, **lists, **words, "total": {"usd": 0.0}, "lately": lately}).encode()
    with socket.create_server(("127.0.0.1", 0)) as door:
        line = ModelLine(f"http://127.0.0.1:{door.getsockname()[1]}")
        try:
            assert line.text() == "models: no figures yet"
            door.settimeout(60)
            answering, _ = door.accept()
            with answering:
                assert b"Authorization: Bearer sk-tm-for-figures\r\n" in answering.recv(65536)
                answering.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            end_s = time.monotonic() + 60
            while line.text() == "models: no figures yet" and time.monotonic() < end_s:
                time.sleep(0.01)
            assert line.text() == "models: 1 in flight, 3 waiting (about 94 s), 2 answered"
        finally:
            line.stop()
