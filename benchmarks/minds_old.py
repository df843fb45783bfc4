"""Villagers as they were before they learnt how long thoughts take: the peer of `benchmarks.minds`.

A fixed deadline of a minute, two questions a second at most however slow the model is, half a minute in a queue, and
prompts that tell everything each time. Run as a module, as a host of characters.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from tickmind.agent import ProcessContext
from tickmind.agent.character.thinking import Thinking
from tickmind.agent.character.thoughts.models import find_client
from tickmind.agent.knowledge import distance
from tickmind.characters.villager import Villager
from tickmind.llm import CallConfig, GatewayClient, gateway_call
from tickmind.strategy import AnyClient, GatewayAdapter, LLMConfig, Section, quoted

TIMEOUT_S = 60.0
ROLE = (
    "You live in a small village. You get hungry and eat, get tired and sleep in a bed, and know people by their ids. "
    "Say what you aim for in the next minute."
)
PLAN = {
    "type": "object",
    "properties": {
        "goal": {"enum": ["gather", "rest", "explore", "visit", "wander", "stay"], "description": "what to do next"},
        "who": {"type": "string", "maxLength": 60, "description": "whom to visit or speak to, by id; may be empty"},
        "say": {"type": "string", "maxLength": 160, "description": "what to say aloud now; may be empty"},
        "remember": {"type": "string", "maxLength": 120, "description": "what is worth remembering; may be empty"},
    },
    "required": ["goal", "who", "say", "remember"],
    "additionalProperties": False,
}


class OldVillager(Villager):
    """Asks as villagers did."""

    thinking: ClassVar[Thinking] = Thinking(
        ROLE,
        PLAN,
        config=LLMConfig(max_queries_per_tick=2, max_queries_per_second=2, query_timeout=TIMEOUT_S, stagger=True),
    )

    def describe(self) -> Iterable[Section]:
        """Tell the whole situation, the most important first."""
        me, around = self.me, self.surroundings
        bag = ", ".join(f"{stack.quantity} {stack.kind}" for stack in me.inventory) or "nothing"
        yield Section(
            f"You are {self.name} (id {self.entity_id}) at {self.at}. Hunger {me.hunger} of 1000, energy {me.energy} "
            f"of 1000. You carry {bag}. It is tick {self.tick}."
        )
        near = [f"{one.entity_id}, {distance(one.at, self.at)} steps away" for one in around.near(self.at, 10)[:8]]
        yield Section("; ".join(near) or "nobody", title="In sight")
        heard = [quoted(line.speaker_id, line.text) for line in list(self.speech.lines)[-8:]]
        if heard:
            yield Section("\n".join(heard), title="What was said lately")
        words = " ".join(line.text for line in list(self.speech.lines)[-2:])
        notes = [f"(tick {note.tick}) {note.text}" for note in self.memory.recall(self.tick, words, most=6)]
        if notes:
            yield Section("\n".join(quoted("memory", note) for note in notes), title="What you remember")
        places = sorted({thing.at for item in self.food for thing in around.things_with(item)})
        yield Section(f"{len(places)} known: {places[:5]}", title="Places with food")
        if self.plan:
            yield Section(f"{self.plan['goal']} {self.plan['who']}".strip(), title="Your last plan")

    def fits(self, plan: Mapping[str, Any], asked_tick: int) -> bool:  # noqa: ARG002  any plan counts
        """Take any plan."""
        return True

    @classmethod
    def client(cls, stage: ProcessContext) -> AnyClient | None:
        """Ask the gateway, and have questions dropped that waited there for half of their time."""
        client = find_client(stage)
        assert isinstance(client, GatewayClient), "the benchmark names a gateway"
        call = gateway_call(CallConfig(max_tokens=600), drop_after_s=TIMEOUT_S / 2)
        return GatewayAdapter(client, call, agent_name=lambda eid: stage.characters[eid].entity_id)


if __name__ == "__main__":
    OldVillager.run()
