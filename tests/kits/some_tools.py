"""Tools that the tests of tools and of their agents call, and an agent with one of them."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from tickmind.tools import Tool, ToolAgent, tool

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int


class Order(BaseModel):
    title: str
    amount: int = Field(ge=1)


@tool
def move(
    x: int, y: Annotated[int, "row to go to"], mode: Literal["walk", "run"] = "walk", *, quiet: bool = False
) -> str:
    """Go somewhere.

    Takes as long as it takes.

    Args:
        x: column to go to,
            counted from the left
        mode (str): how to go
    """
    return f"{mode} to {x},{y} {'quietly' if quiet else 'loudly'}"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_with(transport: "ScriptedTransport", *tools: Tool, **options: Any) -> ToolAgent:
    return ToolAgent(transport, tools or (add,), model="m", **options)
