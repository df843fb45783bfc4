"""The requests for runs, branches and interviews, below the address of each run."""

import json
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import orjson
from aiohttp import web

from tickmind.viewer.errors import RunLabError
from tickmind.viewer.page import HEADERS
from tickmind.viewer.run_lab import BranchOrder, RunLab, line_of
from tickmind.viewer.source_routes import json_response, whole_number
from tickmind.viewer.web_listener import RouteHandler

_JSON = "application/json"
_LINES = "application/x-ndjson"


class LabRoutes:
    """Passes requests to a `RunLab`. What changes something is posted as JSON, which no other site's page can."""

    def __init__(self, lab: RunLab, own_run: str) -> None:
        self._lab = lab
        self._own_run = own_run

    def __iter__(self) -> Iterator[tuple[str, str, RouteHandler]]:
        """Iterate over the methods and names of the requests and their handlers."""
        yield "GET", "runs", self._runs
        yield "GET", "divergence", self._divergence
        yield "GET", "branch", self._branch_state
        yield "POST", "branch", self._branch
        yield "POST", "interview", self._interview

    def run_of(self, request: web.Request) -> str:
        """Return the run that a request is about."""
        return request.match_info.get("run", self._own_run)

    async def _runs(self, request: web.Request) -> web.StreamResponse:
        return json_response(await self._lab.runs(self.run_of(request)))

    async def _divergence(self, request: web.Request) -> web.StreamResponse:
        return json_response(await self._lab.divergence(self.run_of(request), request.query.get("other", "")))

    async def _branch_state(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - there is one at a time
        return json_response(await self._lab.branch_state())

    async def _branch(self, request: web.Request) -> web.StreamResponse:
        order = BranchOrder.read(await _posted(request))
        return json_response(await self._lab.begin_branch(self.run_of(request), order))

    async def _interview(self, request: web.Request) -> web.StreamResponse:
        said, tick_id = await _posted(request), whole_number(request, "tick")
        who, question = line_of(said.get("who"), "who"), line_of(said.get("question"), "question").strip()
        if tick_id < 1 or not question:
            raise RunLabError("an interview needs a question, and a tick from 1 on")
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": _LINES})
        async with aclosing(self._lab.interview(self.run_of(request), who, tick_id, question)) as steps:
            first = await anext(steps)  # what is refused at once is an ordinary refusal
            await response.prepare(request)
            await response.write(orjson.dumps(first) + b"\n")
            try:
                async for step in steps:
                    await response.write(orjson.dumps(step) + b"\n")
            except RunLabError as error:
                await response.write(orjson.dumps({"error": str(error)}) + b"\n")
        await response.write_eof()
        return response


async def _posted(request: web.Request) -> dict[str, Any]:
    """Return what was posted; raises `RunLabError` for anything but an object of JSON."""
    if request.content_type != _JSON:
        raise RunLabError(f"post {_JSON}")
    try:
        said = json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise RunLabError("this is no JSON") from error
    if not isinstance(said, dict):
        raise RunLabError("post an object of JSON")
    return said
