"""`Settings`: the settings of one character, from its launch file and its scenario."""

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tickmind.agent.errors import LaunchError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Settings:
    """The settings that a mapping or a scenario gives a character: any JSON object, read by name and kind.

    `settings.number("greed", 0.5)` is 0.5 if it is not set, and raises `LaunchError` if it is a text.

        >>> settings = Settings({"greed": 0.9, "shop": {"opens": "08:00"}})
        >>> settings.number("greed", 0.5), settings.number("pride", 0.5), settings.section("shop").text("opens")
        (0.9, 0.5, '08:00')
    """

    __slots__ = ("_values",)

    def __init__(self, values: "Mapping[str, Json] | None" = None) -> None:
        self._values: dict[str, Json] = dict(values or {})

    def __repr__(self) -> str:
        return f"Settings({self._values!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and other._values == self._values

    def __hash__(self) -> int:
        return hash(json.dumps(self._values, sort_keys=True))

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def with_values(self, values: "Mapping[str, Json]") -> "Settings":
        """Return the settings with others that go before them."""
        return Settings({**self._values, **values}) if values else self

    def to_json(self) -> "dict[str, Json]":
        """Return a copy of all settings, for the launch file."""
        return dict(self._values)

    def text(self, name: str, default: str = "") -> str:
        """Return a text."""
        value = self._values.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return yes or no."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def whole(self, name: str, default: int = 0) -> int:
        """Return a whole number."""
        value = self._values.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "a whole number")
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        """Return any number."""
        value = self._values.get(name, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self._wrong(name, "a number")
        return float(value)

    def texts(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._values.get(name, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(name, "a list of texts")
        return tuple(item for item in value if isinstance(item, str))

    def section(self, name: str) -> "Settings":
        """Return settings within the settings; empty if there are none."""
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            raise self._wrong(name, "an object of further settings")
        return Settings(value)

    def _wrong(self, name: str, expected: str) -> LaunchError:
        kind = type(self._values[name]).__name__
        return LaunchError(
            f"the setting {name!r} must be {expected}, not {kind}; change it where the agent is configured"
        )
