"""A limit on everything, with a name and a default."""

from dataclasses import dataclass, replace

from tickmind.base.errors import LimitExceededError


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of something is allowed, under the name that its error shows.

    Declare it beside the code that it protects and let users pass their own:
    `MAX_XML_BYTES = Limit("size of the XML file", 1_000_000, "bytes")`.
    """

    name: str
    maximum: int | float
    unit: str = ""

    def check(self, value: int | float) -> None:
        """Raise `LimitExceededError` if the value is over the limit."""
        if value > self.maximum:
            raise LimitExceededError(self.name, value, self.maximum, self.unit)

    def allows(self, value: int | float) -> bool:
        """Tell whether the value is within the limit."""
        return value <= self.maximum

    def at(self, maximum: int | float) -> "Limit":
        """The same limit, set higher or lower."""
        return replace(self, maximum=maximum)
