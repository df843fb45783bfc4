"""What agents print: bounded in size and rate, whole lines, no secrets."""

import asyncio
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import MASK, Limit, ManualClock, Secret
from tickmind.runner.logs import AgentLog, PacedReader

RATE = Limit("rate", 100)


@pytest.fixture
def clock():
    return ManualClock()


def test_lines_arrive_whole_however_they_are_cut(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock)
    for piece in (b"one\ntw", b"o\n", b"", b"thr", b"ee"):
        log.take(piece)
    log.close()
    assert (tmp_path / "agent.log").read_text() == "one\ntwo\nthree\n"
    assert (tmp_path / "agent.log").stat().st_mode & 0o077 == 0


def test_a_flood_is_cut_and_told_and_the_rest_comes_through(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock, max_rate=RATE)
    log.take(b"x" * 49 + b"\n" + b"".join(b"y" * 49 + b"\n" for _ in range(999)))
    clock.advance(1.0)
    log.take(b"after\n")
    log.close()
    lines = (tmp_path / "agent.log").read_text().splitlines()
    assert len(lines) == 10
    assert lines[-2] == "--- 992 lines left out: the agent logs more than 100 bytes a second"
    assert lines[-1] == "after"


def test_a_flood_without_a_line_end_is_bounded(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock)
    for _ in range(100):
        log.take(b"z" * 65_536)
    log.take(b"\nnext\n")
    log.close()
    assert (tmp_path / "agent.log").read_bytes() == b"z" * 8192 + b"\nnext\n"


def test_old_files_are_kept_up_to_a_number(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock, max_bytes=Limit("size", 100), max_rate=Limit("rate", 10**9))
    for number in range(200):
        log.take(b"line %04d\n" % number)
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["agent.log", "agent.log.1", "agent.log.2"]
    assert all(file.stat().st_size <= 100 for file in files)
    kept = "".join(file.read_text() for file in reversed(files)).splitlines()
    assert kept == [f"line {number:04}" for number in range(200 - len(kept), 200)]
    AgentLog(tmp_path / "agent.log", clock).close()
    assert (tmp_path / "agent.log").read_text().startswith("line")


def test_secrets_do_not_get_into_the_log(tmp_path, clock):
    Secret("correct-horse-battery")
    log = AgentLog(tmp_path / "agent.log", clock)
    log.take(b"my key is correct-horse-battery and api_key=abcdefghijk\n")
    log.close()
    text = (tmp_path / "agent.log").read_text()
    assert "correct-horse" not in text
    assert "abcdefghijk" not in text


def test_a_full_disk_stops_nobody(tmp_path, clock, caplog, monkeypatch):
    monkeypatch.setattr("tickmind.runner.logs.open_file", lambda _path, flags, **_: os.open("/dev/full", flags))
    log = AgentLog(tmp_path / "agent.log", clock)
    log.take(b"one\n")
    log.take(b"two\n")
    log.close()
    assert caplog.text.count("can't be written") == 1


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=30))
def test_any_bytes_in_any_pieces_are_the_same_lines(tmp_path_factory, data, cuts):
    texts = []
    for pieces in ([data], cuts):
        folder = tmp_path_factory.mktemp("log")
        log, place = AgentLog(folder / "agent.log", ManualClock()), 0
        for piece in pieces:
            if isinstance(piece, bytes):
                log.take(piece)
                place = len(data)
            else:
                log.take(data[place : place + piece])
                place += piece
        log.take(data[place:])
        log.close()
        texts.append((folder / "agent.log").read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.asyncio
async def test_a_flooded_pipe_is_read_one_piece_at_a_time():
    read, write = os.pipe()
    os.set_blocking(write, False)
    got: list[bytes] = []
    first = asyncio.Event()

    def take(data):
        got.append(data)
        first.set()

    reader = PacedReader(read, take, piece_bytes=1000, pause_s=3600.0)
    os.write(write, b"x" * 5000)
    await first.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert [len(piece) for piece in got] == [1000]
    reader.drain()
    assert [len(piece) for piece in got] == [1000, 1000]
    with pytest.raises(BrokenPipeError):
        os.write(write, b"x")
    os.close(write)


@pytest.mark.asyncio
async def test_the_end_of_a_pipe_closes_it():
    read, write = os.pipe()
    reader = PacedReader(read, lambda _: None, pause_s=0.0)
    os.close(write)
    while True:
        try:
            os.fstat(read)
        except OSError:
            break
        await asyncio.sleep(0.001)
    reader.close()
    reader.drain()


def test_the_last_line_of_a_process_is_known_without_secrets(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock)
    log.take(b"of another start\n")
    log.begin("start 2")
    assert log.last_line == ""
    secret = Secret("sk-do-not-show-0123456789", lasting=True)
    log.take(f"Traceback\n  the key {secret.reveal()} is  wrong\n\n  \n".encode())
    assert log.last_line == f"the key {MASK} is wrong"
    log.take(b"half a line " + b"x" * 1000)
    assert log.last_line.startswith("half a line xxx")
    assert len(log.last_line) == 300
    log.close()


GRPC_ERROR = b"""Traceback (most recent call last):
  File "agent.py", line 3, in <module>
    stub.AcquireLease(request)
grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "failed to connect"
>
"""


def test_the_reason_of_a_failed_process_is_the_error_and_not_the_last_line_of_it(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock)
    log.begin("start 1")
    log.take(b"ready\n" + GRPC_ERROR)
    assert log.last_line == (
        "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with: "
        'status = StatusCode.UNAVAILABLE details = "failed to connect" >'
    )
    log.take(b"Traceback (most recent call last):\n  File ...\nValueError: no such tile\n")
    assert log.last_line == "ValueError: no such tile"
    log.begin("start 2")
    assert log.last_line == ""
    log.close()


NODE_ERROR = b"""node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/home/ada/agent.mjs'
    at Module._load (node:internal/modules/cjs/loader:1038:27) {
  code: 'MODULE_NOT_FOUND'
}

Node.js v20.20.2
"""


def test_the_reason_of_a_failed_process_of_node_is_its_error_and_not_its_version(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock)
    log.begin("start 1")
    log.take(NODE_ERROR)
    assert log.last_line == "Error: Cannot find module '/home/ada/agent.mjs'"
    log.begin("start 2")
    log.take(b"Node.js v20.20.2\n")
    assert log.last_line == "Node.js v20.20.2"
    log.close()


def test_an_error_long_ago_is_not_the_reason(tmp_path, clock):
    log = AgentLog(tmp_path / "agent.log", clock)
    log.take(GRPC_ERROR + b"goes on\n" * 20 + b"set ENTITY_ID\n")
    assert log.last_line == "set ENTITY_ID"
    log.close()
