"""The port of a surface's format: it makes requests for providers, and replies and refusals for callers."""

from collections.abc import Sequence
from typing import Protocol

from tickmind.gateway.queue.job import Attempt, Job, Outcome
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Target


class FormatRequest(Protocol):
    """A call, as far as a format needs it."""

    body: bytes  # the request, in its format
    model: str  # as the caller named it
    streamed: bool
    secrets: tuple[bytes, ...]  # credentials sent to the provider, masked in replies
    hides_usage: bool  # the format asked for token counts that the caller did not request

    @property
    def job(self) -> Job | None:
        """The job that carries it, once it is queued."""
        ...


class SurfaceFormat(Protocol):
    """A surface's format: surfaces differ in bodies only."""

    @property
    def name(self) -> str:
        """The name of the format; the cache keeps replies apart by it."""
        ...

    @property
    def finishes(self) -> bool:
        """Whether `finish_body` changes anything."""
        ...

    def request(self, call: FormatRequest, target: Target) -> bytes:
        """Make the body for a provider."""
        ...

    def reply(self, call: FormatRequest, target: Target, body: bytes) -> tuple[bytes, Outcome]:
        """Make the caller's reply from a provider's success, with its outcome for the queue."""
        ...

    def finish_body(self, body: bytes, cooldown: bytes, attempts: Sequence[Attempt], waited_ms: int) -> bytes:
        """Return the caller's reply with the fields that are known only at its end."""
        ...

    def failure(self, call: FormatRequest, target: Target, outcome: Outcome, body: bytes) -> tuple[int, bytes]:
        """Make the caller's reply from a provider's own error."""
        ...

    def refusal(self, refusal: Refusal, cooldown: bytes) -> bytes:
        """Make the body of a refusal by the gateway."""
        ...
