"""What a host needs of a character: its tree, its decisions, and what it says to and takes from a model."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tickmind.agent.character.body import Body
from tickmind.ai import Action, Node, Status
from tickmind.tick.hooks import checked

if TYPE_CHECKING:
    from tickmind.agent.character.thinking import Thinking
    from tickmind.strategy import Section


class BaseCharacter(Body):
    """A body with a behaviour tree and, if it has `thinking`, a model that is asked now and then.

    `tree` is a `Node`, XML, or the `Path` of an XML file; its actions and conditions are methods marked with `@action`
    and `@condition`. Or override `decide`. With `thinking`, a model is asked now and then what
    to do: `describe` tells it the situation, and its answer is on the Blackboard under `plan`.
    """

    tree: ClassVar[Node | Path | str] = Action("wait")
    thinking: ClassVar["Thinking | None"] = None

    thinks = False
    """Whether there is a model that is asked."""

    plan_tick: int | None = None
    """The tick of the question that `plan` answers, which may be long ago; None before the first plan."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Refuse methods that are called in a tick and are an `async def`, with a `ConfigError`."""
        super().__init_subclass__(**given)
        for name in ("decide", "describe", "pressing", "remember"):
            checked(getattr(cls, name), f"{name} of a character")

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Decide what to do in this tick with `do(...)`; `tactics()` runs the tree."""
        tactics()

    def describe(self) -> "str | Iterable[Section]":
        """The situation, for a model. What others said belongs in `strategy.quoted`."""
        return f"You are {self.name} at {self.at}."

    def pressing(self) -> bool:
        """Whether something has happened that should be thought about before the interval is over."""
        return False

    def fits(self, plan: Mapping[str, Any], asked_tick: int) -> bool:  # noqa: ARG002  a rule may go by it
        """Whether a plan that was asked for in an earlier tick is still to be followed; by default if it is possible.

        A plan that does not fit is dropped, and the one before stays.
        """
        return self.possible(plan)

    def possible(self, plan: Mapping[str, Any]) -> bool:  # noqa: ARG002  what a plan aims for is the kind's business
        """Whether what a plan aims for can be done as things are now."""
        return True

    @property
    def plan(self) -> Mapping[str, Any]:
        """What the model last answered, in the declared form; empty before that."""
        found = self.blackboard.data.get("plan")
        return found if isinstance(found, Mapping) else {}
