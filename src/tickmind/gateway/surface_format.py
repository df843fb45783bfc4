"""What a surface does to bodies: requests for providers, replies and refusals for callers."""

from collections.abc import Sequence
from typing import Protocol

from tickmind.gateway.queue.job import Attempt, Job, Outcome
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Target


class FormatRequest(Protocol):
    """A call, as far as a form must know it."""

    body: bytes  # the request, as its form wants it
    model: str  # as the caller named it
    streamed: bool
    secrets: tuple[bytes, ...]  # what the provider was sent and nobody else may see
    hides_usage: bool  # the form has asked for token counts that the caller did not ask for

    @property
    def job(self) -> Job | None:
        """The job that carries it, once it is queued."""
        ...


class SurfaceFormat(Protocol):
    """How a surface speaks: the two of them differ in bodies only."""

    @property
    def name(self) -> str:
        """What tells its replies from the other's."""
        ...

    def request(self, call: FormatRequest, target: Target) -> bytes:
        """The body for a provider."""
        ...

    def reply(self, call: FormatRequest, target: Target, body: bytes) -> tuple[bytes, Outcome]:
        """A provider's successful reply as the caller gets it, and what it means for the queue."""
        ...

    def finish_body(self, body: bytes, cooldown: bytes, attempts: Sequence[Attempt], waited_ms: int) -> bytes:
        """The caller's reply with what is only known at its end."""
        ...

    def failure(self, call: FormatRequest, target: Target, outcome: Outcome, body: bytes) -> tuple[int, bytes]:
        """A provider's own error as the caller gets it."""
        ...

    def refusal(self, refusal: Refusal, cooldown: bytes) -> bytes:
        """A refusal of ours."""
        ...
