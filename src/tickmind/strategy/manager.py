"""`LLMManager`: the registry of the strategic layer, with roles, contexts, parsers, triggers and clients by name."""

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, overload

from tickmind.base import ConfigError
from tickmind.llm import ModelClient, SyncModelClient, estimate_tokens
from tickmind.strategy.callbacks import Callbacks
from tickmind.strategy.clients.adapters import as_client
from tickmind.strategy.clients.client import AnyClient, SharedClient, answers_on_loop, folded
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.config import LLMConfig
from tickmind.strategy.functions import plain_function, refuse_coroutine
from tickmind.strategy.prompts import ContextFn, PromptTooLongError, TokenCount, assemble
from tickmind.strategy.replies.parsers import Declared, DirectiveParser, ParserFn, declare, default_json_parser
from tickmind.tools import ToolAgent

if TYPE_CHECKING:
    from tickmind.tick import World

Router: TypeAlias = Callable[["World", int, LLMAgent], str]
TriggerFn: TypeAlias = Callable[["World", int], bool]
RelevanceFn: TypeAlias = Callable[["World", int, Mapping[str, Any], int], bool]

_ContextFn = TypeVar("_ContextFn", bound=ContextFn)
_ParserFn = TypeVar("_ParserFn", bound=ParserFn)
_TriggerFn = TypeVar("_TriggerFn", bound=TriggerFn)
_RelevanceFn = TypeVar("_RelevanceFn", bound=RelevanceFn)
_Router = TypeVar("_Router", bound="Router | None")
_TokenCount = TypeVar("_TokenCount", bound=TokenCount)

MOST_UNKNOWN_PARSERS = 1000  # names that are logged
_UNDECLARED = Declared()
_OPTIONAL = frozenset({"trigger", "relevance"})  # definitions that an agent may leave out
_log = logging.getLogger("tickmind.strategy")


@dataclass(frozen=True, slots=True)
class Role:
    """A role's text, and what its replies may contain."""

    text: str
    declared: Declared


class QueryRequest(NamedTuple):
    """A request about an entity's next deliberation, from any thread."""

    entity_id: int
    defer_ticks: int | None = None  # None: ask soon
    at_once: bool = False


class LLMManager(Callbacks):
    """Hold the definitions by name; defining a name again replaces it. One manager serves one system.

    Methods that register a function return it, so they work as decorators: `@manager.define_context("den")`,
    `@manager.on_error`. Functions run in the tick: an `async def` is refused with `ConfigError`.

        >>> from tickmind.ai import Blackboard
        >>> from tickmind.strategy import LLMAgent, MockClient, make_llm_system
        >>> from tickmind.tick import Engine
        >>> engine, manager = Engine(), LLMManager(LLMConfig(max_queries_per_second=5))
        >>> _ = manager.define_role("wolf", "You lead a pack of wolves.", keys=["goal"])
        >>> manager.define_personality("bold", "You attack first.")
        >>> _ = manager.define_context("den", lambda world, eid: "You are hungry.")
        >>> manager.register_client(MockClient('{"goal": "hunt"}'))
        >>> system = make_llm_system(manager)
        >>> wolf = engine.world.spawn(Blackboard(), LLMAgent("wolf", "bold", "den"))
        >>> manager.assemble_prompt(engine.world, wolf, engine.world.get(wolf, LLMAgent))[1]
        'You are hungry.'
    """

    def __init__(self, config: LLMConfig | None = None) -> None:
        super().__init__()
        self.config = config or LLMConfig()
        self._roles: dict[str, Role] = {}
        self._personalities: dict[str, str] = {}
        self._contexts: dict[str, ContextFn] = {}
        self._examples: dict[str, tuple[tuple[str, str], ...]] = {}  # context -> solved questions
        self._choices: dict[str, Callable[[World, int], Iterable[str]]] = {}  # context -> what a reply may be
        self._parsers: dict[str, tuple[ParserFn, Declared]] = {}
        self._line_parsers: set[str] = set()  # names of those whose replies are one line
        self._clients: dict[str, AnyClient] = {}
        self._on_loop: set[str] = set()  # names of those of them that answer on an event loop
        self._shared: dict[str, SharedClient] = {}  # those that know when it is our turn
        self._triggers: dict[str, TriggerFn] = {}
        self._relevances: dict[str, RelevanceFn] = {}
        self._router: Router | None = None
        self._count_tokens: TokenCount = estimate_tokens
        self._unknown_parsers: set[str] = set()  # already logged
        self._wishes: deque[QueryRequest] = deque()

    # Definitions

    def define_role(
        self, name: str, text: str, *, keys: Iterable[str] | None = None, schema: Mapping[str, Any] | None = None
    ) -> None:
        """Define what an agent is and which answers are possible.

        `keys` limits the Blackboard keys that its replies may change, `schema` the form of the replies.
        """
        self._roles[name] = Role(text, declare(keys, schema))

    def define_personality(self, name: str, text: str) -> None:
        """Define how an agent tends to behave."""
        self._personalities[name] = text

    @overload
    def define_context(self, name: str) -> Callable[[_ContextFn], _ContextFn]: ...
    @overload
    def define_context(self, name: str, fn: _ContextFn) -> _ContextFn: ...

    def define_context(self, name: str, fn: Any = None) -> Any:
        """Define what an agent perceives: `fn(world, entity_id)` returns a text, or `Section`s for a token budget."""
        if fn is None:
            return partial(self.define_context, name)
        self._contexts[name] = plain_function(f"context {name!r}", fn)
        return fn

    def define_examples(self, context: str, turns: Iterable[tuple[str, str]]) -> None:
        """Define questions with their answers that go before each question with a context, as if they had been put.

        A small model follows them better than it follows instructions, and reads what is always the same only once.
        """
        self._examples[context] = tuple(turns)

    def define_choices(self, context: str, fn: "Callable[[World, int], Iterable[str]]") -> None:
        """Define the texts of which the reply to a question with a context is one, where they are few.

        `fn(world, entity_id)` returns them when the question is put; none means that any reply will do. An endpoint
        that is held to its replies by a grammar writes one of them to the letter.
        """
        self._choices[context] = plain_function(f"choices of {context!r}", fn)

    @overload
    def define_parser(
        self,
        name: str,
        *,
        keys: Iterable[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        one_line: bool = False,
    ) -> Callable[[_ParserFn], _ParserFn]: ...
    @overload
    def define_parser(
        self,
        name: str,
        fn: _ParserFn,
        *,
        keys: Iterable[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        one_line: bool = False,
    ) -> _ParserFn: ...

    def define_parser(
        self,
        name: str,
        fn: Any = None,
        *,
        keys: Iterable[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        one_line: bool = False,
    ) -> Any:
        """Define how a reply gets onto the Blackboard: `fn(response, blackboard)` writes to a copy, or raises.

        `one_line` says that the reply is one short line, so that a model need not write more.
        """
        if fn is None:
            return partial(self.define_parser, name, keys=keys, schema=schema, one_line=one_line)
        (self._line_parsers.add if one_line else self._line_parsers.discard)(name)
        self._parsers[name] = (plain_function(f"parser {name!r}", fn), declare(keys, schema))
        return fn

    @overload
    def define_trigger(self, name: str) -> Callable[[_TriggerFn], _TriggerFn]: ...
    @overload
    def define_trigger(self, name: str, fn: _TriggerFn) -> _TriggerFn: ...

    def define_trigger(self, name: str, fn: Any = None) -> Any:
        """Define a condition that starts a query before the interval is over; it is checked each tick."""
        if fn is None:
            return partial(self.define_trigger, name)
        self._triggers[name] = plain_function(f"trigger {name!r}", fn)
        return fn

    @overload
    def define_relevance(self, name: str) -> Callable[[_RelevanceFn], _RelevanceFn]: ...
    @overload
    def define_relevance(self, name: str, fn: _RelevanceFn) -> _RelevanceFn: ...

    def define_relevance(self, name: str, fn: Any = None) -> Any:
        """Define a rule that accepts or refuses an answer: `fn(world, entity_id, directives, asked_tick)`.

        `directives` is what the answer would change on the Blackboard. A refused answer changes nothing and is
        reported as `outdated`.
        """
        if fn is None:
            return partial(self.define_relevance, name)
        self._relevances[name] = plain_function(f"relevance {name!r}", fn)
        return fn

    def register_client(self, client: AnyClient | ModelClient | SyncModelClient | ToolAgent, name: str = "") -> None:
        """Set the default client, or a named one; clients of `tickmind.llm` are adapted.

        Raises `ConfigError` for a class instead of an object, and for an object that is no client.
        """
        adapted = self._clients[name] = as_client(client)
        self._on_loop.discard(name)
        self._shared.pop(name, None)
        if answers_on_loop(adapted):
            self._on_loop.add(name)
        if isinstance(adapted, SharedClient):
            self._shared[name] = adapted

    def define_router(self, router: _Router) -> _Router:
        """Let `router(world, entity_id, agent)` name the client for agents that name none; None removes it."""
        self._router = None if router is None else plain_function("a router", router)
        return router

    def count_tokens_with(self, counter: _TokenCount) -> _TokenCount:
        """Count tokens exactly instead of estimating."""
        self._count_tokens = plain_function("a token counter", counter)
        return counter

    # Look-ups

    def role(self, name: str) -> str | None:
        """Return the text of a role; None if it is not defined."""
        role = self._roles.get(name)
        return None if role is None else role.text

    def personality(self, name: str) -> str | None:
        """Return the text of a personality; None if it is not defined."""
        return self._personalities.get(name)

    def context(self, name: str) -> ContextFn | None:
        """Return a context function; None if it is not defined."""
        return self._contexts.get(name)

    def parser(self, name: str) -> ParserFn | None:
        """Return a parser; the empty name is the default one."""
        if not name:
            return default_json_parser
        entry = self._parsers.get(name)
        return None if entry is None else entry[0]

    def parser_of(self, agent: LLMAgent) -> ParserFn:
        """Return the parser for an agent's replies; the default one where its name is not registered."""
        if not agent.parser:
            return default_json_parser
        entry = self._parsers.get(agent.parser)
        if entry is not None:
            return entry[0]
        if agent.parser not in self._unknown_parsers and len(self._unknown_parsers) < MOST_UNKNOWN_PARSERS:
            self._unknown_parsers.add(agent.parser)
            _log.warning("no parser %r; the default JSON parser reads the replies instead", agent.parser)
        return default_json_parser

    def client(self, name: str = "") -> AnyClient | None:
        """Return a client; None if it is not registered."""
        return self._clients.get(name)

    def answers_on_loop(self, name: str) -> bool:
        """Return whether a client answers on an event loop; the others block a thread."""
        return name in self._on_loop

    @property
    def clients(self) -> Mapping[str, AnyClient]:
        """All clients, by name."""
        return self._clients

    @property
    def shared_clients(self) -> Mapping[str, SharedClient]:
        """The clients that know when it is our turn."""
        return self._shared

    def trigger(self, name: str) -> TriggerFn | None:
        """Return a trigger; None if it is not defined."""
        return self._triggers.get(name)

    def relevance(self, name: str) -> RelevanceFn | None:
        """Return a rule of relevance; None if it is not defined."""
        return self._relevances.get(name)

    def declared(self, agent: LLMAgent) -> Declared:
        """Return the keys and schema of an agent's replies, each as its parser declares, else as its role does."""
        role = self._roles.get(agent.role)
        by_role = role.declared if role is not None else _UNDECLARED
        entry = self._parsers.get(agent.parser)
        if entry is None:
            return by_role
        by_parser = entry[1]
        if by_role.keys is None and by_role.form is None:
            return by_parser
        keys = by_role.keys if by_parser.keys is None else by_parser.keys
        other = by_role if by_parser.form is None else by_parser
        return Declared(keys, other.schema, other.form)

    def reply_schema(self, agent: LLMAgent) -> Mapping[str, Any] | None:
        """Return the form to request from a model, if one is declared."""
        parser = self.parser_of(agent)
        if isinstance(parser, DirectiveParser):
            return parser.json_schema
        return self.declared(agent).schema

    def wants_line(self, agent: LLMAgent) -> bool:
        """Return whether an agent's reply is to be one short line."""
        return agent.parser in self._line_parsers

    def choices(self, world: "World", eid: int, agent: LLMAgent) -> tuple[str, ...]:
        """Return the texts of which the reply to an agent's question is one; none: any reply will do."""
        choose = self._choices.get(agent.context)
        return () if choose is None else tuple(choose(world, eid))

    def missing(self, agent: LLMAgent) -> str:
        """Name the first missing definition that an agent refers to; empty if there is none."""
        for kind, name, known in (
            ("role", agent.role, self._roles),
            ("personality", agent.personality, self._personalities),
            ("context", agent.context, self._contexts),
            ("trigger", agent.trigger, self._triggers),
            ("relevance", agent.relevance, self._relevances),
        ):
            if name not in known and (name or kind not in _OPTIONAL):
                return f"there is no {kind} {name!r}; define it with define_{kind}()"
        return ""

    def client_name(self, world: "World", entity_id: int, agent: LLMAgent) -> str:
        """Return the name of the client for an agent. Raises `TypeError` if the router returns no text."""
        if agent.client or self._router is None:
            return agent.client
        name = self._router(world, entity_id, agent)
        if not isinstance(name, str):
            raise TypeError(f"a router must return the name of a client, not a {type(name).__name__}")
        return name

    # Prompts

    def assemble_prompt(self, world: "World", eid: int, agent: LLMAgent) -> tuple[str, str] | None:
        """Return the system prompt and the user message, or None (with a warning) if a definition is missing.

        Raises `PromptTooLongError` if `token_budget` has no room for any of the context, and what the context
        function raises.
        """
        if problem := self.missing(agent):
            _log.warning("entity %d is not asked: %s", eid, problem)
            return None
        return self.make_prompt(world, eid, agent)

    def make_prompt(self, world: "World", eid: int, agent: LLMAgent) -> tuple[str, str]:
        """Assemble the prompt of an agent whose definitions are complete; see `assemble_prompt`.

        Raises `PromptTooLongError` if `token_budget` has no room for any of the context.
        """
        system_prompt = f"{self._roles[agent.role].text}\n\n{self._personalities[agent.personality]}"
        context = self._contexts[agent.context](world, eid)
        if not isinstance(context, str):
            refuse_coroutine(f"context {agent.context!r}", context)
        budget = self.config.token_budget
        if budget is not None:
            needed = self._count_tokens(system_prompt)
            if needed >= budget:
                raise PromptTooLongError(
                    f"role {agent.role!r} and personality {agent.personality!r} alone take {needed} tokens, and "
                    f"token_budget is {budget}; shorten them or raise it"
                )
            budget -= needed
        return system_prompt, assemble(context, budget=budget, count=self._count_tokens)

    def turns_within(self, agent: LLMAgent, prompt: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """Return the examples and the newest questions and answers to send along, as far as the token budget goes."""
        length, budget = self.config.conversation_turns, self.config.token_budget
        examples = self._examples.get(agent.context, ())
        turns = [*examples, *(agent.turns[-length:] if length else ())]
        while budget is not None and turns:
            if self._count_tokens(prompt[0]) + self._count_tokens(folded(prompt[1], turns)) <= budget:
                break
            del turns[min(len(examples), len(turns) - 1)]  # the oldest turn, or the last example
        return tuple(turns)

    def count_tokens(self, text: str) -> int:
        """Count or estimate the tokens of a text."""
        return self._count_tokens(text)

    @staticmethod
    def prompt_hash(system_prompt: str, user_message: str) -> str:
        """Return a short hash that identifies unchanged prompts."""
        text = f"{system_prompt}\x00{user_message}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=12).hexdigest()

    # Requests, carried out at the next tick

    def ask_soon(self, eid: int) -> None:
        """Request a deliberation as soon as limits allow, whatever the interval says. Any thread may call it."""
        self._wishes.append(QueryRequest(eid))

    def ask_now(self, eid: int) -> None:
        """Request a deliberation in the next tick, before all others; any thread may call it.

        This ends a deferral and a cooldown after failures. Limits still hold, and so does a wait that a client
        required. An entity that waits for an answer is asked again when it has it.
        """
        self._wishes.append(QueryRequest(eid, at_once=True))

    def defer(self, eid: int, ticks: int) -> None:
        """Delay an agent's next deliberation by so many ticks and notify a gateway. Any thread may call it.

        Raises `ConfigError` unless `ticks` is a whole number of at least 0.
        """
        if ticks < 0 or ticks != int(ticks):
            raise ConfigError(f"ticks must be 0 or more, not {ticks!r}")
        self._wishes.append(QueryRequest(eid, int(ticks)))

    def take_wishes(self) -> list[QueryRequest]:
        """Return the requests since the last call."""
        return [self._wishes.popleft() for _ in range(len(self._wishes))]
