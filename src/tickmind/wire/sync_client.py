"""The client for scripts and threads: the same calls, blocking, with an event loop of its own in the background."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tickmind.base import Secret
from tickmind.protocol import (
    Ack,
    EntityInfo,
    Intent,
    IntentColumns,
    Lease,
    LifecycleEvent,
    Observation,
    Reason,
    Thought,
    TickEvent,
    WorldInfo,
)
from tickmind.wire.backoff import Backoff
from tickmind.wire.client import EVERYTHING, RETRY, WorldClient
from tickmind.wire.connection import Connection
from tickmind.wire.control import ControlSession, ControlStatistics
from tickmind.wire.errors import UnreachableError, WireConfigError
from tickmind.wire.frames import AckBatch, BatchOpened, LeasesLost, ObservationBatch
from tickmind.wire.reports import AgentStatus
from tickmind.wire.viewing import ViewerEvent, ViewerSnapshot, ViewFilter

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32
    from tickmind.wire.batch_control import BatchSession

T = TypeVar("T")
S = TypeVar("S")


class Background:
    """An event loop in a thread of its own, on which a blocking client does its work."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="tickmind-wire", daemon=True)
        self._lock = threading.Lock()
        self._closed = False
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work on the loop and wait for it; an interrupt of the waiting thread cancels it."""
        with self._lock:
            if self._closed or threading.current_thread() is self._thread:
                work.close()
                raise WireConfigError("this client is closed, or was called from its own event loop; use WorldClient")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise UnreachableError("the call was cancelled because its client was closed", status="CANCELLED") from None
        except BaseException:
            future.cancel()
            raise

    def iterate(self, stream: AsyncIterator[T]) -> Iterator[T]:
        """The items of a stream; leaving the iteration ends the stream."""

        async def following() -> tuple[bool, T | None]:
            try:
                return True, await anext(stream)
            except StopAsyncIteration:
                return False, None

        try:
            while True:
                there_is_one, item = self.run(following())
                if not there_is_one:
                    return
                yield item  # type: ignore[misc]  # None only where the stream holds None
        finally:
            if not self._closed and hasattr(stream, "aclose"):
                self.run(stream.aclose())

    def close(self) -> None:
        """Cancel what is under way and end the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()


class _Session(Generic[S]):
    """What both kinds of blocking session have in common."""

    def __init__(self, background: Background, session: S) -> None:
        self._background = background
        self._session = session

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        session: Any = self._session
        self._background.run(session.__aexit__(exc_type, exc, trace))


class SyncControlSession(_Session[ControlSession]):
    """`ControlSession`, blocking: use it in `with`, iterate for observations and `submit` intents."""

    def __enter__(self) -> "SyncControlSession":
        self._background.run(self._session.__aenter__())
        return self

    def __iter__(self) -> Iterator[Observation]:
        return self._background.iterate(aiter(self._session))

    @property
    def lease(self) -> Lease:
        """The lease; its secret takes the entity back after a break."""
        return self._session.lease

    @property
    def controlled(self) -> bool:
        """Whether the stream that keeps control is open."""
        return self._session.controlled

    def statistics(self) -> ControlStatistics:
        """What went over the stream so far."""
        return self._session.statistics()

    def submit(self, tick_id: int, intent: Intent) -> Ack:
        """Send the intent of a tick and wait for the world's word on it."""
        return self._background.run(self._session.submit(tick_id, intent))


class SyncBatchSession(_Session["BatchSession"]):
    """`BatchSession`, blocking: use it in `with`, iterate for parts of observations and `submit` columns."""

    def __enter__(self) -> "SyncBatchSession":
        self._background.run(self._session.__aenter__())
        return self

    def __iter__(self) -> Iterator[ObservationBatch]:
        return self._background.iterate(aiter(self._session))

    @property
    def opened(self) -> BatchOpened:
        """Which entities are under control, and the secret that takes them back after a break."""
        return self._session.opened

    def lost(self) -> tuple[LeasesLost, ...]:
        """Entities that were lost since the last time this was asked."""
        return self._session.lost()

    def statistics(self) -> ControlStatistics:
        """What went over the stream so far."""
        return self._session.statistics()

    def submit(self, tick_id: int, intents: IntentColumns) -> AckBatch:
        """Send intents of a tick and wait for the world's word on them."""
        return self._background.run(self._session.submit(tick_id, intents))


class SyncWorldClient:
    """`WorldClient` for code without an event loop; its methods mean the same. Any number of threads may share it."""

    def __init__(self, connection: Connection | str, *, rng: random.Random | None = None) -> None:
        self._background = Background()
        try:
            self._client = self._background.run(_make(connection, rng))
        except BaseException:
            self._background.close()
            raise

    def __enter__(self) -> "SyncWorldClient":
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sync{self._client!r}"

    def close(self) -> None:
        """End the connection, all streams on it, and the thread."""
        try:
            self._background.run(self._client.close())
        except WireConfigError:
            return  # closed before
        self._background.close()

    def is_serving(self) -> bool:
        """Whether the world says that it is healthy."""
        return self._background.run(self._client.is_serving())

    def ticks(self, *, retry: Backoff | None = RETRY) -> Iterator[TickEvent]:
        """The beginning of each tick."""
        return self._background.iterate(self._client.ticks(retry=retry))

    def entities(self, *, uncontrolled_only: bool = False) -> tuple[EntityInfo, ...]:
        """All actors that can be controlled, or those of them that nobody controls."""
        return self._background.run(self._client.entities(uncontrolled_only=uncontrolled_only))

    def lifecycle(self, *, include_present: bool = True, retry: Backoff | None = RETRY) -> Iterator[LifecycleEvent]:
        """What happens to actors as a whole."""
        return self._background.iterate(self._client.lifecycle(include_present=include_present, retry=retry))

    def world(self) -> WorldInfo:
        """All that never changes in a run."""
        return self._background.run(self._client.world())

    def acquire(self, entity_id: str, controller_id: str, *, previous: Secret | None = None) -> Lease:
        """Take control of an entity; a refusal is a `LeaseRefusedError`."""
        return self._background.run(self._client.acquire(entity_id, controller_id, previous=previous))

    def renew(self, lease: Lease) -> Lease:
        """Make a lease last its whole time again; a refusal is a `LeaseRefusedError`."""
        return self._background.run(self._client.renew(lease))

    def release(self, lease: Lease) -> Reason:
        """Give an entity up at once."""
        return self._background.run(self._client.release(lease))

    def observations(
        self, lease: Lease, *, want_floors: bool = False, retry: Backoff | None = RETRY
    ) -> Iterator[Observation]:
        """What an entity perceives at the start of each tick."""
        return self._background.iterate(self._client.observations(lease, want_floors=want_floors, retry=retry))

    def submit(self, lease: Lease, tick_id: int, intent: Intent) -> Ack:
        """Submit the intent of one tick."""
        return self._background.run(self._client.submit(lease, tick_id, intent))

    def control(
        self,
        entity_id: str,
        controller_id: str,
        *,
        previous: Secret | None = None,
        want_floors: bool = False,
        release: bool = True,
    ) -> SyncControlSession:
        """Control an entity over one stream, in `with`."""

        async def open_session() -> ControlSession:
            return self._client.control(
                entity_id, controller_id, previous=previous, want_floors=want_floors, release=release
            )

        return SyncControlSession(self._background, self._background.run(open_session()))

    def control_batch(
        self,
        world: WorldInfo,
        controller_id: str,
        actor: "Int32",
        *,
        previous: Secret | None = None,
        release: bool = True,
    ) -> SyncBatchSession:
        """Control many actors, given by their ascending rows, over one stream, in `with`."""

        async def open_session() -> "BatchSession":
            return self._client.control_batch(world, controller_id, actor, previous=previous, release=release)

        return SyncBatchSession(self._background, self._background.run(open_session()))

    def viewer_events(
        self, world: WorldInfo, view: ViewFilter = EVERYTHING, *, retry: Backoff | None = RETRY
    ) -> Iterator[ViewerEvent]:
        """What happened in each tick, as far as the filter lets it through."""
        return self._background.iterate(self._client.viewer_events(world, view, retry=retry))

    def snapshot(self, world: WorldInfo, view: ViewFilter = EVERYTHING) -> ViewerSnapshot:
        """The world after the last tick on record."""
        return self._background.run(self._client.snapshot(world, view))

    def report_thought(self, lease: Lease, tick_id: int, thought: Thought) -> Ack:
        """Tell the record and the viewer what an entity thought."""
        return self._background.run(self._client.report_thought(lease, tick_id, thought))

    def report_status(self, lease: Lease, status: AgentStatus) -> Ack:
        """Tell the record and the viewer how an agent is doing."""
        return self._background.run(self._client.report_status(lease, status))


async def _make(connection: Connection | str, rng: random.Random | None) -> WorldClient:
    """Make the client on the loop that it will work on."""
    return WorldClient(connection, rng=rng)
