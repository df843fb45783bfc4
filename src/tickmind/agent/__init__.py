"""What a character's process is made of: the launch contract, the connection, the lease and the loop.

The shortest character is a function:

    @agent
    def act(observation: Observation) -> Intent:
        return Move(Direction.E)

    if __name__ == "__main__":
        act.run()
"""

from tickmind.agent.cast import Cast, Mind, Start
from tickmind.agent.character import Character
from tickmind.agent.company import Company
from tickmind.agent.contract import Assignment, Launch, encode_secrets
from tickmind.agent.errors import AgentError, ControlLostError, LaunchError
from tickmind.agent.heartbeat import Heartbeat, Pulse
from tickmind.agent.life import Life
from tickmind.agent.mirror import show_mind
from tickmind.agent.running import Agent, Stage, agent, run
from tickmind.agent.settings import Json, Settings
from tickmind.agent.tactics import action, condition

__all__ = [
    "Agent",
    "AgentError",
    "Assignment",
    "Cast",
    "Character",
    "Company",
    "ControlLostError",
    "Heartbeat",
    "Json",
    "Launch",
    "LaunchError",
    "Life",
    "Mind",
    "Pulse",
    "Settings",
    "Stage",
    "Start",
    "action",
    "agent",
    "condition",
    "encode_secrets",
    "run",
    "show_mind",
]
