"""`Streamed`: fields of a reply that is still coming, on the Blackboard early and undone before the reply counts."""

from typing import Any

from tickmind.ai import Blackboard
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.errors import CAUGHT
from tickmind.strategy.replies.drafts import Draft, differs
from tickmind.strategy.replies.parsers import Declared, DirectiveParser, ParserFn, default_json_parser, take_over

_ABSENT: Any = object()


class Streamed:
    """Fields of one reply on one Blackboard, and the values that they replaced.

    When the whole reply is there, or will never be, they are undone, and the reply counts as if nothing had come
    before it. Keys that other code changed meanwhile are left alone. The values to restore lie in the
    agent, so that a snapshot holds them.
    """

    def __init__(self, blackboard: Blackboard, agent: LLMAgent) -> None:
        self.blackboard = blackboard
        self._kept = agent.streamed
        self._kept.clear()
        self._written: dict[str, Any] = {}  # key -> the object that a field put there

    def take(self, name: str, value: Any, parser: ParserFn, declared: Declared) -> None:
        """Apply a field: only a declared one that fits its own schema, and only by parsers that know fields."""
        directives = parser if isinstance(parser, DirectiveParser) else None
        forms = (declared.form, directives.schema if directives is not None else None)
        if not all(form is None or form.fits(name, value) for form in forms):
            return
        board = self.blackboard
        draft = Draft(board)
        if directives is not None:
            directives.take({name: value}, draft.board)
        elif parser is default_json_parser and declared.form is not None and declared.allows(name):
            draft.board.data[name] = value
        before = dict(board.data)
        changed = take_over(draft, board, declared)
        for key in {*changed, *(before.keys() - board.data.keys())}:
            old = before.get(key, _ABSENT)
            ours = key in self._written and self._written[key] is old
            was = self._kept[key][0] if ours else _boxed(old)
            self._kept[key] = [was, _boxed(changed.get(key, _ABSENT))]
            self._written[key] = board.data.get(key, _ABSENT)

    def put_back(self) -> None:
        """Restore the Blackboard to what it was before the first field."""
        data = self.blackboard.data
        for key, (was, written) in self._kept.items():
            now = data.get(key, _ABSENT)
            if now is self._written[key] and not differs(_unboxed(written), now):
                _put(self.blackboard, key, was)
        self._kept.clear()
        self._written.clear()


def put_back_streamed(agent: LLMAgent, blackboard: Blackboard | None) -> None:
    """Undo what was streamed when a snapshot was taken, if it is still there after the restore."""
    try:
        for key, (was, written) in agent.streamed.items() if blackboard is not None else ():
            if blackboard is not None and not differs(_unboxed(written), blackboard.data.get(key, _ABSENT)):
                _put(blackboard, key, was)
        agent.streamed.clear()
    except CAUGHT:  # a snapshot that was damaged
        agent.streamed = {}


def _boxed(value: Any) -> list[Any]:
    return [] if value is _ABSENT else [value]


def _unboxed(box: list[Any]) -> Any:
    return box[0] if box else _ABSENT


def _put(blackboard: Blackboard, key: str, was: list[Any]) -> None:
    if was:
        blackboard.set(key, was[0], who="strategy")
    else:
        blackboard.delete(key, who="strategy")
