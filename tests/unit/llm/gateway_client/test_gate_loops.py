"""A gate whose event loop was given up lets those of the next loop through, and is disturbed by nobody."""

import asyncio
import threading

from tickmind.base import ManualClock
from tickmind.llm.gateway_client.gate import Gate
from tickmind.llm.served import SessionCooldown
from tickmind.llm.sync import background_loop


def test_those_who_wait_in_a_loop_that_was_given_up_hold_nobody_up():
    clock = ManualClock()
    gate = Gate("double", clock)
    gate.note(SessionCooldown(wait_s=1000.0))
    old, new = background_loop("old"), background_loop("new")
    blocked = threading.Event()

    async def block():
        blocked.wait(300)

    waiting = old.submit(gate.take(5000.0))
    try:
        old.run(asyncio.sleep(0))
        assert gate.waiting == 1
        old.submit(block())
        old.give_up()
        assert gate.waiting == 0
        clock.advance(1001)
        gate.check()
        new.run(gate.take(10.0))
        gate.send_away()
        assert not waiting.done()
    finally:
        blocked.set()
        old.close()
        new.close()
    assert waiting.cancelled()
