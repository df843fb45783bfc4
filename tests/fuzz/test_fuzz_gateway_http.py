"""A bounded run of the fuzzers; `make fuzz` goes on for ever."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop
from tests.fuzz.fuzz_gateway_http import CALLERS, Fuzz, FuzzError, read_replies


@pytest.mark.slow
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_mutated_bytes_on_both_sides_neither_break_nor_mix_up_anything(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    fuzz = Fuzz(seed=20_000)
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(fuzz.run(rounds=9))
    assert fuzz.served >= 2 * CALLERS  # most of it was not refused


def test_the_fuzzers_reader_takes_replies_apart_and_refuses_what_is_none() -> None:
    one = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    two = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    assert read_replies(one + two + one[:-1]) == ([(200, b"hi"), (200, b"hi")], one[:-1])
    for wrong in (b"hi" + one, one + b"extra", b"HTTP/1.1 200 OK\r\n\r\n"):
        with pytest.raises(FuzzError):
            read_replies(wrong)
