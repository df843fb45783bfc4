"""Why a request is not served: a value with a code from a closed list, an HTTP status and, where it helps, a wait."""

from dataclasses import dataclass

from tickmind.base import redact
from tickmind.llm.gateway_contract import STATUS_OF, Code

__all__ = ["STATUS_OF", "Code", "Refusal", "RefusedError"]  # a refusal is made of a code


@dataclass(frozen=True, slots=True)
class Refusal:
    """One request turned down. `retry_after_s` becomes `Retry-After`; the message says what to do."""

    code: Code
    message: str
    retry_after_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact(self.message))

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return STATUS_OF[self.code]


class RefusedError(Exception):
    """Carries a refusal up to the surface, from where a request is being read; it never leaves the gateway."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
