"""The process of a character: the launch contract, the connection, the lease and the loop.

The shortest character is a function:

    @agent
    def act(observation: Observation) -> Intent:
        return Move(Direction.E)

    if __name__ == "__main__":
        act.run()
"""

from tickmind.agent.character.character import Character
from tickmind.agent.character.host import CharacterHost
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.contract import Assignment, Launch, encode_secrets
from tickmind.agent.errors import AgentError, ControlLostError, LaunchError
from tickmind.agent.minds import Mind, MindHost, Start
from tickmind.agent.process.agent_process import AgentProcess
from tickmind.agent.process.heartbeat import Heartbeat, HeartbeatWriter
from tickmind.agent.reporting.insights import show_mind
from tickmind.agent.running import Agent, ProcessContext, agent, run
from tickmind.agent.settings import Json, Settings

__all__ = [
    "Agent",
    "AgentError",
    "AgentProcess",
    "Assignment",
    "Character",
    "CharacterHost",
    "ControlLostError",
    "Heartbeat",
    "HeartbeatWriter",
    "Json",
    "Launch",
    "LaunchError",
    "Mind",
    "MindHost",
    "ProcessContext",
    "Settings",
    "Start",
    "action",
    "agent",
    "condition",
    "encode_secrets",
    "run",
    "show_mind",
]
