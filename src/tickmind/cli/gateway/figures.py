"""The figures of a running gateway, read and checked, for `tickmind gateway top`."""

import http.client
import os
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tickmind.base import ConfigError, Secret, TickmindError
from tickmind.base.access.tls_files import TlsFiles
from tickmind.cli.screen import harmless, one_line

MOST_BYTES: Final = 8 * 1024 * 1024
TIMEOUT_S: Final = 5.0
PATH: Final = "/api/llm/overview"
KEY_NAME: Final = "TICKMIND_GATEWAY_KEY"

Shown = Annotated[str, BeforeValidator(lambda text: one_line(harmless(text)) if isinstance(text, str) else text)]


class GatewayAwayError(TickmindError):
    """No gateway answers; the message says what to do."""


class _Figures(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class Times(_Figures):
    """Durations, and their number."""

    count: int
    p50_ms: float
    p99_ms: float


class LimitFigures(_Figures):
    """One limit and how much of it is used."""

    unit: Shown
    limit: float
    per_s: float
    used: float


class LaneFigures(_Figures):
    """One lane."""

    provider: Shown
    model: Shown
    state: Shown
    in_flight: int
    concurrency: float | None
    waiting: int
    limited_for_ms: int
    reason: Shown
    limits: tuple[LimitFigures, ...]
    served: int
    limited: int
    failed: int


class WaitingCount(_Figures):
    """How many requests of a session wait in a queue."""

    session: Shown
    jobs: int


class Step(_Figures):
    """One target of a chain."""

    provider: Shown


class ChainFigures(_Figures):
    """One queue and its waiting requests."""

    model: Shown
    chain: tuple[Step, ...]
    depth: int
    capacity: int
    waiting: tuple[WaitingCount, ...]
    expected: int
    wait_ms: int


class SessionFigures(_Figures):
    """One session and its share."""

    session: Shown
    weight: float
    share: float
    due_share: float
    served: int
    queued: int
    deferred: int
    waits: Times | None


class EventFigures(_Figures):
    """One event."""

    at: int
    kind: Shown
    provider: Shown
    model: Shown
    session: Shown
    for_ms: int
    detail: Shown
    count: int


class TargetFigures(_Figures):
    """One provider and model, and what it cost."""

    provider: Shown
    model: Shown
    served: int
    prompt_tokens: int
    completion_tokens: int
    usd: float
    unpriced: int
    latencies: Times


class LatelyFigures(_Figures):
    """The last minute."""

    served_per_s: float
    fallbacks: int
    usd: float
    waits: Times


class SharedFigures(_Figures):
    """Whether limits are shared with other gateways."""

    problem: Shown


class Total(_Figures):
    """The total cost."""

    usd: float


class Overview(_Figures):
    """All figures at one moment."""

    at: int
    up_ms: int
    sharing: Shown
    shared: SharedFigures
    stopping: bool
    requests: int
    answered: int
    queued: int
    expected: int
    wait_ms: int
    in_flight: int
    fallbacks: int
    total: Total
    lately: LatelyFigures
    lanes: tuple[LaneFigures, ...]
    chains: tuple[ChainFigures, ...]
    sessions: tuple[SessionFigures, ...]
    targets: tuple[TargetFigures, ...]
    events: tuple[EventFigures, ...]


class GatewayFigures:
    """Reads the figures of one gateway, with the key in TICKMIND_GATEWAY_KEY if none is given.

    It follows no redirect, so the key goes nowhere else.
    """

    def __init__(
        self, url: str, key: Secret | None = None, *, ca: Path | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        key = Secret(os.environ.get(KEY_NAME, "")) if key is None else key
        if not key.reveal().isascii() or not key.reveal().isprintable() or " " in key.reveal():
            raise ConfigError(f"the key in {KEY_NAME} has characters that no key has; copy it again")
        self._url = _parse(url)
        self._key = key
        self._context = None if ca is None else TlsFiles(ca).context()
        self._timeout_s = timeout_s

    @property
    def address(self) -> str:
        """The gateway's address."""
        return f"{self._url.scheme}://{self._url.netloc}"

    def ask(self) -> Overview:
        """Return the current figures; raises `GatewayAwayError`."""
        status, body = self._get()
        if status == 401:
            wrong = "does not accept the key in" if self._key else "requires a key; set"
            raise GatewayAwayError(f"the gateway at {self.address} {wrong} {KEY_NAME}")
        if status != 200:
            raise GatewayAwayError(f"the server at {self.address} answers with status {status}; is it a gateway?")
        try:
            return Overview.model_validate_json(body)
        except ValidationError as exc:
            where = ".".join(str(part) for part in exc.errors()[0]["loc"]) or "the reply"
            raise GatewayAwayError(
                f"the server at {self.address} is no gateway of this version: {where} is not as expected"
            ) from None

    def _get(self) -> tuple[int, bytes]:
        host, port = self._url.hostname or "", self._url.port
        secure = self._url.scheme == "https"
        connection = (
            http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=self._context)
            if secure
            else http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        )
        headers = {"Authorization": f"Bearer {self._key.reveal()}"} if self._key else {}
        try:
            connection.request("GET", f"{self._url.path.rstrip('/')}{PATH}", headers=headers)
            reply = connection.getresponse()
            body = reply.read(MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as exc:
            words = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc) or type(exc).__name__
            raise GatewayAwayError(
                f"no gateway answers at {self.address} ({words}); start one with `tickmind gateway`, or set "
                "its address with --url"
            ) from None
        finally:
            connection.close()
        if len(body) > MOST_BYTES:
            raise GatewayAwayError(f"the server at {self.address} sends too much data; is it a gateway?")
        return reply.status, body


def _parse(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.username is None and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or not url.isascii() or " " in url:
        raise ConfigError("--url takes the address of a gateway, such as http://127.0.0.1:8766")
    return parts
