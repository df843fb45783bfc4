"""The requests for frames, thoughts and minds, of the viewer's own source or of another run's."""

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

import orjson
from aiohttp import web

from tickmind.viewer.sources.source import MAX_THOUGHTS, MAX_WINDOW_TICKS, FrameSource
from tickmind.viewer.web_listener import RouteHandler

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,17}")
_FRAMES = "application/vnd.tickmind.frames"
FindSource: TypeAlias = Callable[[web.Request], Awaitable[FrameSource]]


class SourceRoutes:
    """Answers requests about the source that `find` gives.

    `play` and `lab` tell the page what it may offer, `awaits` what it says until the first answer of a model.
    """

    def __init__(self, find: FindSource, *, play: bool = False, lab: bool = False, awaits: str = "") -> None:
        self._find = find
        self._awaits = awaits
        self._play = play
        self._lab = lab

    def __iter__(self) -> Iterator[tuple[str, RouteHandler]]:
        """Iterate over the names of the requests and their handlers."""
        yield "hello", self._hello
        yield "span", self._span
        yield "window", self._window
        yield "state", self._state
        yield "digest", self._digest
        yield "thoughts", self._thoughts
        yield "mind", self._mind
        yield "whole-mind", self._whole_mind
        yield "story", self._story

    async def _hello(self, request: web.Request) -> web.StreamResponse:
        return frames_response((await self._find(request)).hello())

    async def _span(self, request: web.Request) -> web.StreamResponse:
        source = await self._find(request)
        live = source.watchers is not None
        offers = {"live": live, "play": live and self._play, "lab": self._lab, "awaits": self._awaits if live else ""}
        return json_response({**source.span().shown(), **offers})

    async def _window(self, request: web.Request) -> web.StreamResponse:
        first, last = whole_number(request, "first"), whole_number(request, "last")
        MAX_WINDOW_TICKS.check(last - first + 1)
        return frames_response(await (await self._find(request)).window(first, last))

    async def _state(self, request: web.Request) -> web.StreamResponse:
        return frames_response(await (await self._find(request)).state(whole_number(request, "tick")))

    async def _digest(self, request: web.Request) -> web.StreamResponse:
        return json_response((await self._find(request)).digest())

    async def _thoughts(self, request: web.Request) -> web.StreamResponse:
        count = max(0, whole_number(request, "count"))
        MAX_THOUGHTS.check(count)
        source = await self._find(request)
        return json_response(
            await source.thoughts(whole_number(request, "actor"), whole_number(request, "last"), count)
        )

    async def _mind(self, request: web.Request) -> web.StreamResponse:
        source = await self._find(request)
        return json_response(await source.mind(whole_number(request, "actor"), whole_number(request, "last")))

    async def _whole_mind(self, request: web.Request) -> web.StreamResponse:
        source = await self._find(request)
        return json_response(await source.whole_mind(whole_number(request, "actor"), whole_number(request, "tick")))

    async def _story(self, request: web.Request) -> web.StreamResponse:
        return json_response(await (await self._find(request)).story())


def whole_number(request: web.Request, name: str) -> int:
    """Return a number of a request's query; raises a plain refusal if it is none."""
    text = request.query.get(name, "")
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise web.HTTPBadRequest(reason=f"{name} must be a whole number")
    return int(text)


def frames_response(data: bytes) -> web.Response:
    """Return frames as a response, compressed if they are many."""
    response = web.Response(body=data, headers={"Content-Type": _FRAMES})
    if len(data) > 1024:
        response.enable_compression(web.ContentCoding.deflate)
    return response


def json_response(value: object) -> web.Response:
    """Return a value as a response."""
    return web.Response(body=orjson.dumps(value), headers={"Content-Type": "application/json"})
