"""`Logins`: the dashboard's logins. A key is sent once, then a cookie that no script can read stands for it."""

import hashlib
import re
import secrets
from collections import Counter, deque
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from tickmind.base import Clock, Limit, get_logger
from tickmind.base.access.browser_guard import is_own_origin
from tickmind.gateway.fairness.sessions import LOCAL, group_of_peer
from tickmind.gateway.http.exchange import Request, Responder
from tickmind.gateway.http.reply_headers import refusal_headers
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.surface.documents import parse_object, refuse
from tickmind.gateway.surface.documents import text as text_of
from tickmind.gateway.surface.openai import OpenAIForm

if TYPE_CHECKING:
    from tickmind.gateway.fairness.caller_keys import CallerKeys
    from tickmind.gateway.settings.config import Caller

MAX_IDLE_S = Limit("time after which an unused login ends", 900.0, "s")
MAX_AGE_S = Limit("time after which a login ends", 12 * 3600.0, "s")
MAX_LOGINS = Limit("number of logins", 256)
MAX_WRONG_KEYS = Limit("number of wrong keys from one address in a minute", 5)
MAX_ADDRESSES = Limit("number of addresses whose wrong keys are counted", 1024)
WINDOW_S = 60.0
MAX_KEY_CHARS = 200
_TOKEN = re.compile(r"[A-Za-z0-9_-]{20,64}")
_KEY = re.compile(r"[\x21-\x7e]+")
_FORM = OpenAIForm()
_log = get_logger("tickmind.gateway")


@dataclass(slots=True)
class _Login:
    caller: "Caller"
    began_s: float
    used_s: float


class Logins:
    """Who is logged in at the dashboard, in memory only: a restart ends all logins.

    A login shows figures, and does nothing else: models are asked with keys alone. It holds for the gateway's own page
    only; `Origin` and `Sec-Fetch-Site` tell other pages, also those of the same machine, whose cookies a browser
    would send along. `Routes` has checked before that the origin may use the gateway.
    """

    def __init__(self, keys: "CallerKeys", clock: Clock, *, required: bool) -> None:
        self._keys = keys
        self._clock = clock
        self._required = required
        self._logins: dict[bytes, _Login] = {}  # digest of the cookie -> the login, the oldest first
        self._wrong: dict[str, deque[float]] = {}  # address -> when wrong keys came from it, the oldest first

    def caller_of(self, request: Request) -> "Caller | None":
        """Return whose login a request's cookie is; None if it has none that holds."""
        token = _cookie_of(request)
        if not token or not _is_own_page(request):
            return None
        digest = _digest(token)
        login = self._logins.get(digest)
        if login is None:
            return None
        now_s = self._clock.monotonic()
        if now_s - login.used_s > MAX_IDLE_S.maximum or now_s - login.began_s > MAX_AGE_S.maximum:
            del self._logins[digest]
            return None
        login.used_s = now_s
        return login.caller

    def log_in(self, request: Request, responder: Responder) -> None:
        """`POST /dashboard/login`: take `{"key": ...}` and set the cookie."""
        try:
            caller = self._checked(request)
        except RefusedError as error:
            _reply_refusal(responder, error.refusal)
            return
        self._forget(request)
        token = secrets.token_urlsafe(32)
        now_s = self._clock.monotonic()
        self._logins[_digest(token)] = _Login(caller, now_s, now_s)
        if len(self._logins) > MAX_LOGINS.maximum:
            self._end_one()
        _log.info("logged in at the dashboard", caller=caller.name, address=_address_of(request))
        responder.reply(204, _set_cookie(request, token, int(MAX_AGE_S.maximum)), b"")

    def log_out(self, request: Request, responder: Responder) -> None:
        """`POST /dashboard/logout`: end the login and remove the cookie."""
        if not _is_own_page(request):
            _reply_refusal(responder, _OTHER_PAGE)
            return
        self._forget(request)
        responder.reply(204, _set_cookie(request, "", 0), b"")

    def _checked(self, request: Request) -> "Caller":
        if not _is_own_page(request):
            raise RefusedError(_OTHER_PAGE)
        if not self._required:
            raise refuse("this gateway's callers have no keys, so there is nothing to log in for")
        if request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise refuse("send the key as application/json")  # no form of another page can
        key = text_of(parse_object(request.body), "key", needed=True, most=MAX_KEY_CHARS)
        address = _address_of(request)
        self._check_pace(address)
        caller = self._keys.check(f"Bearer {key}") if _KEY.fullmatch(key) else None
        if caller is None:
            self._note_wrong(address)
            raise RefusedError(Refusal(Code.UNAUTHORIZED, "the gateway does not know this key"))
        return caller

    def _check_pace(self, address: str) -> None:
        """Raise a refusal if too many wrong keys came from an address lately."""
        wrong = self._wrong.get(address)
        now_s = self._clock.monotonic()
        while wrong and now_s - wrong[0] >= WINDOW_S:
            wrong.popleft()
        if wrong and len(wrong) >= MAX_WRONG_KEYS.maximum:
            wait_s = WINDOW_S - (now_s - wrong[0])
            words = f"too many wrong keys from this address; wait {wait_s:.0f} s"
            raise RefusedError(Refusal(Code.RATE_LIMIT_COOLDOWN, words, retry_after_s=wait_s))

    def _note_wrong(self, address: str) -> None:
        wrong = self._wrong.pop(address, None) or deque()
        wrong.append(self._clock.monotonic())
        self._wrong[address] = wrong
        if len(self._wrong) > MAX_ADDRESSES.maximum:
            del self._wrong[next(iter(self._wrong))]
        if len(wrong) == 1:
            _log.warning("a wrong key was given at the dashboard", address=address)

    def _end_one(self) -> None:
        """End the oldest login of the caller that has most, so that no caller can end those of others."""
        counts = Counter(login.caller.name for login in self._logins.values())
        ((most, _),) = counts.most_common(1)
        del self._logins[next(digest for digest, login in self._logins.items() if login.caller.name == most)]

    def _forget(self, request: Request) -> None:
        self._logins.pop(_digest(_cookie_of(request)), None)


_OTHER_PAGE = Refusal(Code.FORBIDDEN_URL, "only the gateway's own page logs in and out")


def _is_own_page(request: Request) -> bool:
    """Return whether a request is from the gateway's own page, or from no page at all.

    The browser's word on that counts, because a proxy may change `Host`. Browsers give it by TLS and on one machine
    only; else `Origin` must be the gateway's.
    """
    headers = request.headers
    site = headers.get(b"sec-fetch-site", b"none")
    if site != b"none":
        return site == b"same-origin"
    origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    return not origin or is_own_origin(origin, host)


def _address_of(request: Request) -> str:
    """Return the address that a request comes from, or its IPv6 network; a proxy of this machine names it."""
    peer = group_of_peer(request.peer)
    named = request.headers.get(b"x-forwarded-for", b"").rpartition(b",")[2].strip().decode("latin-1")
    if not named or peer != LOCAL:
        return peer
    try:
        return group_of_peer(str(ip_address(named)))
    except ValueError:
        return peer


def _cookie_name(request: Request) -> str:
    """Return the cookie's name: browsers keep one jar for all ports of a machine, so it has the port in it."""
    port = request.headers.get(b"host", b"").rpartition(b":")[2]
    return f"tickmind-gateway-{port.decode('latin-1') if port.isdigit() else 'login'}"


def _cookie_of(request: Request) -> str:
    name = _cookie_name(request)
    for part in request.headers.get(b"cookie", b"").decode("latin-1").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name and _TOKEN.fullmatch(value):
            return value
    return ""


def _set_cookie(request: Request, token: str, age_s: int) -> bytes:
    """Return the header that sets the cookie; browsers send it by TLS only if the page came by TLS."""
    headers = request.headers
    by_tls = headers.get(b"origin", b"").startswith(b"https:") or headers.get(b"x-forwarded-proto") == b"https"
    secure = "; Secure" if by_tls else ""
    name = _cookie_name(request)
    cookie = f"{name}={token}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}"
    return f"set-cookie: {cookie}\r\ncache-control: no-store\r\n".encode("latin-1")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _reply_refusal(responder: Responder, refusal: Refusal) -> None:
    headers = refusal_headers(refusal, (), b"") + b"cache-control: no-store\r\n"
    responder.reply(refusal.status, headers, _FORM.refusal(refusal, b""))
