"""Lives on what it finds, by a behaviour tree from a file: open forager.xml in Groot 2 and change its life."""

from pathlib import Path
from typing import ClassVar

from tickmind.agent import Character


class Forager(Character):
    """A forager; all actions and conditions of its tree are those that every character has."""

    tree: ClassVar[Path] = Path(__file__).with_name("forager.xml")


if __name__ == "__main__":
    Forager.run()
