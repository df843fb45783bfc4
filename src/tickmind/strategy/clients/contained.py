"""Coroutines of user code on the background loop: one that ends the process ends only itself."""

from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from tickmind.llm import LLMError

T = TypeVar("T")


class Contained(Coroutine[Any, Any, T]):
    """A coroutine of user code; `SystemExit` and `KeyboardInterrupt` of it become `LLMError`.

    It is no `async def` around the work, for one that is cancelled before it began would leave the work never awaited.
    """

    __slots__ = ("__weakref__", "_work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        """Go on with the work."""
        try:
            return self._work.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise LLMError(f"the client raised {type(error).__name__}") from error

    def throw(self, *error: Any) -> Any:
        """Go on with an error, such as a cancellation."""
        try:
            return self._work.throw(*error)
        except (SystemExit, KeyboardInterrupt) as caught:
            raise LLMError(f"the client raised {type(caught).__name__}") from caught

    def close(self) -> None:
        """Give the work up."""
        self._work.close()


async def sign_of_life() -> None:
    """Do nothing, to see whether the loop gets around to it."""
