"""`Callbacks`: user functions for queries, responses, errors, estimates and waits, and a sink for thoughts."""

import logging
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from tickmind.base import error_text
from tickmind.protocol import Thought, ThoughtSink
from tickmind.strategy.errors import CAUGHT, ErrorKind
from tickmind.strategy.functions import plain_function, refuse_coroutine

OnQuery: TypeAlias = Callable[[int, int, int], object]  # entity id, prompt size in characters, tick
OnResponse: TypeAlias = Callable[[int, float, int, int], object]  # entity id, latency in seconds, size, tick
OnError: TypeAlias = Callable[[int, str, str, int], object]  # entity id (0: no entity's), error type, message, tick
OnEstimate: TypeAlias = Callable[[int, int, int], object]  # entity id, prompt tokens, tick
OnDeferred: TypeAlias = Callable[[int, str, int, int], object]  # entity id, why, until which tick, tick

_OnQuery = TypeVar("_OnQuery", bound=OnQuery)
_OnResponse = TypeVar("_OnResponse", bound=OnResponse)
_OnError = TypeVar("_OnError", bound=OnError)
_OnEstimate = TypeVar("_OnEstimate", bound=OnEstimate)
_OnDeferred = TypeVar("_OnDeferred", bound=OnDeferred)
_Sink = TypeVar("_Sink", bound=ThoughtSink | None)

_log = logging.getLogger("tickmind.strategy")


class Callbacks:
    """Registered callbacks. Each `on_` method returns its callback, so it works as a decorator too."""

    def __init__(self) -> None:
        self._on_query: list[OnQuery] = []
        self._on_response: list[OnResponse] = []
        self._on_error: list[OnError] = []
        self._on_estimate: list[OnEstimate] = []
        self._on_deferred: list[OnDeferred] = []
        self._sink: ThoughtSink | None = None
        self.callback_errors = 0

    def on_query(self, callback: _OnQuery) -> _OnQuery:
        """Call `callback(eid, prompt_size, tick)` when a query goes out.

        The size is in characters, earlier turns included; entities that share a call share its size.
        """
        self._on_query.append(plain_function("an on_query callback", callback))
        return callback

    def on_response(self, callback: _OnResponse) -> _OnResponse:
        """Call `callback(eid, latency, response_size, tick)` when a reply has been processed.

        The latency is in seconds, from sending the question to the client until the reply was complete.
        """
        self._on_response.append(plain_function("an on_response callback", callback))
        return callback

    def on_error(self, callback: _OnError) -> _OnError:
        """Call `callback(eid, error_type, error_msg, tick)` on any failure; eid 0 means that no entity is concerned."""
        self._on_error.append(plain_function("an on_error callback", callback))
        return callback

    def on_estimate(self, callback: _OnEstimate) -> _OnEstimate:
        """Call `callback(eid, tokens, tick)` with the size of each prompt in tokens, before it goes out."""
        self._on_estimate.append(plain_function("an on_estimate callback", callback))
        return callback

    def on_deferred(self, callback: _OnDeferred) -> _OnDeferred:
        """Call `callback(eid, reason, until_tick, tick)` when an agent has to wait, although nothing failed.

        The reason is `deferred` after `LLMManager.defer`, else a shared client's code: RATE_LIMIT_COOLDOWN,
        QUEUE_FULL.
        """
        self._on_deferred.append(plain_function("an on_deferred callback", callback))
        return callback

    def unsubscribe(self, callback: Callable[..., object]) -> None:
        """Undo `on_query`, `on_response`, `on_error`, `on_estimate` or `on_deferred`; ignores an unknown callback."""
        known: list[list[Any]] = [
            self._on_query,
            self._on_response,
            self._on_error,
            self._on_estimate,
            self._on_deferred,
        ]
        for callbacks in known:
            callbacks[:] = [known for known in callbacks if known != callback]

    def record_thoughts(self, sink: _Sink) -> _Sink:
        """Send every deliberation to a sink; None switches it off."""
        self._sink = None if sink is None else plain_function("a sink of thoughts", sink)
        return sink

    @property
    def records_thoughts(self) -> bool:
        """Whether there is a sink of thoughts."""
        return self._sink is not None

    @property
    def reports_queries(self) -> bool:
        """Whether there are callbacks for queries."""
        return bool(self._on_query)

    @property
    def estimates(self) -> bool:
        """Whether there are callbacks for estimates."""
        return bool(self._on_estimate)

    def tell_query(self, eid: int, size: int, tick: int) -> None:
        """Run the on_query callbacks."""
        for callback in tuple(self._on_query):
            self._call(tick, callback, eid, size, tick)

    def tell_response(self, eid: int, latency: float, size: int, tick: int) -> None:
        """Run the on_response callbacks."""
        for callback in tuple(self._on_response):
            self._call(tick, callback, eid, latency, size, tick)

    def tell_estimate(self, eid: int, tokens: int, tick: int) -> None:
        """Run the on_estimate callbacks."""
        for callback in tuple(self._on_estimate):
            self._call(tick, callback, eid, tokens, tick)

    def tell_deferred(self, eid: int, reason: str, until_tick: int, tick: int) -> None:
        """Run the on_deferred callbacks."""
        for callback in tuple(self._on_deferred):
            self._call(tick, callback, eid, reason, until_tick, tick)

    def tell_error(self, eid: int, kind: ErrorKind, message: str, tick: int) -> None:
        """Run the on_error callbacks."""
        for callback in tuple(self._on_error):
            try:
                refuse_coroutine("an on_error callback", callback(eid, kind.value, message, tick))
            except CAUGHT:
                self.callback_errors += 1
                _log.exception("an on_error callback raised")

    def tell_thought(self, make: Callable[[], Thought], tick: int) -> None:
        """Send a thought to the sink; it contains the client's values, so making it may fail."""
        sink = self._sink
        if sink is None:
            return
        try:
            thought = make()
        except CAUGHT as error:
            self.callback_errors += 1
            self.tell_error(0, ErrorKind.CALLBACK, f"can't make a thought of a reply: {error_text(error)}", tick)
            return
        self._call(tick, sink, thought)

    def _call(self, tick: int, callback: Callable[..., object], *arguments: Any) -> None:
        try:
            refuse_coroutine("a callback", callback(*arguments))
        except CAUGHT as error:
            self.callback_errors += 1
            name = getattr(callback, "__qualname__", type(callback).__name__)
            self.tell_error(0, ErrorKind.CALLBACK, f"{name} raised {error_text(error)}", tick)
