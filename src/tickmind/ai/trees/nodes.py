"""The nodes of behaviour trees. A tree is a value: shared by all that use it, and without any state.

Selector(
    Sequence(Condition("threatened"), Action("flee")),
    Action("graze"),
)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from tickmind.ai.errors import TreeError

Argument: TypeAlias = str | int | float | bool  # "{key}" is read from the Blackboard each time, "{a.b}" inside its a
FailPolicy = Literal["fail", "restart"]


class Status(StrEnum):
    """The outcome of a node, or that it is still running."""

    SUCCESS = "success"
    FAILURE = "failure"
    RUNNING = "running"


def _checked(name: str, arguments: Mapping[str, Argument] | None) -> tuple[tuple[str, Argument], ...]:
    for argument in arguments or {}:
        if not argument.isidentifier() or argument.startswith("_") or argument in ("ID", "name"):
            raise TreeError(f"{name} can't have an argument called {argument!r}; rename it")
    return tuple((arguments or {}).items())


@dataclass(frozen=True, init=False)
class _Leaf:
    name: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    label: str = ""

    def __init__(self, name: str, arguments: Mapping[str, Argument] | None = None, *, label: str = "") -> None:
        if not name:
            raise TreeError(f"{type(self).__name__} needs the name of what it calls")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "arguments", _checked(name, arguments))
        object.__setattr__(self, "label", label)


class Action(_Leaf):
    """Call the registered action, which returns a `Status`."""


class Condition(_Leaf):
    """Succeed if the registered condition holds."""


@dataclass(frozen=True, init=False)
class _Composite:
    children: tuple["Node", ...]
    memory: bool = True
    label: str = ""

    def __init__(self, *children: "Node", memory: bool = True, label: str = "") -> None:
        if not children:
            raise TreeError(f"{type(self).__name__} needs at least one child")
        object.__setattr__(self, "children", children)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "label", label)


class Sequence(_Composite):
    """Run all children in order; fail with the first that fails.

    With memory it goes on next tick at the child that was running. Without, it starts from the first child again each
    tick, so that an earlier condition can stop a later action.
    """


class Selector(_Composite):
    """Run children in order until one does not fail; fail if all do.

    With memory it goes on next tick at the child that was running. Without, it tries from the first child again each
    tick, so that a more urgent child can take over.

        >>> Selector(Sequence(Condition("wolf is near"), Action("flee")), Action("graze"))  # doctest: +ELLIPSIS
        Selector(children=(Sequence(...
    """


@dataclass(frozen=True, init=False)
class Parallel:
    """Run all children each tick, until enough have succeeded or failed; a child that has ended waits for the others.

    `success_threshold` None means all of them. It also fails once so many have failed that success is out of reach.
    When it ends, children that are still running are halted. Raises `TreeError` without children, or for a threshold
    that they can't reach.
    """

    children: tuple["Node", ...]
    success_threshold: int | None = None
    failure_threshold: int = 1
    label: str = ""

    def __init__(
        self,
        *children: "Node",
        success_threshold: int | None = None,
        failure_threshold: int = 1,
        label: str = "",
    ) -> None:
        for what, threshold in (("success", success_threshold), ("failure", failure_threshold)):
            if threshold is not None and not 1 <= threshold <= len(children):
                raise TreeError(f"Parallel with {len(children)} children can't have a {what} threshold of {threshold}")
        if not children:
            raise TreeError("Parallel needs at least one child")
        object.__setattr__(self, "children", children)
        object.__setattr__(self, "success_threshold", success_threshold)
        object.__setattr__(self, "failure_threshold", failure_threshold)
        object.__setattr__(self, "label", label)


@dataclass(frozen=True, init=False)
class UtilitySelector:
    """Run the child whose utility action scores highest now; fail if all score 0. Ties go to the first.

    Each option is the name of a utility action and the node to run: `UtilitySelector(("eat", Action("eat")), ...)`.
    Raises `TreeError` without options, or if a name is empty or has a semicolon.
    """

    options: tuple[tuple[str, "Node"], ...]
    label: str = ""

    def __init__(self, *options: tuple[str, "Node"], label: str = "") -> None:
        if not options:
            raise TreeError("UtilitySelector needs at least one option")
        if any(not name or ";" in name for name, _ in options):
            raise TreeError("the utility actions of a UtilitySelector need names without a semicolon")
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "label", label)

    @property
    def children(self) -> tuple["Node", ...]:
        """The nodes of the options."""
        return tuple(node for _, node in self.options)


@dataclass(frozen=True)
class Inverter:
    """Turn success into failure and the other way round."""

    child: "Node"
    label: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Repeater:
    """Run the child once a tick, `times` times in all (None: for ever), then succeed.

    A child that fails ends it with failure, unless `fail_policy` is "restart": then failures count as rounds too.
    Raises `TreeError` if `times` is less than 1, or `fail_policy` is unknown.
    """

    child: "Node"
    times: int | None = 1
    fail_policy: FailPolicy = "fail"
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 1:
            raise TreeError(f"Repeater needs at least 1 round, not {self.times}; pass None for ever")
        if self.fail_policy not in ("fail", "restart"):
            raise TreeError(f"Repeater's fail_policy is 'fail' or 'restart', not {self.fail_policy!r}")


@dataclass(frozen=True)
class Succeeder:
    """Succeed whatever the child ends with, or at once without one."""

    child: "Node | None" = None
    label: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class AlwaysFail:
    """Fail whatever the child ends with, or at once without one."""

    child: "Node | None" = None
    label: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class _Timed:
    child: "Node"
    ticks: int
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.ticks < 1:
            raise TreeError(f"{type(self).__name__} needs at least 1 tick, not {self.ticks}")


class Timeout(_Timed):
    """Give the child `ticks` ticks; then halt it if it is still running, and fail.

    Raises `TreeError` if `ticks` is less than 1.
    """


class Cooldown(_Timed):
    """After the child has succeeded, fail for `ticks` ticks without running it.

    Raises `TreeError` if `ticks` is less than 1.
    """


@dataclass(frozen=True)
class Retry:
    """Run the child once a tick until it succeeds, `attempts` times at most (None: for ever); then fail.

    Raises `TreeError` if `attempts` is less than 1.
    """

    child: "Node"
    attempts: int | None
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.attempts is not None and self.attempts < 1:
            raise TreeError(f"Retry needs at least 1 attempt, not {self.attempts}; pass None for ever")


@dataclass(frozen=True)
class Wait:
    """Run for `ticks` ticks, then succeed. A halt starts it over. Raises `TreeError` if `ticks` is less than 1."""

    ticks: int
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.ticks < 1:
            raise TreeError(f"Wait needs at least 1 tick, not {self.ticks}")


@dataclass(frozen=True, init=False)
class SubTree:
    """Run another tree, by name, as if it stood here.

    With `autoremap` its `"{key}"`s are those of the tree around it. Without, as by default in files of Groot 2, it
    shares nothing: it reads what `ports` pass to it, and any other key is an error when the tree is compiled.
    `SubTree("patrol", {"goal": "{next_post}", "speed": 2}, autoremap=False)`. Raises `TreeError` without a name.
    """

    name: str
    ports: tuple[tuple[str, Argument], ...] = ()
    autoremap: bool = True
    label: str = ""

    def __init__(
        self, name: str, ports: Mapping[str, Argument] | None = None, *, autoremap: bool = True, label: str = ""
    ) -> None:
        if not name:
            raise TreeError("SubTree needs the name of a tree")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "ports", _checked(name, ports))
        object.__setattr__(self, "autoremap", autoremap)
        object.__setattr__(self, "label", label)


Node: TypeAlias = (
    Action
    | Condition
    | Sequence
    | Selector
    | Parallel
    | UtilitySelector
    | Inverter
    | Repeater
    | Succeeder
    | AlwaysFail
    | Timeout
    | Cooldown
    | Retry
    | Wait
    | SubTree
)


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below a node."""
    match node:
        case Sequence() | Selector() | Parallel() | UtilitySelector():
            return node.children
        case Inverter() | Repeater() | Timeout() | Cooldown() | Retry():
            return (node.child,)
        case Succeeder() | AlwaysFail():
            return () if node.child is None else (node.child,)
        case Action() | Condition() | Wait() | SubTree():
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, each before its children, without the insides of subtrees."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(children_of(node)))
