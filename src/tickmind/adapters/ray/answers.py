"""`answer_of`: wait for a call of Ray's without ever cancelling it.

A cancelled future breaks Ray's client (`ray://`): where its connection ends, it fails at the first cancelled future and
leaves all others without an answer, and calls after that block.
"""

import asyncio
from concurrent.futures import Future
from typing import Protocol, TypeVar

Answer = TypeVar("Answer")


class RayReference(Protocol[Answer]):
    """What a call of Ray's returns, with Ray's client or without."""

    def future(self) -> "Future[Answer]":
        """Return a future of the answer, which Ray fulfils in a thread of its own."""


def answer_of(reference: RayReference[Answer]) -> "asyncio.Future[Answer]":
    """Return a future of an answer, in the running loop. Cancelling it leaves Ray's own alone."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Answer] = loop.create_future()

    def take(done: "Future[Answer]") -> None:
        if answer.done():
            return
        error = done.exception()
        if error is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(error)

    def pass_on(done: "Future[Answer]") -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(take, done)

    reference.future().add_done_callback(pass_on)
    return answer
