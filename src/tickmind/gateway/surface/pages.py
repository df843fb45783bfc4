"""The endpoints for statistics, health, metrics, the OpenAPI document and the dashboard."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson

from tickmind.base.pages import theme
from tickmind.base.telemetry.exposition import CONTENT_TYPE
from tickmind.gateway.http.exchange import Request, Responder
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.surface import figures
from tickmind.gateway.surface.logins import Logins
from tickmind.gateway.surface.metrics import metrics
from tickmind.gateway.surface.openapi import openapi
from tickmind.gateway.surface.overview import overview
from tickmind.gateway.surface.routes import JSON, Routes, cors, reply_refusal

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway

_Figure = Callable[["Gateway", str | None], dict[str, Any]]
_NO_STORE = b"cache-control: no-store\r\nx-content-type-options: nosniff\r\n"
# Scripts and styles only from the gateway itself, none inline, and no other site may frame the page.
_POLICY = (
    b"content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    b"referrer-policy: no-referrer\r\n"
)
_JAVASCRIPT = "text/javascript; charset=utf-8"
_THEME = "theme.css"  # shared with the other pages
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/dashboard/charts.js": ("charts.js", _JAVASCRIPT),
    "/dashboard/dashboard.css": ("dashboard.css", "text/css; charset=utf-8"),
    "/dashboard/dashboard.js": ("dashboard.js", _JAVASCRIPT),
    "/dashboard/elements.js": ("elements.js", _JAVASCRIPT),
    "/dashboard/icon.svg": ("icon.svg", "image/svg+xml"),
    "/dashboard/panels.js": ("panels.js", _JAVASCRIPT),
    "/dashboard/theme.css": (_THEME, "text/css; charset=utf-8"),
    "/dashboard/words.js": ("words.js", _JAVASCRIPT),
}


class Pages:
    """Serves the gateway's own figures. If callers have keys, all but the page itself needs one.

    A caller's key, or a login with it, shows the caller's own figures, an admin's all.
    """

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._logins = Logins(gateway.caller_keys, gateway.clock, required=bool(gateway.config.callers))

    def add_to(self, routes: Routes) -> None:
        """Register all endpoints."""
        for path, figure in (
            ("/api/llm/stats", figures.stats),
            ("/api/llm/sessions", figures.sessions),
            ("/api/llm/costs", figures.costs),
            ("/api/llm/overview", overview),
        ):
            routes.add("GET", path, self._figures(figure))
        routes.add("GET", "/healthz", self.health)
        routes.add("GET", "/metrics", self.metrics)
        routes.add("GET", "/openapi.json", self.openapi)
        routes.add("POST", "/dashboard/login", self._logins.log_in)
        routes.add("POST", "/dashboard/logout", self._logins.log_out)
        for path, (name, kind) in _FILES.items():
            routes.add("GET", path, _file(name, kind))

    def health(self, request: Request, responder: Responder) -> None:
        """`GET /healthz`, for process monitors: no key is needed."""
        body = figures.health(self._gateway)
        responder.reply(
            503 if body["status"] == "stopping" else 200, JSON + _NO_STORE + cors(request), orjson.dumps(body)
        )

    def metrics(self, request: Request, responder: Responder) -> None:
        """`GET /metrics`, which cover all callers."""
        try:
            only = self._caller_shown(request)
        except RefusedError as exc:
            reply_refusal(responder, exc.refusal, cors(request))
            return
        if only is not None:
            refusal = Refusal(Code.FORBIDDEN, "the metrics cover all callers: use a key with `admin: true`")
            reply_refusal(responder, refusal, cors(request))
            return
        head = b"content-type: %b\r\n" % CONTENT_TYPE.encode()
        responder.reply(200, head + _NO_STORE, metrics(self._gateway).encode())

    def openapi(self, request: Request, responder: Responder) -> None:
        """`GET /openapi.json`."""
        document = openapi(version("tickmind"), keys=bool(self._gateway.config.callers))
        responder.reply(200, JSON + cors(request), orjson.dumps(document))

    def _figures(self, figure: _Figure) -> Callable[[Request, Responder], None]:
        def show(request: Request, responder: Responder) -> None:
            try:
                only = self._caller_shown(request)
            except RefusedError as exc:
                reply_refusal(responder, exc.refusal, cors(request))
                return
            responder.reply(200, JSON + _NO_STORE + cors(request), orjson.dumps(figure(self._gateway, only)))

        return show

    def _caller_shown(self, request: Request) -> str | None:
        """Return the caller whose figures may be shown, None for all; raises `RefusedError` for an unknown key."""
        caller = None
        if self._gateway.config.callers and b"authorization" not in request.headers:
            caller = self._logins.caller_of(request)
        if caller is None:
            caller = self._gateway.call_options(request).caller
        return None if caller is None or caller.admin else caller.name


def _file(name: str, kind: str) -> Callable[[Request, Responder], None]:
    head = b"content-type: %b\r\n" % kind.encode() + _NO_STORE + _POLICY

    def show(request: Request, responder: Responder) -> None:  # noqa: ARG001 - the same for all
        responder.reply(200, head, _read(name))

    return show


@cache
def _read(name: str) -> bytes:
    if name == _THEME:
        return theme().encode()
    return files("tickmind.gateway.surface").joinpath("dashboard", name).read_bytes()
