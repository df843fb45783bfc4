"""Which characters of a world have an agent."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.runner import RunnerMapping
    from tickmind.world import Scenario


def characters_with_agents(scenario: "Scenario", mapping: "RunnerMapping") -> frozenset[str]:
    """Return the ids of all characters that have an agent, also of those that are away."""
    from tickmind.world import TileWorld

    actors = TileWorld.from_scenario(scenario).info.actors
    return frozenset(actor.entity_id for actor in actors if mapping.spec_for(actor) is not None)
