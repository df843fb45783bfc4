"""One place for many agents: shared options, a factory, and a bus that tells what all of them do."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Unpack

from tickmind.base import Clock, Limit, Secret, get_logger
from tickmind.llm.client import ModelClient
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import MessageLike
from tickmind.tools.agent import ToolAgent
from tickmind.tools.config import AgentConfig, AgentOptions
from tickmind.tools.definition.callable_tool import Tool
from tickmind.tools.definition.registry import ToolRegistry
from tickmind.tools.events import (
    MAX_EVENTS_KEPT,
    AgentEvent,
    EventLog,
    EventReader,
    RunFinished,
    RunStarted,
    TextDelta,
)
from tickmind.tools.execution.caller import ModelCaller
from tickmind.tools.output import OutputForm
from tickmind.tools.typevars import OutputT

MAX_LISTENERS = Limit("listeners of a hub", 256)

_log = get_logger(__name__)


class HubEventKind(StrEnum):
    """What a hub tells about its agents."""

    STARTED = "agent_started"
    DELTA = "agent_delta"
    FINISHED = "agent_finished"  # the last one of every run, however it ended
    ERROR = "agent_error"
    DEBUG = "agent_debug"  # requests, thinking, tools, questions


@dataclass(frozen=True, slots=True)
class HubEvent:
    """Something that one of the agents did. It holds no secret; `data` is plain."""

    kind: HubEventKind
    agent_id: str
    run_id: str
    data: dict[str, Any]

    @property
    def text(self) -> str:
        """What the model says, of a delta; what it said, at the end."""
        return str(self.data.get("text", ""))


Listener = Callable[[HubEvent], None]


class AgentHub:
    """Makes agents that share a caller and options, and mirrors their events to listeners.

    A listener is called at once, on the event loop: it should only take note. One that fails is logged and breaks
    nothing. `events()` is for those that await.
    """

    def __init__(
        self,
        caller: ModelCaller | ModelClient,
        *,
        tools: ToolRegistry | None = None,
        config: AgentConfig | None = None,
        max_listeners: Limit = MAX_LISTENERS,
        max_events: Limit = MAX_EVENTS_KEPT,
        clock: Clock | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        self.config = (config or AgentConfig()).changed(options)
        self.tools = tools if tools is not None else ToolRegistry()
        self._caller = caller
        self._clock = clock
        self._max_listeners = max_listeners
        self._listeners: dict[Listener, frozenset[HubEventKind] | None] = {}  # listener -> what it wants; None: all
        self._log: EventLog[HubEvent] = EventLog(max_events)
        self._agents: weakref.WeakSet[ToolAgent] = weakref.WeakSet()
        self._own_clients: list[ModelClient] = []  # made by set_api_key; closed with the hub

    def set_api_key(self, key: str | Secret) -> None:
        """Ask with another key from now on, through all agents; runs that are at work end with the old one.

        Raises `LLMConfigError` unless the hub asks through a `ModelClient` with a transport of its own making.
        """
        if not isinstance(self._caller, ModelClient):
            raise LLMConfigError("a hub on a transport has no key of its own; give the key to the transport")
        self._caller = self._caller.with_api_key(key)
        self._own_clients.append(self._caller)
        for agent in self.agents:
            agent.ask_through(self._caller)

    def set_default_model(self, model: str) -> None:
        """Name the model of agents that are created from now on."""
        self.set_default_params(model=model)

    def set_default_params(self, **options: Unpack[AgentOptions]) -> None:
        """Set options, as `AgentConfig` names them, of agents that are created from now on."""
        self.config = self.config.changed(options)

    def create_agent(
        self,
        tools: ToolRegistry | Iterable[Tool | Callable[..., Any]] | None = None,
        *,
        output: OutputForm[OutputT] | None = None,
        deps: Any = None,
        agent_id: str | None = None,
        history: Iterable[MessageLike] = (),
        **options: Unpack[AgentOptions],
    ) -> ToolAgent[OutputT]:
        """A new agent; tools that are not given are the hub's, and so are options."""
        agent: ToolAgent[OutputT] = ToolAgent(
            self._caller,
            self.tools if tools is None else tools,
            output=output,
            deps=deps,
            agent_id=agent_id,
            history=history,
            config=self.config.changed(options),
            on_event=self._mirror,
            clock=self._clock,
        )
        self._agents.add(agent)
        return agent

    @property
    def agents(self) -> tuple[ToolAgent, ...]:
        """The agents that are still in use."""
        return tuple(self._agents)

    def subscribe(self, listener: Listener, kinds: Iterable[HubEventKind | str] | None = None) -> Listener:
        """Call a listener with every event, or with some kinds only; subscribing again changes the kinds."""
        self._max_listeners.check(len({*self._listeners, listener}))
        self._listeners[listener] = None if kinds is None else frozenset(HubEventKind(kind) for kind in kinds)
        return listener

    def unsubscribe(self, listener: Listener) -> bool:
        """Call it no more; False if it was not subscribed."""
        if listener not in self._listeners:
            return False
        del self._listeners[listener]
        return True

    def events(self) -> EventReader[HubEvent]:
        """All events from the oldest one that is kept; a slow reader misses some and is told how many."""
        return self._log.reader()

    async def aclose(self) -> None:
        """Cancel all runs of all agents, wait until they have ended, and end the readers."""
        agents = self.agents
        for agent in agents:
            agent.cancel_all()
        for agent in agents:
            await agent.aclose()
        for client in self._own_clients:
            await client.aclose()
        self._log.close()

    def _mirror(self, event: AgentEvent) -> None:
        data = event.to_dict()
        if isinstance(event, RunStarted):
            self._publish(HubEventKind.STARTED, event, {})
        elif isinstance(event, TextDelta):
            self._publish(HubEventKind.DELTA, event, {"step": event.step, "text": data["text"]})
        elif isinstance(event, RunFinished):
            result = data["result"]
            if event.result.error is not None:
                self._publish(HubEventKind.ERROR, event, event.result.error.to_dict())
            self._publish(HubEventKind.FINISHED, event, result)
        else:
            self._publish(HubEventKind.DEBUG, event, {**data, "event": event.kind})

    def _publish(self, kind: HubEventKind, source: AgentEvent, data: dict[str, Any]) -> None:
        event = HubEvent(kind, source.agent_id, source.run_id, data)
        self._log.add_nowait(event)
        for listener, kinds in tuple(self._listeners.items()):
            if kinds is not None and kind not in kinds:
                continue
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - a listener is anybody's code and must not break a run
                _log.exception("a listener of the hub failed", agent_id=source.agent_id, event_kind=kind.value)
