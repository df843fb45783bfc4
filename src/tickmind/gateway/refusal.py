"""Refusals: why a request is not served, with a code from a closed list, an HTTP status and often a wait."""

from dataclasses import dataclass

from tickmind.base import redact
from tickmind.llm.gateway_contract import STATUS_OF, Code

__all__ = ["STATUS_OF", "Code", "Refusal", "RefusedError"]  # a refusal is made of a code


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request. `retry_after_s` becomes `Retry-After`; the message says what to do."""

    code: Code
    message: str
    retry_after_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact(self.message))

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return STATUS_OF[self.code]


class RefusedError(Exception):
    """Carries a refusal up to the surface while a request is being read; it never leaves the gateway."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
