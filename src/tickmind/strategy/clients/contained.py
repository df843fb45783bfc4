"""`Contained`: a coroutine of user code on the background loop whose `SystemExit` ends only itself."""

from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from tickmind.llm import LLMError

T = TypeVar("T")


class Contained(Coroutine[Any, Any, T]):
    """A coroutine of user code; its `SystemExit` and `KeyboardInterrupt` become `LLMError`.

    It is no `async def` around the work: cancelled before its start, that would leave the work never awaited.
    """

    __slots__ = ("__weakref__", "_work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        """Resume the work."""
        try:
            return self._work.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise LLMError(f"the client raised {type(error).__name__}") from error

    def throw(self, *error: Any) -> Any:
        """Resume the work with an error, such as a cancellation."""
        try:
            return self._work.throw(*error)
        except (SystemExit, KeyboardInterrupt) as caught:
            raise LLMError(f"the client raised {type(caught).__name__}") from caught

    def close(self) -> None:
        """Close the work."""
        self._work.close()


async def sign_of_life() -> None:
    """Do nothing; finishing shows that the loop is not blocked."""
