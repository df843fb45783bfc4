"""A mapping, read and checked: which agent for which characters, and how it is run."""

from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from pathlib import Path

from tickmind.agent import Settings
from tickmind.agent.contract import DEFAULT_WORLD_ADDR, KeptReplies
from tickmind.base.access.tls_files import TlsFiles
from tickmind.protocol import EntityInfo

RESTART_WINDOW_S = 600.0
DEFAULT_NAME = "runner"


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How often and how soon an agent that ended is restarted.

    The n-th restart in a row waits for the n-th backoff, later ones for the last; a run that lasted as long as the
    longest backoff ends the row.
    """

    max_restarts_per_10m: int = 10
    backoff_ms: tuple[int, ...] = (250, 500, 1000, 2000, 5000)


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What an agent with all that it forks may use; 0 is no limit."""

    memory_mb: int = 1024
    cpu_s: int = 0  # of each process, over its whole life
    files: int = 1024  # of each process
    processes: int = 32
    nice: int = 5  # its niceness


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """What one process of an agent asks of a cluster; on one machine it means nothing."""

    cpus: float = 1.0
    memory_mb: int = 0  # 0: as much as its limit of memory
    resources: tuple[tuple[str, float], ...] = ()  # names that the operator gave to machines, and how much of each


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a secret comes from when an agent starts: a variable of the runner's environment or a private file."""

    variable: str = ""
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One kind of agent: its program, its settings, and how failures are handled."""

    name: str
    cmd: tuple[str, ...]
    cwd: Path
    env: tuple[tuple[str, str], ...] = ()
    settings: Settings = field(default_factory=Settings)
    secrets: tuple[tuple[str, SecretSource], ...] = ()
    restart: RestartPolicy = field(default_factory=RestartPolicy)
    fallback: str = ""  # another spec, which takes over when this one has failed too often
    per_process: int = 1  # how many characters one process hosts at most
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    place: ResourceRequest = field(default_factory=ResourceRequest)
    start_timeout_ms: int = 60_000  # until the first sign of life
    heartbeat_timeout_ms: int = 10_000  # silence that counts as death; 0: it sends no heartbeats
    missed_intents: int = 10  # ticks under control without an intent that count as death; 0: any number is fine
    stop_grace_ms: int = 5_000  # from being asked to end until it is killed


@dataclass(frozen=True, slots=True)
class Match:
    """The condition of a rule: all the tags, one of the types and one of the ids; an empty list matches all.

    >>> wolf = EntityInfo("entity:7", "wolf", ("npc", "wild"))
    >>> Match(tags=frozenset({"npc"})).fits(wolf), Match(types=frozenset({"sheep"})).fits(wolf)
    (True, False)
    """

    tags: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()

    def fits(self, entity: EntityInfo) -> bool:
        """Whether the rule is for this entity."""
        return (
            self.tags.issubset(entity.tags)
            and (not self.types or entity.type in self.types)
            and (not self.ids or entity.entity_id in self.ids)
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the assignments; `use` is a spec's name, empty for characters that get no agent."""

    match: Match
    use: str


@dataclass(frozen=True, slots=True)
class RunnerMapping:
    """A whole mapping file. The first matching rule decides; characters without one get no agent."""

    agents: Table[str, AgentSpec]
    rules: tuple[Rule, ...]
    world_addr: str = DEFAULT_WORLD_ADDR
    name: str = DEFAULT_NAME
    world_ws_url: str = ""  # of the same world, for agents without gRPC
    gateway_url: str = ""
    session: str = ""
    world_token: SecretSource | None = None
    tls: TlsFiles | None = None  # for a world and a gateway behind TLS
    replies: KeptReplies | None = None  # of the agents' models, kept in a file or played from one

    def spec_for(self, entity: EntityInfo) -> AgentSpec | None:
        """Return the agent of an entity, if it gets one."""
        for rule in self.rules:
            if rule.match.fits(entity):
                return self.agents.get(rule.use)
        return None

    def chain(self, name: str) -> tuple[AgentSpec, ...]:
        """Return a spec and its fallbacks, in the order in which they take over."""
        chain: list[AgentSpec] = []
        while name and name in self.agents:
            chain.append(self.agents[name])
            name = chain[-1].fallback
        return tuple(chain)
