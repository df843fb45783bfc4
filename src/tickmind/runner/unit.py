"""A unit: one process of a runner, from its launch file to its log."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tickmind.agent import Heartbeat, Launch, LaunchError
from tickmind.agent.contract import WORLD_TOKEN
from tickmind.agent.process.lease_file import FILE_NAME as LEASE_FILE
from tickmind.base import Clock, Secret, get_logger
from tickmind.base.access.token_file import TokenFile
from tickmind.base.secret_sources import SecretSources, SourceError
from tickmind.protocol import AgentState
from tickmind.runner.errors import RunnerError
from tickmind.runner.launch.launcher import STATE, AgentCallbacks, AgentLauncher, AgentStart, LaunchedAgent
from tickmind.runner.launch.secrets import find_secret, find_world_token
from tickmind.runner.lifecycle import ALIVE, LifeState, ProcessLifecycle
from tickmind.runner.logs import AgentLog
from tickmind.runner.roster import Group
from tickmind.runner.spec import RunnerMapping
from tickmind.runner.warden import Ending

LONGEST_LEASE_S = 15.0  # of a process that died: the world's default, and half as much again
_log = get_logger(__name__)


class Unit:
    """A group of characters and the process that runs them, with its lifecycle, heartbeats and log."""

    def __init__(
        self,
        group: Group,
        folder: Path,
        launcher: AgentLauncher,
        clock: Clock,
        environment: Mapping[str, str],
        on_change: Callable[["Unit"], None],
    ) -> None:
        self.group = group
        self.life = ProcessLifecycle(group.spec)
        self.thinking = False
        self._folder = folder / group.folder_name
        self._launcher = launcher
        self._clock = clock
        self._environment = environment
        self._on_change = on_change
        self._agent: LaunchedAgent | None = None
        self._log: AgentLog | None = None
        self._beat_rest = b""
        self._why_killed = ""
        self.follows_until_s = clock.monotonic() + LONGEST_LEASE_S if group.instead_of else 0.0
        """Until when leases of an earlier process may run on."""

    @property
    def log_path(self) -> Path:
        """The path of the agent's log."""
        return self._folder / "agent.log"

    @property
    def pid(self) -> int:
        """The pid of the agent's keeper, 0 if there is none."""
        return self._agent.keeper_pid if self._agent is not None else 0

    @property
    def node(self) -> str:
        """The machine that the agent runs on; empty for this one."""
        return self._agent.node if self._agent is not None else ""

    @property
    def was_here_before(self) -> bool:
        """Whether the agent left a lease file behind, by which it can take its characters back."""
        return (self._folder / STATE / LEASE_FILE).is_file()

    def start(self, group: Group, mapping: RunnerMapping) -> None:
        """Start the process; an error ends it, and its lifecycle decides what follows."""
        now_s = self._clock.monotonic()
        self.life.started(now_s)
        self._why_killed = ""
        try:
            self._launch(group, mapping)
        except (OSError, SourceError, LaunchError, RunnerError) as error:
            text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            self._end(Ending(trouble=f"it can't be started: {text}"))

    def _launch(self, group: Group, mapping: RunnerMapping) -> None:
        spec = group.spec
        (self._folder / STATE).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        secrets, token_file = self._secrets(mapping)
        launch = Launch(
            entities=group.assignments(mapping.name),
            world_addr=mapping.world_addr,
            world_ws_url=mapping.world_ws_url,
            settings=spec.settings,
            gateway_url=mapping.gateway_url,
            session=mapping.session or mapping.name,
            replies=mapping.replies,
            tls=mapping.tls,
            world_token_file=token_file,
        )
        if self._log is None:
            self._log = AgentLog(self.log_path, self._clock)
        self._log.begin(f"start {self.life.restarts + 1} of {spec.name} for {len(group.entity_ids)} characters")
        start = AgentStart(group.key, spec, launch, self._folder, secrets)
        self._agent = self._launcher.start(start, AgentCallbacks(self._log.take, self._take_beats, self._end))

    def _secrets(self, mapping: RunnerMapping) -> tuple[dict[str, Secret], Path | None]:
        """Return the secrets of the agent, and the file of its token of the world, if it is in one."""
        sources = SecretSources(self._environment.get, self._folder)
        wanted = self.group.spec.secrets
        secrets = {name: Secret(find_secret(sources, source), lasting=True) for name, source in wanted}
        if mapping.world_token is None or WORLD_TOKEN in secrets:
            return secrets, None
        token = find_world_token(sources, mapping.world_token)
        if not isinstance(token, TokenFile):
            return {**secrets, WORLD_TOKEN: token}, None
        return {**secrets, WORLD_TOKEN: token.newest()}, token.path.absolute()

    def stop(self) -> None:
        """Ask the process to end, if there is one."""
        if self.life.stop() and self._agent is not None:
            self._agent.stop(self.group.spec.stop_grace_ms / 1000)
        elif self.life.state is LifeState.STOPPED:
            self._finish()

    def kill(self, why: str) -> None:
        """Kill the process, for a reason from its lifecycle."""
        if self._agent is not None and not self._why_killed:
            self._why_killed = why
            self._agent.kill()

    def gives_way_to(self, other: "Unit") -> bool:
        """Whether another unit may start while this one is still there: they share no character."""
        return not set(self.group.entity_ids).intersection(other.group.entity_ids)

    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return self.life.state not in ALIVE

    def _take_beats(self, data: bytes) -> None:
        *lines, rest = (self._beat_rest + data).split(b"\n")
        self._beat_rest = rest[-1024:]
        if not lines:
            return
        try:
            beat = Heartbeat.decode(lines[-1])
        except LaunchError:
            return  # not a heartbeat, so not a sign of life; the timeout will handle silence
        was = self.life.state
        self.life.seen(self._clock.monotonic())
        self.thinking = beat.state is AgentState.DELIBERATING
        if self.life.state is not was:
            self._on_change(self)

    def _end(self, ending: Ending) -> None:
        self._agent, self._beat_rest, self.thinking = None, b"", False
        why = self._why_killed or str(ending)
        if ending.code and not self._why_killed and self._log is not None and (said := self._log.last_line):
            why = f"{why}: {said}"
        now_s = self._clock.monotonic()
        self.follows_until_s = now_s + LONGEST_LEASE_S
        state = self.life.ended(now_s, why)
        if self._log is not None:
            self._log.note(f"ended: {why}; {state}")
        if state is not LifeState.STOPPED:
            _log.info(
                "an agent ended", agent=self.group.spec.name, of=self.group.entity_ids[0], why=why, now=str(state)
            )
        if state is not LifeState.BACKING_OFF:
            self._finish()
        self._on_change(self)

    def _finish(self) -> None:
        """Close the log, and free what is held for another start."""
        self._launcher.forget(self.group.key)
        if self._log is not None:
            self._log.close()
            self._log = None
