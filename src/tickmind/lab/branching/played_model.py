"""`PlayedModel`: a model whose recorded thoughts are played up to a tick, and that is asked anew after it.

In lockstep each question of the past is put again, and its recorded reply played. By the clock a reply took any time,
so there thoughts of the past act in the ticks in which they did, and questions begin after it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from tickmind.agent.character.thoughts.models import call_site_of
from tickmind.agent.minds import PastMinds
from tickmind.agent.reporting.masking import masked_thought
from tickmind.agent.running import ProcessContext
from tickmind.lab.minds.relived import RecordedTurns, recorded_thoughts
from tickmind.llm import CallSite, LLMConnectionError, LLMError
from tickmind.protocol import Thought
from tickmind.protocol.thought import ServedUsage
from tickmind.strategy import Deliberation
from tickmind.strategy.clients.client import AsyncLLMClient, answers_on_loop
from tickmind.strategy.errors import ErrorKind

if TYPE_CHECKING:
    from tickmind.agent.contract import Launch
    from tickmind.record import RunReader
    from tickmind.strategy.clients.client import AnyClient, Question

NO_MODEL = "this branch has no model to ask: the prompt is another one than recorded; name a model with --model"
_ERRORS = (ErrorKind.API, ErrorKind.NETWORK, ErrorKind.TIMEOUT)  # of calls that brought no reply


def _as_it_is(launch: "Launch") -> "Launch":
    return launch


@dataclass(slots=True)
class RecordedModel:
    """The thoughts of a run by character, tick and kind, and the tick after which models are asked.

    With `keeps`, recorded thoughts are played after that tick, too, wherever the prompt is still the same.
    """

    thoughts: Mapping[str, Sequence[Thought]]
    until_tick: int
    keeps: bool = False
    tick_id: int = 0  # of the world, now
    asked: int = 0  # how often a model was asked after that tick
    played: int = 0  # and how often a recorded thought was played there
    differences: list[str] = field(default_factory=list)
    _by_site: dict[tuple[str, int, str], Thought] = field(init=False)

    def __post_init__(self) -> None:
        self._by_site = {
            (name, thought.asked_tick, thought.kind): thought
            for name, several in self.thoughts.items()
            for thought in several
        }

    def find(self, site: CallSite) -> Thought | None:
        """Return the recorded thought of a question that is put in this tick."""
        return self._by_site.get((site.character, self.tick_id, site.kind))

    def check(self, name: str, thought: Thought) -> None:
        """Note how a thought of the past came out otherwise than it was recorded."""
        known = self._by_site.get((name, thought.asked_tick, thought.kind))
        made = masked_thought(thought)
        if known is None or _outcome(made) != _outcome(known):
            why = "does not come out as recorded" if known is not None else "is not recorded"
            self.differences.append(f"tick {thought.answered_tick}: a thought of {name} {why}")

    def check_all(self, seen: "set[tuple[str, int, str]]") -> None:
        """Note the first recorded thought of the past that did not come out again."""
        due = [site for site, thought in self._by_site.items() if thought.answered_tick <= self.until_tick]
        missing = sorted((site for site in due if site not in seen), key=lambda site: (site[1], site))
        if missing:
            name, tick_id, _ = missing[0]
            self.differences.append(f"tick {tick_id}: {name} does not have the thought that is recorded")


class ContinuedPast:
    """Thoughts from the record up to a tick, and from models after it.

    `launch_of` completes the settings of each process, with a gateway or another model. A run by the clock needs
    `past`, with the same last tick.
    """

    def __init__(
        self,
        recorded: RecordedModel,
        launch_of: "Callable[[Launch], Launch]" = _as_it_is,
        *,
        past: PastMinds | None = None,
    ) -> None:
        self.recorded = recorded
        self._past = past
        self.lacks_model = False
        """Whether some character that thinks has no model that could be asked."""
        self._launch_of = launch_of

    def context(self, launch: "Launch", env: Mapping[str, str]) -> ProcessContext:
        """Return the settings of a process whose models are played."""
        return ProcessContext(self._launch_of(launch), {}, env, play=self._play, past=self._past)

    @classmethod
    def of(
        cls, run: "RunReader", tick_id: int, launch_of: "Callable[[Launch], Launch]" = _as_it_is, *, keeps: bool = False
    ) -> Self:
        """Return the past of a run up to a tick."""
        thoughts, pace = recorded_thoughts(run), run.meta.pace
        past = None
        if pace is None or not pace.lockstep:
            rows = {actor.entity_id: row for row, actor in enumerate(run.info.actors)}
            past = PastMinds(thoughts, RecordedTurns(run, rows).questions, until_tick=tick_id)
        return cls(RecordedModel(thoughts, tick_id, keeps), launch_of, past=past)

    def _play(self, stage: ProcessContext, live: "AnyClient | None") -> "AnyClient | None":
        """Stand before a model; without any recorded thought of the process it had none, and gets none."""
        if isinstance(live, PlayedModel):
            return live
        if not any(self.recorded.thoughts.get(each.entity_id) for each in stage.launch.entities):
            return None
        self.lacks_model |= live is None
        return PlayedModel(self.recorded, stage, live)


class PlayedModel:
    """One client of a process, before the model that is asked later; None is no model."""

    def __init__(self, recorded: RecordedModel, stage: ProcessContext, live: "AnyClient | None") -> None:
        self._recorded = recorded
        self._stage = stage
        self._live = live

    def answer(self, question: "Question") -> Coroutine[Any, Any, Deliberation]:
        """Play the recorded reply, or ask. Called in the tick, so that the tick is known."""
        recorded = self._recorded
        site = call_site_of(self._stage, question.entity_id)
        thought = recorded.find(site)
        equal = thought is not None and _is_prompt_of(question, thought)
        if recorded.tick_id <= recorded.until_tick:
            if not equal:
                what = "another prompt than recorded" if thought is not None else "a question that is not recorded"
                recorded.differences.append(f"tick {recorded.tick_id}: {site.character} has {what}")
                return _fail(LLMError("the past came out otherwise than recorded"))
            assert thought is not None, "its prompt is equal"
            return _play(thought)
        if recorded.keeps and equal and thought is not None:
            recorded.played += 1
            return _play(thought)
        recorded.asked += 1
        if self._live is None:
            return _fail(LLMError(NO_MODEL))
        if isinstance(self._live, AsyncLLMClient) and answers_on_loop(self._live):
            return self._live.answer(question)
        return _query(self._live, question)

    async def aclose(self) -> None:
        """Close the model."""
        if self._live is not None and hasattr(self._live, "aclose"):
            await self._live.aclose()


def _is_prompt_of(question: "Question", thought: Thought) -> bool:
    made = masked_thought(replace(thought, system_prompt=question.system_prompt, user_message=question.user_message))
    return (made.system_prompt, made.user_message) == (thought.system_prompt, thought.user_message)


def _outcome(thought: Thought) -> tuple[object, ...]:
    return thought.answered_tick, thought.system_prompt, thought.user_message, thought.reply, thought.error_type


async def _play(thought: Thought) -> Deliberation:
    if thought.error_type in _ERRORS and not thought.reply:
        error = LLMConnectionError if thought.error_type == ErrorKind.NETWORK else LLMError
        raise error(thought.error.partition(": ")[2] or thought.error)
    return Deliberation(
        thought.reply,
        thought.thinking,
        **ServedUsage.values_of(replace(thought, queued_s=None)),  # no gateway is asked
    )


async def _fail(error: LLMError) -> Deliberation:
    raise error


async def _query(client: Any, question: "Question") -> Deliberation:
    """Ask a client that blocks."""
    return Deliberation(await asyncio.to_thread(client.query, question.system_prompt, question.folded()))
