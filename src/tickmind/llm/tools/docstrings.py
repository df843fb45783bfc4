"""Reading a function's docstring: what it does, and what its arguments mean."""

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes)\s*:\s*$")
_ARGUMENTS = {"Args", "Arguments", "Parameters"}
_ENTRY = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring in the Google style, taken apart."""

    description: str = ""
    arguments: dict[str, str] = field(default_factory=dict)  # name -> what it means

    @classmethod
    def parse(cls, text: str | None) -> "Docstring":
        """Take it apart; anything that is not understood is left out."""
        lines = inspect.cleandoc(text or "").splitlines()
        intro: list[str] = []
        arguments: list[str] = []
        section = ""
        for line in lines:
            if heading := _SECTION.match(line):
                section = heading[1]
            elif not section:
                intro.append(line)
            elif section in _ARGUMENTS:
                arguments.append(line)
        return cls("\n".join(intro).strip(), _entries(arguments))


def _entries(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    depth: int | None = None  # indentation of the entries
    words: list[str] = []
    for line in lines:
        entry = _ENTRY.match(line)
        if entry and entry[1] and (depth is None or len(entry[1]) <= depth):
            depth = len(entry[1])
            words = found.setdefault(entry[2], [])
            words.append(entry[3])
        elif line.strip():
            words.append(line.strip())
    return {name: " ".join(text).strip() for name, text in found.items()}
