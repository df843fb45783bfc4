"""What a character's process is made of: the launch contract, the connection, the lease and the loop."""

from tickmind.agent.contract import Assignment, Launch, encode_secrets
from tickmind.agent.errors import AgentError, LaunchError
from tickmind.agent.heartbeat import Heartbeat, Pulse
from tickmind.agent.settings import Json, Settings

__all__ = [
    "AgentError",
    "Assignment",
    "Heartbeat",
    "Json",
    "Launch",
    "LaunchError",
    "Pulse",
    "Settings",
    "encode_secrets",
]
