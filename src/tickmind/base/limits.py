"""`Limit`: a named maximum with a default."""

from dataclasses import dataclass, replace

from tickmind.base.errors import LimitExceededError


@dataclass(frozen=True, slots=True)
class Limit:
    """A maximum, under the name that its error shows.

        >>> Limit("size of the XML file", 1_000_000, "bytes").allows(5)
        True

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
        """Return whether the value is within the limit."""
        return value <= self.maximum

    def at(self, maximum: int | float) -> "Limit":
        """Return the limit with another maximum."""
        return replace(self, maximum=maximum)
