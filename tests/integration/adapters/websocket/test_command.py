"""`tickmind websocket` as a person runs it: a real process, its words, and how it ends."""

import asyncio
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.kits.served_world import LOCKSTEP, serving
from tests.kits.socket_client import connected

from tickmind.wire.v1 import door_pb2

ROOT = Path(__file__).parents[4]
pytestmark = [pytest.mark.asyncio, pytest.mark.slow, pytest.mark.timeout(300)]


async def test_the_command_serves_a_world_until_ctrl_c(warm):
    async with serving(pace=LOCKSTEP) as world:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        words = ["-m", "tickmind.cli", "websocket", "--world", world.address, "--port", "0"]
        process = warm.start(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            said = await asyncio.to_thread(process.stderr.readline)
            found = re.search(r"is at (ws://\S+/ws/v1); Ctrl-C stops it", said)
            assert found, said
            async with connected(found[1]) as client:
                await client.open()
                observation = await client.receive_until("control.observation")
                assert (await client.intend(observation.tick_id, {"wait": {}})).accepted
                process.send_signal(signal.SIGINT)
                answer = await client.receive()
                while answer is not None and answer.WhichOneof("frame") == "control":
                    answer = await client.receive()
                assert answer is not None
                assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_STOPPING
            assert await asyncio.to_thread(process.wait, 60) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
