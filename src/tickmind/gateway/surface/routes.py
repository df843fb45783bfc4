"""The table of endpoints, with the checks of `Host`, `Origin` and CORS."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from tickmind.base.access.browser_guard import is_own_origin
from tickmind.gateway.http.exchange import Handler, Request, Responder
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.surface.openai import OpenAIForm
from tickmind.llm.safety import is_loopback

JSON = b"content-type: application/json\r\n"
_ERRORS = OpenAIForm()
_PREFLIGHT = (
    b"access-control-allow-methods: GET, POST, OPTIONS\r\naccess-control-allow-headers: %b\r\n"
    b"access-control-max-age: 600\r\n"
)
_TAKEN_HEADERS = (
    b"authorization", b"content-type", b"idempotency-key", b"openai-beta", b"openai-organization", b"openai-project",
    b"x-tickmind-session", b"x-tickmind-agent", b"x-tickmind-priority", b"x-tickmind-timeout-ms",
    b"x-tickmind-drop-after-ms", b"x-tickmind-replace",
)  # fmt: skip
_OTHERS_TAKEN = re.compile(rb"x-(?:stainless|tickmind)-[a-z0-9-]{1,64}")  # what official SDKs send about themselves
MAX_ASKED_HEADERS = 64  # of a preflight that are read
_SHOWN_HEADERS = (
    b"access-control-expose-headers: retry-after, retry-after-ms, x-should-retry, x-tickmind-attempts, "
    b"x-tickmind-cooldown, x-tickmind-provider, x-tickmind-shared, x-tickmind-waited-ms\r\n"
)


class Routes:
    """The table of endpoints. A page of another site can't use the gateway: `Host` and `Origin` are checked.

    Pages of the gateway itself and of the listed `origins` may use it, with `local_pages` also every origin on this
    machine. Any program can open a port here, so they are for gateways that require keys.
    """

    def __init__(self, *, origins: tuple[str, ...], local_pages: bool) -> None:
        self._hosts: frozenset[bytes] = frozenset()  # accepted names; empty: any
        self._origins = frozenset(origin.encode() for origin in origins)
        self._local_pages = local_pages
        self._table: dict[bytes, dict[bytes, Handler]] = {}  # path -> method -> endpoint
        self._open_paths: dict[bytes, bytes] = {}  # prefix of a path -> its name in the table

    def add(self, method: str, path: str, endpoint: Handler) -> None:
        """Serve a path; a path that ends with `*` is served with everything below it."""
        self._table.setdefault(path.encode(), {})[method.encode()] = endpoint
        if path.endswith("*"):
            self._open_paths[path[:-1].encode()] = path.encode()

    def answer_to(self, names: Iterable[str], port: int) -> None:
        """Serve only requests for one of these host names."""
        self._hosts = frozenset(f"{name}:{port}".lower().encode() for name in names)

    def handle(self, request: Request, responder: Responder) -> None:
        """Serve a request, or refuse it."""
        endpoint = request.head.endpoint
        if endpoint is None:
            endpoint = request.head.endpoint = self._endpoint_of(request)
        endpoint(request, responder)

    def _endpoint_of(self, request: Request) -> Handler:
        """Return the handler of a request; it depends on the head alone."""
        headers, method = request.headers, request.method
        if self._hosts and headers.get(b"host", b"").lower() not in self._hosts:
            host = headers.get(b"host", b"").decode("latin-1")
            return _refusing(Refusal(Code.NOT_FOUND, f"{host!r} is no host name of this gateway"))
        origin = headers.get(b"origin")
        if origin is not None and not self._may_speak(origin, headers.get(b"host", b"")):
            words = "pages of this origin may not use the gateway; the operator can list it under `allowed_origins`"
            return _refusing(Refusal(Code.FORBIDDEN_URL, words))
        methods = self._table.get(request.path)
        if methods is None:
            below = (name for start, name in self._open_paths.items() if request.path.startswith(start))
            methods = self._table.get(next(below, b""))
        if methods is None:
            known = ", ".join(sorted(path.decode() for path in self._table if not path.startswith(b"/dashboard/")))
            return _refusing(Refusal(Code.NOT_FOUND, f"there is no such path; there are {known}"))
        endpoint = methods.get(method)
        if endpoint is not None:
            return endpoint
        if method == b"OPTIONS" and origin is not None:
            return _allow_page
        if method == b"HEAD" and b"GET" in methods:
            return methods[b"GET"]
        allowed = ", ".join(sorted(method.decode() for method in methods))
        refusal = Refusal(Code.METHOD_NOT_ALLOWED, f"this path takes {allowed}")
        return _refusing(refusal, b"allow: %b\r\n" % allowed.encode())

    def _may_speak(self, origin: bytes, host: bytes) -> bool:
        if origin in self._origins or is_own_origin(origin.decode("latin-1"), host.decode("latin-1")):
            return True
        return self._local_pages and _is_local(origin)


def _is_local(origin: bytes) -> bool:
    """Whether an origin is on this machine."""
    try:
        parts = urlsplit(origin.decode("ascii"))
        plain = parts.scheme in {"http", "https"} and f"{parts.scheme}://{parts.netloc}".encode() == origin
        return plain and parts.username is None and parts.port != 0 and is_loopback(parts.hostname or "")
    except ValueError:
        return False


def cors(request: Request) -> bytes:
    """Return the header by which a browser lets the page of an allowed origin read the reply."""
    head = request.head
    if head.cors is None:
        origin = head.headers.get(b"origin")
        head.cors = b"" if origin is None else b"access-control-allow-origin: %b\r\nvary: origin\r\n" % origin
        if origin is not None and head.method != b"OPTIONS":
            head.cors += _SHOWN_HEADERS
    return head.cors


def reply_refusal(responder: Responder, refusal: Refusal, headers: bytes = b"") -> None:
    """Send a refusal outside of any call."""
    responder.reply(refusal.status, JSON + headers, _ERRORS.refusal(refusal, b""))


def _allow_page(request: Request, responder: Responder) -> None:
    """Answer a preflight: what the page of an allowed origin may send."""
    requested = request.headers.get(b"access-control-request-headers", b"").lower().split(b",")[:MAX_ASKED_HEADERS]
    others = [name for name in map(bytes.strip, requested) if _OTHERS_TAKEN.fullmatch(name)]
    responder.reply(204, cors(request) + _PREFLIGHT % b", ".join(dict.fromkeys((*_TAKEN_HEADERS, *others))), b"")


def _refusing(refusal: Refusal, headers: bytes = b"") -> Handler:
    def refuse(_request: Request, responder: Responder) -> None:
        reply_refusal(responder, refusal, headers)

    return refuse
