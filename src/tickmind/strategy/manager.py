"""The registry of the strategic layer: roles, personalities, contexts, parsers, clients and who wants to know."""

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.base import ConfigError
from tickmind.llm import ModelClient, SyncModelClient, ToolAgent, estimate_tokens
from tickmind.protocol import Thought, ThoughtSink
from tickmind.strategy.clients import AnyClient, as_client, folded
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.config import LLMConfig
from tickmind.strategy.errors import ErrorKind, told
from tickmind.strategy.parsers import Declared, DirectiveParser, ParserFn, declare, default_json_parser
from tickmind.strategy.prompts import ContextFn, TokenCount, assemble
from tickmind.strategy.sharing import SharedClient

if TYPE_CHECKING:
    from tickmind.tick import World

OnQuery: TypeAlias = Callable[[int, int, int], None]  # entity id, prompt size in characters, tick
OnResponse: TypeAlias = Callable[[int, float, int, int], None]  # entity id, latency in seconds, size, tick
OnError: TypeAlias = Callable[[int, str, str, int], None]  # entity id (0: nobody's), error type, message, tick
OnEstimate: TypeAlias = Callable[[int, int, int], None]  # entity id, prompt tokens, tick
OnDeferred: TypeAlias = Callable[[int, str, int, int], None]  # entity id, why, until which tick, tick
Router: TypeAlias = Callable[["World", int, LLMAgent], str]
TriggerFn: TypeAlias = Callable[["World", int], bool]

_log = logging.getLogger("tickmind.strategy")


@dataclass(frozen=True, slots=True)
class Role:
    """What an agent is, and what its replies may contain."""

    text: str
    declared: Declared


class LLMManager:
    """Definitions by name; defining a name again replaces it. One manager serves one system."""

    def __init__(self, config: LLMConfig | None = None) -> None:
        self.config = config or LLMConfig()
        self._roles: dict[str, Role] = {}
        self._personalities: dict[str, str] = {}
        self._contexts: dict[str, ContextFn] = {}
        self._parsers: dict[str, tuple[ParserFn, Declared]] = {}
        self._clients: dict[str, AnyClient] = {}
        self._shared: dict[str, SharedClient] = {}  # those of them that may know when it is our turn
        self._triggers: dict[str, TriggerFn] = {}
        self._router: Router | None = None
        self._count_tokens: TokenCount = estimate_tokens
        self._on_query: list[OnQuery] = []
        self._on_response: list[OnResponse] = []
        self._on_error: list[OnError] = []
        self._on_estimate: list[OnEstimate] = []
        self._on_deferred: list[OnDeferred] = []
        self._sink: ThoughtSink | None = None
        self._wishes: deque[tuple[int, int | None]] = deque()  # entity id, ticks to defer or None to ask soon
        self.callback_errors = 0

    # Definitions

    def define_role(
        self, name: str, text: str, *, keys: Iterable[str] | None = None, schema: Mapping[str, Any] | None = None
    ) -> None:
        """Say what an agent is and which answers are possible.

        `keys` limits the Blackboard keys that its replies may change, `schema` the form of the replies.
        """
        self._roles[name] = Role(text, declare(keys, schema))

    def define_personality(self, name: str, text: str) -> None:
        """Say how an agent tends to behave."""
        self._personalities[name] = text

    def define_context(self, name: str, fn: ContextFn) -> None:
        """Say what an agent perceives: `fn(world, entity_id)` gives a text, or `Section`s if a token budget is set."""
        self._contexts[name] = fn

    def define_parser(
        self,
        name: str,
        fn: ParserFn,
        *,
        keys: Iterable[str] | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        """Say how a reply gets onto the Blackboard: `fn(response, blackboard)` writes to a copy, or raises."""
        self._parsers[name] = (fn, declare(keys, schema))

    def define_trigger(self, name: str, fn: TriggerFn) -> None:
        """Name a condition that asks before the interval is over; it is checked each tick for agents that use it."""
        self._triggers[name] = fn

    def register_client(self, client: AnyClient | ModelClient | SyncModelClient | ToolAgent, name: str = "") -> None:
        """Set the client, or one of several by name; those of `tickmind.llm` are adapted."""
        adapted = self._clients[name] = as_client(client)
        self._shared.pop(name, None)
        if isinstance(adapted, SharedClient):
            self._shared[name] = adapted

    def define_router(self, router: Router | None) -> None:
        """Let `router(world, entity_id, agent)` name the client for agents that name none."""
        self._router = router

    def count_tokens_with(self, counter: TokenCount) -> None:
        """Count tokens exactly instead of estimating."""
        self._count_tokens = counter

    # Look-ups

    def role(self, name: str) -> str | None:
        """The text of a role."""
        found = self._roles.get(name)
        return None if found is None else found.text

    def personality(self, name: str) -> str | None:
        """The text of a personality."""
        return self._personalities.get(name)

    def context(self, name: str) -> ContextFn | None:
        """A context function."""
        return self._contexts.get(name)

    def parser(self, name: str) -> ParserFn | None:
        """A parser; the empty name is the default one."""
        if not name:
            return default_json_parser
        found = self._parsers.get(name)
        return None if found is None else found[0]

    def client(self, name: str = "") -> AnyClient | None:
        """A client."""
        return self._clients.get(name)

    @property
    def clients(self) -> Mapping[str, AnyClient]:
        """All clients, by name."""
        return self._clients

    @property
    def shared_clients(self) -> Mapping[str, SharedClient]:
        """Those clients that may know when it is our turn."""
        return self._shared

    def trigger(self, name: str) -> TriggerFn | None:
        """A trigger."""
        return self._triggers.get(name)

    def declared(self, agent: LLMAgent) -> Declared:
        """What may come of an agent's replies: keys and schema, each as its parser declares, else as its role does."""
        role = self._roles.get(agent.role)
        by_role = role.declared if role is not None else Declared()
        found = self._parsers.get(agent.parser)
        if found is None:
            return by_role
        by_parser = found[1]
        keys = by_role.keys if by_parser.keys is None else by_parser.keys
        other = by_role if by_parser.form is None else by_parser
        return Declared(keys, other.schema, other.form)

    def reply_schema(self, agent: LLMAgent) -> Mapping[str, Any] | None:
        """The form to ask a model for, if one is declared."""
        parser = self.parser(agent.parser)
        if isinstance(parser, DirectiveParser):
            return parser.json_schema
        return self.declared(agent).schema

    def missing(self, agent: LLMAgent) -> str:
        """The first definition that an agent refers to and nobody made, in words; empty if there is none."""
        for kind, name, known in (
            ("role", agent.role, self._roles),
            ("personality", agent.personality, self._personalities),
            ("context", agent.context, self._contexts),
            ("parser", agent.parser, self._parsers),
            ("trigger", agent.trigger, self._triggers),
        ):
            if name not in known and not (kind in ("parser", "trigger") and not name):
                return f"there is no {kind} {name!r}; define it with define_{kind}()"
        return ""

    def client_name(self, world: "World", entity_id: int, agent: LLMAgent) -> str:
        """Which client an agent is to ask."""
        if agent.client or self._router is None:
            return agent.client
        name = self._router(world, entity_id, agent)
        if not isinstance(name, str):
            raise TypeError(f"a router gives the name of a client, not a {type(name).__name__}")
        return name

    # Prompts

    def assemble_prompt(self, world: "World", eid: int, agent: LLMAgent) -> tuple[str, str] | None:
        """The system prompt and the user message, or None (with a warning) if a definition is missing."""
        if problem := self.missing(agent):
            _log.warning("entity %d is not asked: %s", eid, problem)
            return None
        system_prompt = f"{self._roles[agent.role].text}\n\n{self._personalities[agent.personality]}"
        context = self._contexts[agent.context](world, eid)
        budget = self.config.token_budget
        if budget is not None:
            budget = max(1, budget - self._count_tokens(system_prompt))
        return system_prompt, assemble(context, budget=budget, count=self._count_tokens)

    def turns_within(self, agent: LLMAgent, prompt: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """The earlier questions and answers that go along: the newest, as far as the token budget goes."""
        length, budget = self.config.conversation_turns, self.config.token_budget
        turns = tuple(agent.turns[-length:]) if length else ()
        while budget is not None and turns:
            if self._count_tokens(prompt[0]) + self._count_tokens(folded(prompt[1], turns)) <= budget:
                break
            turns = turns[1:]
        return turns

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, counted or estimated."""
        return self._count_tokens(text)

    @staticmethod
    def prompt_hash(system_prompt: str, user_message: str) -> str:
        """A short mark by which unchanged prompts are known."""
        text = f"{system_prompt}\x00{user_message}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=12).hexdigest()

    # Who wants to know

    def on_query(self, callback: OnQuery) -> None:
        """Call `callback(eid, prompt_size, tick)` when a query goes out."""
        self._on_query.append(callback)

    def on_response(self, callback: OnResponse) -> None:
        """Call `callback(eid, latency, response_size, tick)` when a reply has been taken in."""
        self._on_response.append(callback)

    def on_error(self, callback: OnError) -> None:
        """Call `callback(eid, error_type, error_msg, tick)` on any failure; eid 0 means that it is nobody's."""
        self._on_error.append(callback)

    def on_estimate(self, callback: OnEstimate) -> None:
        """Call `callback(eid, tokens, tick)` with the size of each prompt in tokens, before it goes out."""
        self._on_estimate.append(callback)

    def on_deferred(self, callback: OnDeferred) -> None:
        """Call `callback(eid, reason, until_tick, tick)` when an agent is left to wait, and nothing failed.

        The reason is `deferred` if somebody chose it, else what a shared client said: RATE_LIMIT_COOLDOWN, QUEUE_FULL.
        """
        self._on_deferred.append(callback)

    def record_thoughts(self, sink: ThoughtSink | None) -> None:
        """Offer every deliberation to a sink; None switches it off."""
        self._sink = sink

    @property
    def records_thoughts(self) -> bool:
        """Whether anybody wants thoughts."""
        return self._sink is not None

    @property
    def estimates(self) -> bool:
        """Whether anybody wants estimates."""
        return bool(self._on_estimate)

    def tell_query(self, eid: int, size: int, tick: int) -> None:
        """Tell the callbacks."""
        for callback in tuple(self._on_query):
            self._call(tick, callback, eid, size, tick)

    def tell_response(self, eid: int, latency: float, size: int, tick: int) -> None:
        """Tell the callbacks."""
        for callback in tuple(self._on_response):
            self._call(tick, callback, eid, latency, size, tick)

    def tell_estimate(self, eid: int, tokens: int, tick: int) -> None:
        """Tell the callbacks."""
        for callback in tuple(self._on_estimate):
            self._call(tick, callback, eid, tokens, tick)

    def tell_deferred(self, eid: int, reason: str, until_tick: int, tick: int) -> None:
        """Tell the callbacks."""
        for callback in tuple(self._on_deferred):
            self._call(tick, callback, eid, reason, until_tick, tick)

    def tell_error(self, eid: int, kind: ErrorKind, message: str, tick: int) -> None:
        """Tell the callbacks."""
        for callback in tuple(self._on_error):
            try:
                callback(eid, kind.value, message, tick)
            except Exception:  # noqa: BLE001  nothing a user supplies may end the tick
                self.callback_errors += 1
                _log.exception("an on_error callback raised")

    def tell_thought(self, make: Callable[[], Thought], tick: int) -> None:
        """Offer a thought to the sink; what clients say goes into it, so making it may fail."""
        sink = self._sink
        if sink is None:
            return
        try:
            thought = make()
        except Exception as error:  # noqa: BLE001  nothing a user supplies may end the tick; it is told as an error
            self.callback_errors += 1
            self.tell_error(0, ErrorKind.CALLBACK, f"a thought could not be made: {told(error)}", tick)
            return
        self._call(tick, sink, thought)

    def _call(self, tick: int, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception as error:  # noqa: BLE001  nothing a user supplies may end the tick; it is told as an error
            self.callback_errors += 1
            name = getattr(callback, "__qualname__", type(callback).__name__)
            self.tell_error(0, ErrorKind.CALLBACK, f"{name} raised {told(error)}", tick)

    # Wishes, taken up at the next tick

    def ask_soon(self, eid: int) -> None:
        """Ask for a deliberation as soon as limits allow, whatever the interval says. Any thread may."""
        self._wishes.append((eid, None))

    def defer(self, eid: int, ticks: int) -> None:
        """Let an agent's next deliberation wait for so many ticks; a gateway hears of it. Any thread may."""
        if ticks < 0:
            raise ConfigError(f"a deliberation is deferred by 0 ticks or more, not by {ticks}")
        self._wishes.append((eid, ticks))

    def take_wishes(self) -> list[tuple[int, int | None]]:
        """What was wished for since the last time."""
        return [self._wishes.popleft() for _ in range(len(self._wishes))]
