"""`ErrorReports`: errors of user code, reported instead of raised, so that one entity's mistake ends no tick."""

import logging
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from tickmind.ai.errors import AIError, AIErrorType
from tickmind.base import Limit, error_text

OnAIError: TypeAlias = Callable[[int, str, str, int], None]  # entity id, error type, message, tick
E = TypeVar("E", bound=OnAIError)

MAX_LOGGED_ERRORS = Limit("number of different errors of trees that are logged", 1_000)
_log = logging.getLogger("tickmind.ai")


class ErrorReports:
    """The `on_error` callbacks. While there are none, each error is logged, the first time that it happens."""

    def __init__(self) -> None:
        self._callbacks: list[OnAIError] = []
        self._logged: set[tuple[str, str, str]] = set()  # error type, function, type of what it raised

    def add(self, callback: E) -> E:
        """Add a callback."""
        self._callbacks.append(callback)
        return callback

    def remove(self, callback: OnAIError) -> None:
        """Undo `add`; ignores an unknown callback."""
        self._callbacks = [known for known in self._callbacks if known != callback]

    def forget(self) -> None:
        """Log earlier errors again, because a definition has changed."""
        self._logged.clear()

    def report(self, entity_id: int, error: BaseException, tick: int) -> None:
        """Run the callbacks, or log the error if there are none."""
        kind = error.error_type if isinstance(error, AIError) else AIErrorType.TREE
        message = str(error) if isinstance(error, AIError) else error_text(error)
        if not self._callbacks:
            self._log(entity_id, error, kind, message, tick)
        for callback in tuple(self._callbacks):
            try:
                callback(entity_id, kind.value, message, tick)
            except Exception:  # noqa: BLE001  nothing a user supplies may end the tick
                _log.exception("an on_error callback raised")

    def _log(self, entity_id: int, error: BaseException, kind: AIErrorType, message: str, tick: int) -> None:
        key = kind.value, str(getattr(error, "name", "")), type(error.__cause__ or error).__name__
        if key in self._logged or not MAX_LOGGED_ERRORS.allows(len(self._logged) + 1):
            return
        self._logged.add(key)
        _log.error(
            "tick %d, entity %d: %s; the same is not logged again, see AIManager.on_error",
            tick,
            entity_id,
            message,
            exc_info=error.__cause__ or error,
        )
