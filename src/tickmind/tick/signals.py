"""`SignalBus`: queues events when they happen and delivers them to their handlers once per tick."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from tickmind.base import Limit
from tickmind.tick.hooks import checked, without

if TYPE_CHECKING:
    from tickmind.tick.context import System, TickContext
    from tickmind.tick.world import World

SignalHandler: TypeAlias = Callable[[str, dict[str, Any]], None]
H = TypeVar("H", bound=SignalHandler)
MAX_QUEUED = Limit("number of signals waiting to be flushed", 100_000)


@dataclass(frozen=True, slots=True)
class SignalStatistics:
    """The traffic of a bus in numbers."""

    queued: int
    published: int
    delivered: int


class SignalBus:
    """Queue signals and deliver them at `flush`, so that all handlers get a tick's events in the same order.

        >>> bus = SignalBus()
        >>> _ = bus.subscribe("eaten", lambda signal, data: print(f"{data['eater']} ate {data['eaten']}"))
        >>> bus.publish("eaten", eater=3, eaten=7)
        >>> bus.flush()
        3 ate 7

    A signal published during a flush waits for the next one. If handlers raise, every signal is still delivered to
    every handler; then the errors are raised together as an `ExceptionGroup`.
    """

    def __init__(self, *, max_queued: int = int(MAX_QUEUED.maximum)) -> None:
        self._limit = MAX_QUEUED.at(max_queued)
        self._handlers: dict[str, list[SignalHandler]] = {}
        self._queue: list[tuple[str, dict[str, Any]]] = []
        self._published = 0
        self._delivered = 0

    @overload
    def subscribe(self, signal: str, handler: H) -> H: ...
    @overload
    def subscribe(self, signal: str) -> Callable[[H], H]: ...

    def subscribe(self, signal: str, handler: H | None = None) -> H | Callable[[H], H]:
        """Call `handler(signal, data)` for each signal of this name from the next flush on; a decorator too."""

        def add(handler: H) -> H:
            self._handlers.setdefault(signal, []).append(checked(handler, "the signal handler"))
            return handler

        return add if handler is None else add(handler)

    def unsubscribe(self, signal: str, handler: SignalHandler) -> None:
        """Undo `subscribe`; ignores an unknown handler."""
        self._handlers[signal] = without(self._handlers.get(signal, ()), handler)

    def publish(self, signal: str, **data: Any) -> None:
        """Queue a signal for the next flush: `bus.publish("eaten", eater=3, eaten=7)`."""
        self._limit.check(len(self._queue) + 1)
        self._queue.append((signal, data))
        self._published += 1

    def flush(self) -> None:
        """Deliver the queued signals, in the order of publishing."""
        queue, self._queue = self._queue, []
        errors: list[Exception] = []
        for signal, data in queue:
            for handler in tuple(self._handlers.get(signal, ())):
                try:
                    handler(signal, data)
                except Exception as error:  # noqa: BLE001  the other handlers must run too; all errors are raised below
                    errors.append(error)
            self._delivered += 1
        if errors:
            raise ExceptionGroup("signal handlers raised", errors)

    def clear(self) -> None:
        """Drop the queued signals."""
        self._queue.clear()

    def statistics(self) -> SignalStatistics:
        """Return how many signals wait and were delivered."""
        return SignalStatistics(len(self._queue), self._published, self._delivered)


def make_signal_system(bus: SignalBus) -> "System":
    """Make a system that flushes the bus; add it first, so that the others get the events of the last tick."""

    def signal_system(_world: "World", _ctx: "TickContext") -> None:
        bus.flush()

    return signal_system
