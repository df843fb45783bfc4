"""`GuardedHost`: calls a host whose minds are user code, so that what they raise costs one of them one tick."""

from collections.abc import Coroutine, Sequence
from typing import Any

from tickmind.agent.errors import AgentError
from tickmind.agent.minds import MindHost
from tickmind.agent.mistakes import Mistakes
from tickmind.protocol import ACTION_OF, Intent, Observation


class GuardedHost:
    """The steps of a turn, live or lived again. What user code raises is logged; texts say why a step failed."""

    def __init__(self, host: MindHost) -> None:
        self._host = host
        self._mistakes = Mistakes()

    def begin(self, tick_id: int, observations: Sequence[Observation]) -> str:
        """Begin a tick; return why it could not begin, empty if it did. Raises the host's own `AgentError`."""
        try:
            self._host.begin(tick_id, observations)
        except AgentError:
            raise
        except Exception as error:  # noqa: BLE001  a host is user code
            return self._mistakes.note("the tick could not begin, so no entity acts in it", error, tick=tick_id)
        return ""

    def perceive(self, observation: Observation) -> str:
        """Let one entity perceive; return why that failed, empty if it did not."""
        try:
            self._host.perceive(observation)
        except Exception as error:  # noqa: BLE001  a mind is user code
            return self._mistakes.note("perceiving failed", error, **_whose(observation))
        return ""

    def act(self, observation: Observation) -> Intent | str:
        """Let one entity act; return its intent, or why there is none."""
        try:
            intent = self._host.act(observation)
        except Exception as error:  # noqa: BLE001  a mind is user code
            return self._mistakes.note("act failed", error, **_whose(observation))
        if type(intent) in ACTION_OF:
            return intent
        if isinstance(intent, Coroutine):
            intent.close()  # it is never awaited
        problem = f"it returned {_shown(intent)}, not an intent such as Wait() or Move(Direction.N)"
        return self._mistakes.note_text("act failed", problem, **_whose(observation))

    def reflect(self, tick_id: int) -> None:
        """Let all entities ask models and read their answers."""
        try:
            self._host.reflect(tick_id)
        except Exception as error:  # noqa: BLE001  a mind is user code
            self._mistakes.note("reflecting failed", error, tick=tick_id)


def _whose(observation: Observation) -> dict[str, Any]:
    return {"entity_id": observation.me.entity_id, "tick": observation.tick_id}


def _shown(value: object) -> str:
    if isinstance(value, Coroutine):
        return "a coroutine, which is never awaited (define act with def)"
    return "None" if value is None else f"a {type(value).__name__}"
