"""What a tick leaves for the observations after it, and how that is written down."""

import json
from dataclasses import dataclass

import numpy as np

from tickmind.protocol import Effect, ResultColumns, Utterance
from tickmind.world.state.snapshot import Column


@dataclass(frozen=True, slots=True, eq=False)
class Aftermath:
    """What was done and said in the last tick."""

    results: ResultColumns
    utterances: tuple[Utterance, ...] = ()

    def columns(self) -> dict[str, Column]:
        """The part that is columns."""
        results = self.results
        return {"last_actor": results.actor, "last_action": results.action, "last_reason": results.reason}

    def notes(self) -> str:
        """The part that is not, as JSON."""
        results = self.results
        effects = {place: [[one.name, one.value] for one in found] for place, found in results.effects.items()}
        said = [[one.actor_id, one.channel, one.text, one.x, one.y] for one in self.utterances]
        return json.dumps({"targets": dict(results.target_ids), "effects": effects, "said": said})

    @classmethod
    def read(cls, columns: dict[str, Column], notes: str) -> "Aftermath":
        """Put both parts together again."""
        given = json.loads(notes)
        effects = {
            int(place): tuple(Effect(name, value) for name, value in found) for place, found in given["effects"].items()
        }
        results = ResultColumns(
            actor=columns["last_actor"],
            action=columns["last_action"],
            reason=columns["last_reason"],
            target_ids={int(place): name for place, name in given["targets"].items()},
            effects=effects,
        )
        return cls(results, tuple(Utterance(*said) for said in given["said"]))


NOTHING = Aftermath(ResultColumns(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint8)))
