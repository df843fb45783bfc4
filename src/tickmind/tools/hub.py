"""`AgentHub`: makes agents with shared options, and delivers the events of all of them."""

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
    """The kinds of events that a hub delivers."""

    STARTED = "agent_started"
    DELTA = "agent_delta"
    FINISHED = "agent_finished"  # the last one of every run, however it ended
    ERROR = "agent_error"
    DEBUG = "agent_debug"  # requests, thinking, tools, questions


@dataclass(frozen=True, slots=True)
class HubEvent:
    """An event of one of the agents. It holds no secret; `data` is plain."""

    kind: HubEventKind
    agent_id: str
    run_id: str
    data: dict[str, Any]

    @property
    def text(self) -> str:
        """The model's text: a piece, of a delta; the whole, at the end."""
        return str(self.data.get("text", ""))


Listener = Callable[[HubEvent], None]


class AgentHub:
    """Make agents that share a caller and options, and mirror their events to listeners.

    A listener is called at once, on the event loop, so it must be quick. A listener that fails is logged and breaks
    nothing. `events()` is for listeners that await.

        hub = AgentHub(client, max_steps=5)
        scout = hub.create_agent([look_around], system="You are a scout.")
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
        self._listeners: dict[Listener, frozenset[HubEventKind] | None] = {}  # listener -> its event kinds; None: all
        self._log: EventLog[HubEvent] = EventLog(max_events)
        self._agents: weakref.WeakSet[ToolAgent] = weakref.WeakSet()
        self._own_clients: list[ModelClient] = []  # made by set_api_key; closed with the hub

    def set_api_key(self, key: str | Secret) -> None:
        """Use another key from now on, in all agents; running runs end with the old one.

        Raises `LLMConfigError` unless the hub asks through a `ModelClient` with a transport of its own making.
        """
        if not isinstance(self._caller, ModelClient):
            raise LLMConfigError("this hub's transport was passed in and holds the key; make another transport")
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
        """Return a new agent; the hub's tools and options fill in what is not given."""
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
        """Stop calling a listener; return False if it was not subscribed."""
        if listener not in self._listeners:
            return False
        del self._listeners[listener]
        return True

    def events(self) -> EventReader[HubEvent]:
        """Return a reader of all events, from the oldest kept one; its `missed` counts those that it was late for."""
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
            except Exception:  # noqa: BLE001 - a listener is user code and must not break a run
                _log.exception("a listener of the hub failed", agent_id=source.agent_id, event_kind=kind.value)
