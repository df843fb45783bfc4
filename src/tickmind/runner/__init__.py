"""The runner: keeps a world's characters alive by starting, watching and restarting their agents' processes.

    mapping = load_mapping("agents.yaml")
    runner = Runner(mapping, Path(".tickmind"))
    await runner.run()

`ProcessLifecycle` and `GroupRoster` decide, without clock, process or network; `Warden` starts processes so that
none of them, and nothing that they fork, outlives the runner.
"""

from tickmind.runner.checking import check_mapping, check_start
from tickmind.runner.errors import RunnerError, StateChangeError, WardenError
from tickmind.runner.folder import hold_folder
from tickmind.runner.launch.launcher import AgentCallbacks, AgentLauncher, AgentStart, LaunchedAgent
from tickmind.runner.launch.local import LocalLauncher
from tickmind.runner.lifecycle import LifeState, ProcessLifecycle
from tickmind.runner.logs import AgentLog
from tickmind.runner.mapping import load_mapping, mapping_schema_text, write_mapping
from tickmind.runner.mapping_file import MappingFile
from tickmind.runner.roster import Group, GroupRoster, Moves
from tickmind.runner.runner import CharacterRow, Runner, RunnerStatistics
from tickmind.runner.spec import (
    AgentSpec,
    Match,
    ResourceLimits,
    ResourceRequest,
    RestartPolicy,
    Rule,
    RunnerMapping,
    SecretSource,
)
from tickmind.runner.warden import Bounds, Child, Command, Ending, Isolation, Warden
from tickmind.runner.world_watcher import WorldWatcher

__all__ = [
    "AgentCallbacks",
    "AgentLauncher",
    "AgentLog",
    "AgentSpec",
    "AgentStart",
    "Bounds",
    "CharacterRow",
    "Child",
    "Command",
    "Ending",
    "Group",
    "GroupRoster",
    "Isolation",
    "LaunchedAgent",
    "LifeState",
    "LocalLauncher",
    "MappingFile",
    "Match",
    "Moves",
    "ProcessLifecycle",
    "ResourceLimits",
    "ResourceRequest",
    "RestartPolicy",
    "Rule",
    "Runner",
    "RunnerError",
    "RunnerMapping",
    "RunnerStatistics",
    "SecretSource",
    "StateChangeError",
    "Warden",
    "WardenError",
    "WorldWatcher",
    "check_mapping",
    "check_start",
    "hold_folder",
    "load_mapping",
    "mapping_schema_text",
    "write_mapping",
]
