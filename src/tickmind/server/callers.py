"""Callers of a world: what each of the three roles may do, and whose a call is."""

from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from enum import IntEnum

from tickmind.base.access.token_file import KnownTokens, Tokens

WITHDRAWN = "the token of this stream was withdrawn; connect again with one that is valid"


class CallerRole(IntEnum):
    """What a caller may do; each role may do all that those before it may."""

    VIEWER = 1  # look at the world
    AGENT = 2  # control characters
    OPERATOR = 3  # bring actors in and take them out, and play


@dataclass(frozen=True, slots=True)
class WorldCaller:
    """The caller of one call: its role, the name of its token, and the token itself to look again whether it is valid.

    A lease is worth something only to callers of the name that it was granted to.
    """

    role: CallerRole
    name: str = ""
    token: str = field(default="", repr=False)


ANYBODY = WorldCaller(CallerRole.OPERATOR)  # where no tokens are asked for
_current: ContextVar[WorldCaller] = ContextVar("tickmind_caller", default=ANYBODY)


def current_caller() -> WorldCaller:
    """Return whose call is being served."""
    return _current.get()


def caller_name() -> str:
    """Return the name of the current caller's token."""
    return _current.get().name


def set_caller(caller: WorldCaller) -> Token[WorldCaller]:
    """Say whose call this task serves."""
    return _current.set(caller)


class CallerRegistry:
    """Knows the tokens of each role. Without any tokens everybody is an operator.

    Where only operators have tokens, callers without one are agents. Where only agents have some, there is no operator.
    """

    def __init__(self, agents: Tokens = (), operators: Tokens = (), viewers: Tokens = ()) -> None:
        self._known = {
            CallerRole.OPERATOR: KnownTokens(operators),
            CallerRole.AGENT: KnownTokens(agents),
            CallerRole.VIEWER: KnownTokens(viewers),
        }
        self._seen = [known.entries() for known in self._known.values()]

    def __bool__(self) -> bool:
        return any(self._known.values())

    def find(self, token: str) -> WorldCaller | None:
        """Return who has this token; an empty one is none. None if such a caller may do nothing."""
        for role, known in self._known.items():
            if token and (name := known.holder_of(token)) is not None:
                return WorldCaller(role, name, token)
        return None if self._known[CallerRole.AGENT] else WorldCaller(CallerRole.AGENT if self else CallerRole.OPERATOR)

    def is_valid(self, caller: WorldCaller) -> bool:
        """Whether a caller that was found before would be found now."""
        return not caller.token or self.find(caller.token) == caller

    def have_changed(self) -> bool:
        """Whether a file of tokens was read again since this was asked last."""
        before, self._seen = self._seen, [known.entries() for known in self._known.values()]
        return any(now is not then for now, then in zip(self._seen, before, strict=True))
