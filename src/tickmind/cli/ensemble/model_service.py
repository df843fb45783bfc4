"""The models and their gateway, started after the characters: with a known port no part waits for them.

The socket is opened here and passed to the gateway. Until that answers, callers wait in the socket's backlog.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, Self

from tickmind.cli.ensemble.parts import Part, PartError

HOST = "127.0.0.1"
_BACKLOG = 1024
_LISTENER = 3  # the number of a part's first passed descriptor


class StartPart(Protocol):
    """Starts a part, by its arguments, its environment and its descriptors."""

    def __call__(self, name: str, arguments: Sequence[str], env: Mapping[str, str], *descriptors: int) -> Part:
        """Start it."""
        ...


class ModelService:
    """Use it as `async with`. With a `port` (0 is any) it does nothing before `begin`; without one it begins at once.

    So loading a model delays no other part; without a port the gateway opens its own, and its address is awaited.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        port: int | None,
        models: Callable[[], AbstractAsyncContextManager[Mapping[str, str]]],
        start: StartPart,
    ) -> None:
        self._arguments = arguments
        self._models = models
        self._start = start
        self._door = None if port is None else _listening(port)
        self._part: asyncio.Future[Part] = asyncio.get_running_loop().create_future()
        self._when_gone: Callable[[], None] = lambda: None
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._door is None:
            self.begin()
        return self

    def begin(self) -> None:
        """Start models and gateway, unless that was done before."""
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())
            self._serving.add_done_callback(self._ended)

    async def __aexit__(self, *exc: object) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait({self._serving})
        if self._door is not None:
            self._door.close()

    async def address(self) -> str:
        """Return the address of the gateway, now or in future."""
        if self._door is not None:
            return f"http://{HOST}:{self._door.getsockname()[1]}"
        return await (await asyncio.shield(self._part)).address()

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call back when it has ended, or at once if it has."""
        self._when_gone = call
        if self._serving is not None and self._serving.done():
            call()

    def complain(self) -> None:
        """Raise the error that ended it, if there is one."""
        if self._serving is not None and self._serving.done():
            self._serving.result()

    async def _serve(self) -> None:
        async with self._models() as env:
            if self._door is None:
                part = self._start("gateway", self._arguments, env)
            else:
                part = self._start("gateway", [*self._arguments, "--fd", str(_LISTENER)], env, self._door.fileno())
            gone = asyncio.Event()
            part.when_gone(gone.set)
            self._part.set_result(part)
            try:
                await gone.wait()
            finally:
                await part.stop()
            part.complain()

    def _ended(self, serving: asyncio.Task[None]) -> None:
        if not self._part.done():
            if serving.cancelled():
                self._part.cancel()
            elif (error := serving.exception()) is not None:
                self._part.set_exception(error)
                self._part.exception()  # marks it as retrieved, as no task may be waiting
        self._when_gone()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=_BACKLOG)
    except OSError as error:
        raise PartError(
            f"the gateway can't listen on {HOST}:{port} ({error.strerror}); is another one running there? "
            "--any-ports takes free ones"
        ) from error
