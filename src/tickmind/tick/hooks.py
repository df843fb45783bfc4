"""User functions: checked when they are added, and called so that one failure skips no other."""

from collections.abc import Callable, Iterable
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from tickmind.base import ConfigError, error_text

F = TypeVar("F", bound=Callable[..., Any])


def checked(fn: F, what: str) -> F:
    """Return a user's function unchanged; raises `ConfigError` for what a tick could never call."""
    if isinstance(fn, type):
        raise ConfigError(f"{what} is {fn.__qualname__}, a class; pass an object of it, or a function")
    if not callable(fn):
        raise ConfigError(f"{what} is {fn!r}, which can't be called; pass a function")
    if iscoroutinefunction(fn) or iscoroutinefunction(getattr(fn, "__call__", None)):  # noqa: B004  it is looked into
        name = getattr(fn, "__qualname__", type(fn).__qualname__)
        raise ConfigError(f"{what} is {name}, an `async def`; a tick never awaits, so make it a plain `def`")
    return fn


def without(hooks: Iterable[F], hook: F) -> list[F]:
    """Return the hooks except this one."""
    return [known for known in hooks if known != hook]


def call_all(hooks: Iterable[Callable[..., object]], *arguments: Any) -> list[BaseException]:
    """Call every hook, also after one has raised, and return the errors."""
    errors: list[BaseException] = []
    for hook in tuple(hooks):
        try:
            hook(*arguments)
        except BaseException as error:  # noqa: BLE001  the others must run too; raise_first() raises it
            errors.append(error)
    return errors


def raise_first(errors: list[BaseException]) -> None:
    """Raise the first error with a note for each of the others; Ctrl-C and `SystemExit` go before all errors."""
    if not errors:
        return
    first = next((error for error in errors if not isinstance(error, Exception)), errors[0])
    for error in errors:
        if error is not first:
            first.add_note(f"besides, a hook raised {error_text(error)}")
    raise first
