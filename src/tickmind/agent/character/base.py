"""`BaseCharacter`: what a host needs of a character, its tree, its decisions, its prompts and its plans."""

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
    """A body with a behaviour tree and, if it has `thinking`, a model that is asked at intervals.

    `tree` is a `Node`, XML, or the `Path` of an XML file; its actions and conditions are methods marked with `@action`
    and `@condition`. Or override `decide`. With `thinking`, a model is asked at intervals what
    to do: `describe` gives it the situation, and its answer is on the Blackboard under `plan`.
    """

    tree: ClassVar[Node | Path | str] = Action("wait")
    thinking: ClassVar["Thinking | None"] = None

    thinks = False
    """Whether there is a model to ask."""

    faculties: frozenset[str] = frozenset()
    """The faculties for which there is a model to ask."""

    plan_tick: int | None = None
    """The tick of the question that `plan` answers, which may be long ago; None before the first plan."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Raise `ConfigError` for an `async def` among the methods that a tick calls."""
        super().__init_subclass__(**given)
        for name in ("decide", "describe", "learn", "ponder", "pressing", "remember", "wonders"):
            checked(getattr(cls, name), f"{name} of a character")

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Decide what to do in this tick with `do(...)`; `tactics()` runs the tree."""
        tactics()

    def describe(self) -> "str | Iterable[Section]":
        """Return the situation, for a model. What others said belongs in `strategy.quoted`."""
        return f"You are {self.name} at {self.at}."

    def choices(self) -> Iterable[str]:
        """Return the texts of which a plan is one, for an endpoint that can be held to them; none: any will do."""
        return ()

    def pressing(self) -> bool:
        """Return whether something has happened that needs a thought before the interval is over."""
        return False

    def fits(self, plan: Mapping[str, Any], asked_tick: int) -> bool:  # noqa: ARG002  a rule may go by it
        """Return whether a plan that was requested in an earlier tick is still good; by default if it is possible.

        A plan that does not fit is dropped, and the one before stays.
        """
        return self.possible(plan)

    def possible(self, plan: Mapping[str, Any]) -> bool:  # noqa: ARG002  subclasses know what a plan aims for
        """Return whether the aim of a plan can be reached as things are now."""
        return True

    def wonders(self, faculty: str) -> bool:  # noqa: ARG002  subclasses have some
        """Return whether to put the question of a faculty to a model now. It must change nothing in the mind."""
        return False

    def ponder(self, faculty: str) -> "str | Iterable[Section]":  # noqa: ARG002  subclasses have some
        """Return what the question of a faculty is about. It must change nothing in the mind."""
        return ""

    def learn(self, faculty: str, reply: Mapping[str, Any], asked_tick: int) -> None:
        """Take in the reply to the question of a faculty; called after all have acted."""

    @property
    def plan(self) -> Mapping[str, Any]:
        """The model's last answer, in the declared form; empty before that."""
        plan = self.blackboard.data.get("plan")
        return plan if isinstance(plan, Mapping) else {}
