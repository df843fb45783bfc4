"""Checks of functions that users register: they run in the tick, which never awaits."""

import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import Any, TypeVar

from tickmind.base import ConfigError

F = TypeVar("F", bound=Callable[..., Any])


def plain_function(what: str, fn: F) -> F:
    """Return a function unchanged; raises `ConfigError` for a class, an `async def` and anything not callable."""
    if isinstance(fn, type):
        raise ConfigError(
            f"{what} must be a function or a callable object, not the class {fn.__name__}; make an object of it"
        )
    if not callable(fn):
        raise ConfigError(f"{what} must be a function, not a {type(fn).__name__}")
    for form in (fn, getattr(fn, "__call__", None)):  # noqa: B004  an object's own __call__ may be async
        if inspect.iscoroutinefunction(form) or inspect.isasyncgenfunction(form):
            raise ConfigError(f"{what} runs in the tick, which never awaits; define it with def, not async def")
    return fn


def refuse_coroutine(what: str, value: Any) -> None:
    """Raise `TypeError` if a function that looked plain returned a coroutine; nothing would ever await it."""
    if type(value) is CoroutineType:
        value.close()
        raise TypeError(f"{what} returned a coroutine, which the tick never awaits; return the value itself")
