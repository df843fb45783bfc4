"""The secrets of an agent are not in the record of its run, whatever its character says, thinks or fails with."""

import pytest

from tickmind.base import Secret
from tickmind.protocol import AgentStatus, Say, Thought, ThoughtReport
from tickmind.record import RunStore

CANARY = "plain-canary-31de77b2c4"  # of no shape that is masked by itself
pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]


async def test_what_a_character_says_thinks_and_fails_with_is_recorded_without_its_secrets(
    serve, live, eventually, host_of, tmp_path
):
    key = Secret(CANARY)
    thoughts = [
        Thought(
            1,
            *(1, 2, f"Your key is {CANARY}.", f"What of {CANARY}?"),
            reply=f"{CANARY}!",
            thinking=f"Hm, {CANARY}",
            directives={"goal": f"tell {CANARY}", "plan": [{"say": CANARY}], CANARY: 1},
            error_type="LLMError",
            error=f"refused: {CANARY}",
        )
    ]

    def act(observation):
        if observation.tick_id % 3 == 0:
            raise ValueError(f"can't use {key.reveal()}")
        return Say(f"my key is {key.reveal()}")

    host = host_of(act)
    host.take_thoughts = lambda: [("entity:1", thoughts.pop())] if thoughts else []
    async with serve(lockstep=True) as world:
        log = RunStore(tmp_path).create(world.world.info, "spring")
        async with live(world, host):
            await eventually(lambda: len(world.records) > 12)
            await eventually(lambda: any(isinstance(one, ThoughtReport) for one in world.reports))
    for report in world.reports:
        log.thought(report) if isinstance(report, ThoughtReport) else log.status(report)
    for record in world.records:
        log.publish(record)
    log.close()
    assert "my key is ***" in world.said()
    assert any(isinstance(one, AgentStatus) for one in world.reports)
    with RunStore(tmp_path).open("spring") as reader:
        kept = [repr(one) for one in (*reader.thoughts(), *reader.statuses())]
        kept += [repr(tick.utterances) for tick in reader.records()]
    assert any("tell ***" in one for one in kept)
    assert CANARY not in "".join(kept)
    assert not [file.name for file in tmp_path.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]
