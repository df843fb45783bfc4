"""Callers of a world: what each of the three roles may do, and whose a call is."""

from contextvars import ContextVar, Token
from dataclasses import dataclass
from enum import IntEnum

from tickmind.base.access.token_file import KnownTokens, Tokens

WITHDRAWN = "the token of this stream was withdrawn; connect again with one that is valid"


class Role(IntEnum):
    """What a caller may do; each role may do all that those before it may."""

    VIEWER = 1  # look at the world
    AGENT = 2  # control characters
    OPERATOR = 3  # bring actors in and take them out, and play


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of one call: its role, the name of its token, and the token itself to look again whether it is valid.

    A lease is worth something only to callers of the name that it was granted to.
    """

    role: Role
    name: str = ""
    token: str = ""


ANYBODY = Caller(Role.OPERATOR)  # where no tokens are asked for
_current: ContextVar[Caller] = ContextVar("tickmind_caller", default=ANYBODY)


def current_caller() -> Caller:
    """Return whose call is being served."""
    return _current.get()


def caller_name() -> str:
    """Return the name of the current caller's token."""
    return _current.get().name


def set_caller(caller: Caller) -> Token[Caller]:
    """Say whose call this task serves."""
    return _current.set(caller)


class CallerRoles:
    """Knows the tokens of each role. Without any tokens everybody is an operator.

    Where only operators have tokens, callers without one are agents. Where only agents have some, there is no operator.
    """

    def __init__(self, agents: Tokens = (), operators: Tokens = (), viewers: Tokens = ()) -> None:
        self._known = {
            Role.OPERATOR: KnownTokens(operators),
            Role.AGENT: KnownTokens(agents),
            Role.VIEWER: KnownTokens(viewers),
        }
        self._seen = [known.entries() for known in self._known.values()]

    def __bool__(self) -> bool:
        return any(self._known.values())

    def find(self, token: str) -> Caller | None:
        """Return who has this token; an empty one is none. None if such a caller may do nothing."""
        for role, known in self._known.items():
            if token and (name := known.holder_of(token)) is not None:
                return Caller(role, name, token)
        return None if self._known[Role.AGENT] else Caller(Role.AGENT if self else Role.OPERATOR)

    def is_valid(self, caller: Caller) -> bool:
        """Whether a caller that was found before would be found now."""
        return not caller.token or self.find(caller.token) == caller

    def have_changed(self) -> bool:
        """Whether a file of tokens was read again since this was asked last."""
        before, self._seen = self._seen, [known.entries() for known in self._known.values()]
        return any(now is not then for now, then in zip(self._seen, before, strict=True))
